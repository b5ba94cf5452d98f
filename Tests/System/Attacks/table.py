"""Results as rows: on the terminal, and in a file of tab-separated figures."""

import csv
import math
from pathlib import Path

from measurement import Result

HEADS = ("attack", "loops", "others' ms: calm", "attacked", "failed", "kept out", "memory, MB", "kernel, MB", "CPU", "refused after", "held", "")
WIDTHS = (26, 5, 16, 20, 6, 9, 17, 10, 4, 13, 6, 0)


def milliseconds(seconds: float) -> str:
    return "-" if math.isnan(seconds) else f"{seconds * 1000:.1f}" if seconds < 0.1 else f"{seconds * 1000:.0f}"


def after(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.1f} s"


def newcomers(result: Result) -> str:
    return f"{sum(result.kept_out.values())}/{result.newcomers}"


def cells(result: Result) -> tuple[str, ...]:
    calm, during = result.calm, result.during
    return (
        result.attack,
        str(result.loops),
        f"{milliseconds(calm.p50)} {milliseconds(calm.p99)}",
        f"{milliseconds(during.p50)} {milliseconds(during.p99)} {milliseconds(during.worst)}",
        str(sum(result.failures.values())),
        newcomers(result),
        f"{result.memory_before:.0f} {result.memory_peak:.0f} {result.memory_after:.0f}",
        f"{result.kernel_peak:.0f} {result.kernel_closed:.0f}",
        f"{result.cpu:.1f}",
        after(result.first_refusal),
        str(result.held),
        "held" if not result.broken else "BROKEN: " + ", ".join(result.broken),
    )


def line(row: tuple[str, ...]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, WIDTHS)).rstrip()


def most(counts: dict[str, int], number: int = 4) -> str:
    chosen = sorted(counts.items(), key=lambda pair: -pair[1])[:number]
    return ", ".join(f"{count} × {what}" for what, count in chosen)


def details(result: Result) -> str:
    """Returns the details that do not fit into a row."""
    parts = [
        f"opened {result.opened}, sent {result.sent / 1e6:.1f} MB", f"answered: {most(result.answers) or 'nothing'}",
        f"after it {milliseconds(result.after.p50)} {milliseconds(result.after.p99)} ms",
    ]  # fmt: skip
    parts += [f"counted: {most(result.refusals)}"] if result.refusals else []
    for what, failures in (
        ("failed", result.failures), ("kept out", result.kept_out), ("health checks", result.operations_kept_out),
        (f"sign-ins of {result.sign_ins}", result.sign_ins_refused),
    ):  # fmt: skip
        parts += [f"{what}: {most(failures)}"] if failures else []
    for what, each in result.asked.items():
        failed = f", failed: {most(each.failures)}" if each.failures else ""
        parts.append(f"{what} {milliseconds(each.calm.p99)} → {milliseconds(each.during.p99)} ms{failed}")
    if result.pauses:
        parts.append(f"{result.not_measured} messages during {result.pauses} pauses of {result.paused_seconds:.2f} s")
    return "    " + "; ".join(parts + result.notes)


# The columns of a file of figures. Empty: not measured, or never.
COLUMNS = {
    "attack": lambda result: result.attack,
    "loops": lambda result: result.loops,
    "calm_p50_ms": lambda result: result.calm.p50 * 1000,
    "calm_p99_ms": lambda result: result.calm.p99 * 1000,
    "attacked_p50_ms": lambda result: result.during.p50 * 1000,
    "attacked_p99_ms": lambda result: result.during.p99 * 1000,
    "attacked_worst_ms": lambda result: result.during.worst * 1000,
    "failed": lambda result: sum(result.failures.values()),
    "kept_out": lambda result: sum(result.kept_out.values()),
    "newcomers": lambda result: result.newcomers,
    "memory_before_mb": lambda result: result.memory_before,
    "memory_peak_mb": lambda result: result.memory_peak,
    "memory_after_mb": lambda result: result.memory_after,
    "kernel_peak_mb": lambda result: result.kernel_peak,
    "kernel_closed_mb": lambda result: result.kernel_closed,
    "cpu": lambda result: result.cpu,
    "refused_after_s": lambda result: result.first_refusal,
    "held": lambda result: result.held,
    "bounds": lambda result: ", ".join(result.broken) or "held",
}


def figure(value: float | str | None) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.1f}"
    return "" if value is None else str(value)


def write_figures(results: list[Result], before: dict[tuple[str, int], Result], file: Path):
    """Writes a row for each attack, separated by tabs; before it, that of an earlier build."""
    with file.open("w", newline="") as output:
        writer = csv.writer(output, delimiter="\t", lineterminator="\n")
        writer.writerow(["build", *COLUMNS])
        for new in results:
            builds = [("before", before.get(new.row)), ("now", new)]
            writer.writerows([name, *(figure(value(result)) for value in COLUMNS.values())] for name, result in builds if result)
