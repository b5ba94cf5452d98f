"""The program behind deploy/attacks, run once its tools are installed."""

import argparse
import itertools
import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path

import table
from bounds import FLOOR, Asked, Latency, broken
from families import ATTACKS, FAMILIES
from measurement import CALM, Campaign, Result
from server import CLIENTS_CORE, core


def read(file: Path) -> list[Result]:
    rows = [Result(**row) for row in json.loads(file.read_text())]
    for row in rows:
        row.calm, row.during, row.after = (Latency(**value) for value in (row.calm, row.during, row.after))
        row.asked = {what: Asked(Latency(**each["calm"]), Latency(**each["during"]), each["failures"]) for what, each in row.asked.items()}
    return rows


def write(results: list[Result], file: Path):
    file.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n")


def options():
    parser = argparse.ArgumentParser(prog="deploy/attacks", description="Attacks Parlor, and measures what others notice.")
    parser.add_argument("--binaries", type=Path, help="the folder of the executables; the release build by default")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these attacks; NAME* means all that begin with NAME")
    parser.add_argument("--list", action="store_true", help="lists the attacks")
    parser.add_argument("--slow", action="store_true", help="also those that take longer than a minute")
    parser.add_argument("--before", type=Path, help="what to compare with: the folder of another build, or the --json of an earlier run")
    parser.add_argument("--json", type=Path, help="where the results go")
    parser.add_argument("--figures", type=Path, help="where the table goes, separated by tabs, such as Tests/System/Attacks/figures.tsv")
    parser.add_argument("--repeat", type=int, default=1, help="how often an attack that breaks a bound is measured again")
    parser.add_argument("--floor", type=float, default=FLOOR * 1000, help="milliseconds that others' p99 may reach in any case")
    parser.add_argument("--calm", type=float, default=CALM, help="seconds before each attack, to compare with")
    parser.add_argument("--first", action="store_true", help="gives the server priority over other work on its core, which is not to be measured")
    parser.add_argument(
        "--loops", type=int, nargs="+", default=[1], metavar="NUMBER",
        help="how many event loops the server has, all on its one core; with several numbers, each attack runs with each; one by default")  # fmt: skip
    parser.add_argument("--data", type=Path, help="where servers have their data; beside the executables by default")
    return parser.parse_args()


def chosen(only: list[str] | None, slow: bool) -> list[str]:
    if only is None:
        return [name for name, attack in ATTACKS.items() if slow or not attack.is_slow]
    names = []
    for wanted in only:
        found = [name for name in ATTACKS if name == wanted or wanted.endswith("*") and name.startswith(wanted[:-1])]
        if not found:
            sys.exit(f"attacks: there is no attack {wanted}; --list shows all")
        names += found
    return list(dict.fromkeys(names))


def show_list():
    for family, module in FAMILIES.items():
        print(f"{family}\n")
        for attack in module.ALL:
            print(f"  {attack.name:24} {(attack.__doc__ or '').strip().splitlines()[0]}")
        print()


def run(names: list[str], binaries: Path, given) -> list[Result]:
    results = []
    campaign = Campaign(binaries, given.data or binaries, given.calm, given.first)
    print(f"{binaries}\n\n{table.line(table.HEADS)}", flush=True)
    try:
        for name, loops in itertools.product(names, given.loops):
            if reason := ATTACKS[name].reason_to_skip():
                print(f"{name:26}  not run: {reason}", flush=True)
                continue
            for _ in range(1 + given.repeat):
                result = campaign.measure(ATTACKS[name], loops)
                result.broken = broken(result, given.floor / 1000)
                print(f"{table.line(table.cells(result))}\n{table.details(result)}", flush=True)
                if not result.broken:
                    break
            results.append(result)
            if given.json and binaries == given.binaries:
                write(results, given.json)
    finally:
        campaign.close()
    return results


def main() -> int:
    given = options()
    if given.list:
        show_list()
        return 0
    # Away from the server's core: it looks at the kernel's memory while an attack is on.
    if core(CLIENTS_CORE):
        os.sched_setaffinity(0, {CLIENTS_CORE})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    names = chosen(given.only, given.slow)
    before = []
    if given.before:
        before = read(given.before) if given.before.is_file() else run(names, given.before, given)
    results = run(names, given.binaries, given)
    if given.figures:
        table.write_figures(results, {result.row: result for result in before}, given.figures)
    failed = [f"{result.attack} (loops: {result.loops})" for result in results if result.broken]
    print(f"\n{len(results) - len(failed)} held, {len(failed)} broken" + (f": {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


sys.exit(main())
