"""A server for each attack, on core 0, with its memory and processor time."""

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
        try:
            what()
        except OSError:
            pass


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """`parlor`, all of it in one process."""

    def __init__(self, binaries: Path, data: Path, *flags: str, host: str = "127.0.0.1", descriptors: int | None = None, goes_first: bool = False):
        self.ops_port = free_port()
        self.log = open(data.parent / "log", "a")

        def before_it_runs():
            end_with_parent()
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        self.process = subprocess.Popen(
            [*core(SERVERS_CORE), binaries / "parlor", "--host", host, "--port", "0", "--data", data,
             "--ops-port", str(self.ops_port), *flags],
            stdout=subprocess.PIPE, stderr=self.log, text=True, start_new_session=True, preexec_fn=before_it_runs,
            env={**os.environ, "LOG_FORMAT": "json", "LOG_LEVEL": "warning"},
        )  # fmt: skip
        self.pid = self.process.pid
        # Other work on the machine must not affect the figures. A real-time priority would affect them: a busy loop would keep its time
        # slice of 100 ms, while the threads of the services wait.
        prefer(self.pid, -20 if goes_first else -10)
        if not select.select([self.process.stdout], [], [], READY_WITHIN)[0]:
            self.stop()
            raise RuntimeError("the server did not become ready")
        line = self.process.stdout.readline()
        found = re.fullmatch(r"parlor ready http://(.*):(\d+)\n", line)
        if not found:
            self.stop()
            raise RuntimeError(f"the server did not start: {line!r} {(data.parent / 'log').read_text()[-500:]}")
        self.host, self.port = host, int(found[2])

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def memory(self) -> float:
        """Its current memory, in MB."""
        return self.status("VmRSS")

    def reset_peak(self):
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def peak(self) -> float:
        """Its highest memory since `reset_peak`, in MB."""
        return self.status("VmHWM")

    def status(self, name: str) -> float:
        try:
            found = re.search(rf"^{name}:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text(), re.MULTILINE)
        except OSError:
            found = None
        return int(found[1]) * 1024 / 1e6 if found else 0.0

    def cpu(self) -> float:
        """The seconds of processor time that it has used."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def metrics(self) -> dict[str, float]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ops_port}/metrics", timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {}
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line and line[0] != "#"}

    def stop(self):
        if self.is_running:
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
