"""A server for each attack, on core 0, with its memory and processor time."""

import contextlib
import os
import re
import resource
import select
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

SEPARATE = Path(__file__).parents[3] / "deploy/separate"
READY_WITHIN = 60.0  # seconds; a busy machine is no failure
STOP_WITHIN = 20.0  # seconds; an attack may leave much behind
SERVERS_CORE, CLIENTS_CORE = 0, 1


def end_with_parent():
    """Run in a child: it gets SIGTERM when this process is gone."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def core(number: int) -> list[str]:
    return ["taskset", "-c", str(number)] if (os.cpu_count() or 1) > 1 else []


def prefer(pid: int, weight: int):
    """Sets the weight of a process' session against others on this machine (sched(7), autogroup), if that is allowed."""
    for what in (lambda: Path(f"/proc/{pid}/autogroup").write_text(str(weight)), lambda: os.setpriority(os.PRIO_PROCESS, pid, weight)):
        with contextlib.suppress(OSError):
            what()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def bus_port(data: Path) -> int:
    """The port of the bus that deploy/separate runs for this folder."""
    return int((data / "bus.url").read_text().rpartition(":")[2])


class Server:
    """`parlor`, all of it in one process; or with `peers`, each service in its own, on a bus that these peers may join."""

    def __init__(
        self, binaries: Path, data: Path, *flags: str, host: str = "127.0.0.1", descriptors: int | None = None, goes_first: bool = False,
        peers: str = "",
    ):  # fmt: skip
        self.ops_port = free_port()
        self.log = open(data.parent / "log", "a")
        command = [binaries / "parlor"]
        if peers:
            (data.parent / "peers").write_text(peers + "\n")
            command = [SEPARATE, "--binaries", binaries, "--with", data.parent / "peers"]

        def before_it_runs():
            end_with_parent()
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        self.process = subprocess.Popen(
            [*core(SERVERS_CORE), *command, "--host", host, "--port", "0", "--data", data,
             "--ops-port", str(self.ops_port), *flags],
            stdout=subprocess.PIPE, stderr=self.log, text=True, start_new_session=True, preexec_fn=before_it_runs,
            env={**os.environ, "LOG_FORMAT": "json", "LOG_LEVEL": "warning"},
        )  # fmt: skip
        if not select.select([self.process.stdout], [], [], READY_WITHIN)[0]:
            self.stop()
            raise RuntimeError("the server did not become ready")
        line = self.process.stdout.readline()
        found = re.fullmatch(r"parlor ready http://(.*):(\d+)\n", line)
        if not found:
            self.stop()
            raise RuntimeError(f"the server did not start: {line!r} {(data.parent / 'log').read_text()[-500:]}")
        self.host, self.port = host, int(found[2])
        self.pids = self.children() or [self.process.pid]
        # Other work on the machine must not affect the figures. A real-time priority would affect them: a busy loop would keep its time
        # slice of 100 ms, while the threads of the services wait.
        for pid in self.pids:
            prefer(pid, -20 if goes_first else -10)
        self.ports = [self.port, self.ops_port, *([bus_port(data)] if peers else [])]

    def children(self) -> list[int]:
        """The programs of deploy/separate; `parlor` has none."""
        return list(map(int, Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()))

    @property
    def is_running(self) -> bool:
        """Whether all of it is, without a program that was started again."""
        return self.process.poll() is None and (self.children() or self.pids) == self.pids

    def memory(self) -> float:
        """Its current memory, in MB."""
        return self.status("VmRSS")

    def reset_peak(self):
        for pid in self.pids:
            Path(f"/proc/{pid}/clear_refs").write_text("5")

    def peak(self) -> float:
        """Its highest memory since `reset_peak`, in MB."""
        return self.status("VmHWM")

    def status(self, name: str) -> float:
        found = [re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE) for text in self.files("status")]
        return sum(int(match[1]) for match in found if match) * 1024 / 1e6

    def cpu(self) -> float:
        """The seconds of processor time that it has used."""
        fields = [text.rsplit(")", 1)[1].split() for text in self.files("stat")]
        return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")

    def files(self, name: str):
        """The files of this name in /proc, of processes that still run."""
        for pid in self.pids:
            with contextlib.suppress(OSError):
                yield Path(f"/proc/{pid}/{name}").read_text()

    def kernel(self) -> tuple[float, float]:
        """The kernel's current memory for its connections, in MB: what peers have not acknowledged, what it has not read, and what is
        reserved for more. And the part of that for connections that it has closed."""
        which = " or ".join(f"sport = :{port}" for port in self.ports)
        shown = subprocess.run(["ss", "-tnmHO", f"( {which} )"], check=True, capture_output=True).stdout
        total = closed = 0
        for state, *memory in re.findall(rb"^(\S+).*skmem:\(r(\d+),.*,f(\d+),w(\d+),", shown, re.MULTILINE):
            # `ss` shows what is reserved without its sign, and for a moment it can be below zero.
            size = sum(part - (1 << 32 if part >= 1 << 31 else 0) for part in map(int, memory))
            total += size
            closed += size if state not in (b"ESTAB", b"CLOSE-WAIT") else 0
        return total / 1e6, closed / 1e6

    def metrics(self) -> dict[str, float]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ops_port}/metrics", timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {}
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line and line[0] != "#"}

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_WITHIN)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.log.close()


def run_to_the_end_of(process: subprocess.Popen, within: float):
    end = time.monotonic() + within
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    if process.poll() is None:
        process.kill()
        process.wait()
