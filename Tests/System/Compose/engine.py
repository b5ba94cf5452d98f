"""A compose project on a Docker engine, and a test's control over its containers."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).parents[3]


GIVE_UP = 60.0  # seconds after a kill that nothing comes back from


class Failed(Exception):
    """A step that should have worked failed."""


def docker(*arguments: str, check: bool = True) -> str:
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise Failed(f"docker {' '.join(arguments)}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def compose_command() -> list[str]:
    """Returns the plugin of newer engines, or the program of older ones."""
    has_plugin = subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0
    return ["docker", "compose"] if has_plugin else ["docker-compose"]


def can_have(image: str) -> bool:
    """Whether an image exists, or can be pulled."""
    tries = (["docker", "image", "inspect", image], ["docker", "pull", "-q", image])
    return any(subprocess.run(command, capture_output=True).returncode == 0 for command in tries)


class Container:
    """One container, with any process in it."""

    def __init__(self, name: str):
        self.name = name
        self.deadline = 0.0

    @property
    def state(self) -> dict:
        return json.loads(docker("inspect", "-f", "{{json .State}}", self.name))

    @staticmethod
    def is_well(state: dict) -> bool:
        return state["Running"] and state.get("Health", {}).get("Status", "healthy") == "healthy"

    def metrics(self) -> str:
        """Returns the metrics of one of Parlor's programs."""
        ask = r'exec 3<>"/dev/tcp/127.0.0.1/$OPS_PORT"; printf "GET /metrics HTTP/1.0\r\n\r\n" >&3; cat <&3'
        return docker("exec", self.name, "bash", "-c", ask)

    def kill(self) -> str:
        """Ends its process like a crash, unlike `docker kill`, which counts as a requested stop.

        Returns the time at which the killed process was started.
        """
        state = self.state
        pid = state["Pid"]
        # With `init: true` the first process is only the parent of the one to kill.
        if Path(f"/proc/{pid}/comm").read_text().strip() in ("docker-init", "tini"):
            pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        self.deadline = time.monotonic() + GIVE_UP
        return state["StartedAt"]

    def wait_for(self, holds) -> float:
        """Waits for a state, at most until the deadline, and returns the time."""
        while not holds(self.state) and time.monotonic() < self.deadline:
            time.sleep(0.05)
        return time.monotonic()

    def wait_for_successor(self, started_before: str):
        """Waits until a process other than the original one runs."""
        self.wait_for(lambda state: state["Running"] and state["StartedAt"] != started_before)

    def wait_until_well(self, started_before: str) -> float:
        """Returns the time at which the new process is healthy."""
        return self.wait_for(lambda state: state["StartedAt"] != started_before and self.is_well(state))


class Project:
    """A project of one set of compose files, under a name of its own."""

    def __init__(self, name: str, files: list[str], environment: dict[str, str]):
        self.name, self.files = name, files
        self.command = [*compose_command(), "-p", name, "--project-directory", str(ROOT)]
        for file in files:
            self.command += ["-f", str(ROOT / file)]
        self.environment = {**os.environ, **environment}

    def run(self, *arguments: str, log: Path | None = None) -> str:
        done = subprocess.run(
            [*self.command, *arguments], env=self.environment, cwd=ROOT, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)  # fmt: skip
        if log:
            log.write_text(done.stdout + done.stderr)
        if done.returncode != 0:
            raise Failed(f"compose {' '.join(arguments)}: {(done.stderr or done.stdout).strip()[-2000:]}")
        return done.stdout

    def services(self) -> list[str]:
        return self.run("config", "--services").split()

    def containers(self, service: str) -> list[Container]:
        """Returns a service's containers, including ended ones."""
        labels = {"project": self.name, "service": service}
        filters = [part for key, value in labels.items() for part in ("-f", f"label=com.docker.compose.{key}={value}")]
        return [Container(name) for name in docker("ps", "-aq", *filters).split()]

    def third_party_images(self) -> dict[str, str]:
        """Returns, by service, the images that are not built here."""
        described = "".join((ROOT / file).read_text() for file in self.files)
        images = dict(re.findall(r"^  ([a-z]+):\n(?:    .*\n)*?    image: (\S+)", described, re.MULTILINE))
        # As compose does: ${NAME:-default}.
        return {
            service: re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: self.environment.get(found[1]) or found[2], image)
            for service, image in images.items()
        }

    def image(self, service: str) -> str:
        """Returns the image id of a service's container."""
        return docker("inspect", "-f", "{{.Image}}", self.containers(service)[0].name).strip()

    def logs(self, to: Path):
        done = subprocess.run([*self.command, "logs", "--no-color"], env=self.environment, cwd=ROOT, capture_output=True)
        to.write_bytes(done.stdout + done.stderr)

    def down(self):
        self.run("down", "--volumes", "--remove-orphans", "--timeout", "10")


def size(image: str) -> int:
    return int(docker("image", "inspect", "-f", "{{.Size}}", image))
