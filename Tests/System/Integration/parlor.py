"""The real executables, as one process or as separate ones, and a test's control over them."""

import functools
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[3]
PROGRAMS = subprocess.run([ROOT / "deploy/programs"], check=True, capture_output=True, text=True).stdout.split()
SERVICES = PROGRAMS[1:-1]  # between the bus and the gateway
# Those whose routes and events clients of other versions know, and docs/api.md and docs/api-sockets.md list. A service in Services/
# that is not among them lists its own in its README.
PINNED = {path.stem for path in (ROOT / "Tests/Wire/Access/Manifests").glob("*.json")}
FURTHER = [
    path for path in (ROOT / "Services").iterdir()
    if f"parlor-{path.name.lower()}" in SERVICES and path.name.lower() not in PINNED]  # fmt: skip
START_DEADLINE = 30.0  # seconds; enough for a busy machine
STOP_DEADLINE = 5.0  # seconds, as the project promises (test_stopping)


@functools.cache
def binaries() -> Path:
    """Returns the folder of the executables: PARLOR_BINARIES, or the release build."""
    if named := os.environ.get("PARLOR_BINARIES"):
        return Path(named)
    shown = subprocess.run(
        ["swift", "build", "-c", "release", "--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return Path(shown.stdout.strip())


def until(condition, within: float = START_DEADLINE, what: str = "it"):
    """Waits until the condition is true, and returns its value."""
    end = time.monotonic() + within
    while not (value := condition()):
        assert time.monotonic() < end, f"{what} did not come within {within} s"
        time.sleep(0.02)
    return value


def ask_readiness(address: str) -> tuple[int, dict]:
    """Returns the status of /readyz and of each service; (0, {}) without an answer."""
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=5) as answer:
            return answer.status, json.load(answer)["services"]
    except urllib.error.HTTPError as error:
        return error.code, json.load(error).get("services", {})  # a balancer's answer has no services
    except OSError:
        return 0, {}


class Process:
    """A program that prints `NAME ready ADDRESS` on its standard output."""

    def __init__(self, *command, cwd=None, environment=None):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.PIPE, stderr=self.errors, text=True, cwd=cwd,
            env={**os.environ, "LOG_FORMAT": "json", **(environment or {})},
        )  # fmt: skip
        self.pid = self.process.pid

    def wait_until_ready(self) -> str:
        line = self.process.stdout.readline()
        assert re.fullmatch(r"[a-z-]+ ready [a-z]+://\S+\n", line), f"{line!r}\n{self.log()}"
        return line.split()[-1]

    def log(self) -> str:
        self.errors.seek(0)
        return self.errors.read()

    def is_running(self) -> bool:
        return self.process.poll() is None

    def signal(self, number: int = signal.SIGTERM):
        self.process.send_signal(number)

    def stop(self) -> int:
        """Sends SIGTERM and returns the exit status."""
        if self.is_running():
            self.signal()
        return self.process.wait(START_DEADLINE)

    def kill(self):
        if self.is_running():
            self.process.kill()
            self.process.wait()


class Parlor:
    """A whole Parlor at one address."""

    def __init__(self, form: str, data: Path, *flags: str, port: int = 0):
        self.form, self.data, self.flags = form, data, flags
        self.run(port)

    def run(self, port: int):
        start = {"one": [binaries() / "parlor"], "separate": [ROOT / "deploy/separate", "--binaries", binaries()]}
        self.process = Process(
            *start[self.form], "--port", port, "--data", self.data, "--rate-limits", "off", *self.flags)  # fmt: skip
        self.address = self.process.wait_until_ready()
        self.port = urlsplit(self.address).port

    def start_again(self):
        """Starts again at the same address, on the same data."""
        self.run(self.port)

    def stop(self) -> int:
        return self.process.stop()

    def pid(self, program: str) -> int:
        """Returns the process id of one of the separate processes, or of the only one."""
        return self.process.pid if self.form == "one" else self.children()[program]

    def children(self) -> dict[str, int]:
        return dict(self.processes())

    def pids(self, program: str) -> list[int]:
        """Returns the process ids of all instances of one of the separate processes."""
        return [pid for name, pid in self.processes() if name == program]

    def processes(self) -> list[tuple[str, int]]:
        found = []
        for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
            try:
                found.append((Path(Path(f"/proc/{pid}/cmdline").read_text().split("\0")[0]).name, int(pid)))
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has just ended
        return found

    def wait_until_ready(self):
        until(lambda: ask_readiness(self.address)[0] == 200, what="readiness")

    def kill(self, program: str):
        os.kill(self.pid(program), signal.SIGKILL)

    def wait_for_successor(self, program: str, pid: int):
        """Waits until another process has replaced one that ended, and all are ready again."""
        until(lambda: self.children().get(program, pid) not in (pid, None), what=f"a new {program}")
        self.wait_until_ready()


class Remote:
    """A Parlor that was started elsewhere."""

    def __init__(self, address: str):
        self.address = address


class Cluster:
    """Separate processes without a parent: one that a test ends stays down until the test starts it again."""

    def __init__(self, data: Path):
        self.data = data
        self.programs = {}
        self.bus = self.start("parlor-bus", "--port", 0)
        for name in SERVICES:
            self.start(name, *(["--rate-limits", "off"] if name == "parlor-rooms" else []))
        self.address = self.start("parlor-gateway", "--port", 0, "--rate-limits", "off")
        self.wait_until_ready()

    def start(self, name: str, *flags) -> str:
        if name != "parlor-bus":
            flags = [*flags, "--data", self.data, "--bus", self.bus]
        self.programs[name] = Process(binaries() / name, *flags)
        return self.programs[name].wait_until_ready()

    def wait_until_ready(self):
        until(lambda: ask_readiness(self.address)[0] == 200, what="readiness")

    def stop(self):
        for name in ["parlor-gateway", *SERVICES, "parlor-bus"]:
            if name in self.programs and self.programs[name].is_running():
                assert self.programs[name].stop() == 0, self.programs[name].log()
