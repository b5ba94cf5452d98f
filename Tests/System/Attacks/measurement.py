"""One attack, measured: a fresh server, bystanders, a calm period, the attack, and a calm period after it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from attack import Attack
from bounds import Asked, Latency, kept_out, latency, slower_than
from families import ATTACKS
from pauses import Pauses
from people import PASSWORD, Cast, Setup
from server import CLIENTS_CORE, SERVERS_CORE, Server, core, end_with_parent, run_to_the_end_of

HERE = Path(__file__).parent
CALM = 8.0  # seconds of bystanders alone, which the attack is compared with
AFTER = 5.0
KERNEL_EVERY = 0.5  # seconds between two looks at the kernel's memory
VICTIMS_PRIORITY, PAUSES_PRIORITY = 5, 10


@dataclass
class Result:
    """The observations of one attack."""

    attack: str
    calm: Latency
    during: Latency
    after: Latency
    failures: dict[str, int]
    newcomers: int
    # Those who failed or took more than a second, and why.
    kept_out: dict[str, int]
    operations_kept_out: dict[str, int]
    sign_ins: int
    sign_ins_refused: dict[str, int]
    # Megabytes.
    memory_before: float
    memory_peak: float
    memory_after: float
    # Seconds of processor for each second of the attack.
    cpu: float
    # Seconds until the attacker was first refused or cut off.
    first_refusal: float | None
    held: int
    opened: int
    sent: int
    answers: dict[str, int]
    refusals: dict[str, int]
    # The kernel's for the server's connections, the most; and for those of them that the server has closed.
    kernel_peak: float = 0
    kernel_closed: float = 0
    loops: int = 1
    # Others' HTTP requests, where the attack is about them.
    asked: dict[str, Asked] = field(default_factory=dict)
    # Pauses during the attack; `stolen_seconds` is that of the whole measurement. `not_measured` counts the messages
    # that a pause may have delayed. They are in no latency.
    pauses: int = 0
    paused_seconds: float = 0
    stolen_seconds: float = 0
    not_measured: int = 0
    notes: list[str] = field(default_factory=list)
    # What an attack was able to do though it should not have been.
    found: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def row(self) -> tuple[str, int]:
        return self.attack, self.loops


class Campaign:
    """Measures attacks on one build."""

    def __init__(self, binaries: Path, data: Path, calm: float = CALM, goes_first: bool = False):
        self.binaries, self.data, self.calm, self.goes_first = binaries, data, calm, goes_first
        data.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="attacks.", dir=data))
        self.template: Path | None = None
        self.cast: Cast

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def make_template(self):
        """A data folder with people and rooms, which each attack gets a copy of."""
        self.template = self.folder / "template" / "data"
        self.template.parent.mkdir()
        self.template.mkdir(mode=0o700)
        server = Server(self.binaries, self.template, "--rate-limits", "off", "--token-lifetime", "1d")
        try:
            self.cast = Cast.make(Setup(server.host, server.port))
        finally:
            server.stop()

    def measure(self, attack: Attack, loops: int) -> Result:
        if self.template is None:
            self.make_template()
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            data = Path(folder) / "data"
            shutil.copytree(self.template, data)
            attack.fill(data)
            given = self.prepare(attack, data)
            server = Server(
                self.binaries, data, "--loops", str(loops), *attack.flags, *attack.more_flags(given), host=attack.host,
                descriptors=attack.descriptors, goes_first=self.goes_first, peers=attack.peers)  # fmt: skip
            try:
                with attack.in_front_of(server, Path(folder)) as address:
                    return replace(self.watch(attack, server, address, given), loops=loops)
            finally:
                server.stop()

    def prepare(self, attack: Attack, data: Path) -> dict:
        parts = [ATTACKS[name] for name in attack.parts] or [attack]
        given = {"room": self.cast.attacker.rooms[0], "friend": self.cast.friend.id, "data": str(data)}
        if all(type(part).prepare is Attack.prepare for part in parts):
            return given
        server = Server(self.binaries, data, "--rate-limits", "off", "--token-lifetime", "1d", *attack.flags_to_prepare)
        try:
            for part in parts:
                given |= part.prepare(Setup(server.host, server.port), self.cast)
        finally:
            server.stop()
        return given

    def watch(self, attack: Attack, server: Server, address: tuple[str, int], given: dict) -> Result:
        host, port = address
        bystanders = self.start_bystanders(attack, server, host, port, given)
        watchers, attackers = start_watchers(), []

        def start_attackers(seconds: float, *names: str):
            started = [self.start_attacker(name, seconds, server, host, port, given) for name in names]
            attackers.extend(started)
            for attacker in started:
                attacker.stdout.readline()

        try:
            if attack.among:
                start_attackers(self.calm + attack.seconds + 1, attack.among)
            begin = time.monotonic()
            time.sleep(self.calm)
            calm_end, memory_before = time.monotonic(), server.memory()
            server.reset_peak()
            start_attackers(attack.seconds, *(attack.parts or [attack.name]))
            attacked, cpu_before, kernel = time.monotonic(), server.cpu(), [server.kernel()]
            while (left := attacked + attack.seconds - time.monotonic()) > 0:
                time.sleep(min(KERNEL_EVERY, left))
                kernel.append(server.kernel())
            ended, cpu, peak = time.monotonic(), server.cpu() - cpu_before, server.peak()
            fates = [self.end(attacker) for attacker in attackers]
            calmed = time.monotonic()
            time.sleep(AFTER)
            peak = max(peak, server.peak())
            memory_after, metrics = server.memory(), server.metrics()
            samples = self.end(bystanders)
            pauses = seen_by([self.end(watcher) for watcher in watchers])
            died = not server.is_running
        finally:
            for process in [bystanders, *watchers, *attackers]:
                run_to_the_end_of(process, 0)

        def calm(of: list) -> list:
            return [sample for sample in of if begin <= sample[0] < calm_end]

        def attack_time(of: list) -> list:
            return [sample for sample in of if attacked <= sample[0] < ended]

        during = attack_time(samples["victims"])
        measured = pauses.outside(during)
        paused = pauses.between(attacked, ended)
        seen, signed = attack_time(samples["newcomers"]), attack_time(samples["sign_ins"])
        answers: dict[str, int] = {}
        for fate in fates:
            for what, count in [*fate["ends"].items(), *fate["answers"].items()]:
                answers[what] = answers.get(what, 0) + count
        firsts = [fate["first_refusal"] for fate in fates if fate["first_refusal"] is not None]
        return Result(
            attack=attack.name,
            calm=latency(pauses.outside(calm(samples["victims"]))),
            during=latency(measured),
            after=latency(pauses.outside([sample for sample in samples["victims"] if sample[0] >= calmed])),
            failures=kept_out(during),
            newcomers=len(seen),
            kept_out=kept_out(seen, slower_than.newcomers),
            operations_kept_out=kept_out(attack_time(samples["operations"]), slower_than.operations),
            sign_ins=len(signed),
            sign_ins_refused=kept_out(signed, slower_than.sign_ins),
            memory_before=memory_before, memory_peak=peak, memory_after=memory_after,
            kernel_peak=max(total for total, _ in kernel), kernel_closed=max(closed for _, closed in kernel),
            asked={
                what: Asked(latency(pauses.outside(calm(those))), latency(pauses.outside(attack_time(those))), kept_out(attack_time(those)))
                for what, those in samples["asks"].items()
            },
            cpu=cpu / (ended - attacked),
            first_refusal=min(firsts) if firsts else None,
            held=sum(fate["held"] for fate in fates), opened=sum(fate["opened"] for fate in fates),
            sent=sum(fate["sent"] for fate in fates),
            answers=answers,
            refusals={
                name.removeprefix("parlor_"): int(value) for name, value in metrics.items()
                if value and name.startswith(("parlor_refused_total", "parlor_slow_closes_total", "parlor_rate_limited_total"))
            },
            pauses=len(paused.spans), paused_seconds=paused.seconds, stolen_seconds=pauses.stolen,
            not_measured=len(during) - len(measured),
            notes=[note for fate in fates for note in fate["notes"]] + (["the server has ended"] if died else []),
            found=[found for fate in fates for found in fate["found"]],
        )  # fmt: skip

    def start_bystanders(self, attack: Attack, server: Server, host: str, port: int, given: dict) -> subprocess.Popen:
        plan = {
            "host": host, "port": port, "ops_port": server.ops_port,
            "victims": [asdict(person) for person in self.cast.victims], "newcomer": asdict(self.cast.newcomer),
            "victims_address": attack.victims_address, "newcomers_addresses": attack.newcomers_addresses,
            "sign_ins": [{"username": name, "password": PASSWORD} for name in given.get("sign_ins", [])],
            "sign_ins_address": "127.0.0.1", "sign_ins_forwarded": attack.sign_ins_forwarded, "asks": given.get("asks", {}),
        }  # fmt: skip
        process = start("bystanders.py", *priority(VICTIMS_PRIORITY))
        print(json.dumps(plan), file=process.stdin, flush=True)
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the bystanders did not come in")
        return process

    def start_attacker(self, name: str, seconds: float, server: Server, host: str, port: int, given: dict) -> subprocess.Popen:
        target = {
            "host": host, "port": port, "ops_port": server.ops_port, "token": self.cast.attacker.token,
            "username": self.cast.attacker.username, "person": self.cast.attacker.id, "given": given, "seconds": seconds,
        }  # fmt: skip
        process = start("attacker.py", argument=name)
        print(json.dumps(target), file=process.stdin, flush=True)
        return process

    def end(self, process: subprocess.Popen) -> dict:
        """Ends the input of a process, waits for its end, and returns its last line of output."""
        output, _ = process.communicate(timeout=40)
        return json.loads(output.splitlines()[-1])


def start(script: str, *before: str, argument: str = "", on: int = CLIENTS_CORE) -> subprocess.Popen:
    return subprocess.Popen(
        [*before, *core(on), sys.executable, "-u", HERE / script, *filter(None, [argument])],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=end_with_parent,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip


def priority(number: int) -> list[str]:
    """Returns the command that gives a process precedence on its core, so that it measures the server. Empty if that
    is not allowed."""
    command = ["chrt", "-r", str(number)]
    tried = subprocess.run([*command, "true"], capture_output=True)
    return command if tried.returncode == 0 else []


def start_watchers() -> list[subprocess.Popen]:
    """Starts a watcher for each core; none where a pause cannot be distinguished from other work on the core."""
    first = priority(PAUSES_PRIORITY)
    if not first or not core(SERVERS_CORE):
        return []
    watchers = [start("pauses.py", *first, argument=str(number), on=number) for number in (SERVERS_CORE, CLIENTS_CORE)]
    for watcher in watchers:
        watcher.stdout.readline()
    return watchers


def seen_by(watchers: list[dict]) -> Pauses:
    return Pauses(sorted(tuple(span) for watcher in watchers for span in watcher["spans"]), sum(watcher["stolen"] for watcher in watchers))
