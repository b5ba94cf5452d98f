"""The program behind deploy/compose-test, run once its tools are installed."""

import argparse
import asyncio
import logging
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field

from engine import ROOT, Container, Failed, Project, can_have, size
from watching import check_dashboard
from parlor import PROGRAMS, ask_readiness
from phones import Load

LOGS = ROOT / ".build/compose-test"
MOST_ADDED = 80_000_000  # bytes that an image may add to its base
BASE = "debian:bookworm-slim"
RECOVERY = 5.0  # seconds from a kill to being healthy again
START_DEADLINE = 180.0  # seconds until all is ready; the first start makes databases
ROOMS = 6
# Services that nobody waits for when they end.
NOT_KILLED = {"secrets", "roles", "prometheus", "grafana"}
BETWEEN_KILLS = 3.0  # seconds of load after each
OWN_IMAGES = ["secrets", *(name.removeprefix("parlor-") for name in PROGRAMS)]


@dataclass
class Stage:
    name: str
    files: list[str]
    scale: dict[str, int] = field(default_factory=dict)
    # Services that Parlor works without. They are left out if their image cannot be pulled.
    optional: tuple[str, ...] = ()


BASE_FILE, OVERRIDE = "docker-compose.yml", "docker-compose.override.yml"
BALANCED, CLUSTER = "deploy/compose.balanced.yml", "deploy/compose.cluster.yml"
SCALE = {"gateway": 2, "messaging": 3, "elements": 2}
STAGES = [
    Stage("one", [BASE_FILE, OVERRIDE]),
    Stage("scaled", [BASE_FILE, BALANCED], SCALE),
    Stage("cluster", [BASE_FILE, BALANCED, CLUSTER], SCALE, optional=("grafana",)),
]


class Table:
    """The checks with their results."""

    def __init__(self):
        self.rows: list[tuple[str, str, bool | None, str]] = []

    def add(self, stage: str, what: str, held: bool | None, figure: str = ""):
        self.rows.append((stage, what, held, figure))
        print(self.line(self.rows[-1]), flush=True)

    @staticmethod
    def line(row) -> str:
        stage, what, held, figure = row
        return f"{stage:8} {what:28} {({True: 'held', False: 'FAILED', None: 'not run'})[held]:8} {figure}"

    def finish(self) -> int:
        print("\n" + "\n".join(map(self.line, self.rows)))
        held = [row[2] for row in self.rows]
        print(f"\n{held.count(True)} passed, {held.count(False)} failed, {held.count(None)} skipped")
        return 1 if False in held or not held else 2 if None in held else 0


class Running:
    """A running stage, used in place of a `Parlor` of `Tests/System/Integration`."""

    def __init__(self, stage: Stage, project: Project, address: str, table: Table):
        self.stage, self.project, self.address, self.table = stage, project, address, table

    def note(self, what: str, held: bool | None, figure: str = ""):
        self.table.add(self.stage.name, what, held, figure)

    def is_ready(self) -> bool:
        return ask_readiness(self.address)[0] == 200

    def start(self, services: list[str]):
        began = time.monotonic()
        scale = [part for name, count in self.stage.scale.items() for part in ("--scale", f"{name}={count}")]
        self.project.run("up", "-d", "--no-build", *scale, *services, log=LOGS / f"{self.stage.name}-up.log")
        while not self.is_ready():
            if time.monotonic() - began > START_DEADLINE:
                raise Failed(f"not ready after {START_DEADLINE:.0f} s: {ask_readiness(self.address)}")
            time.sleep(0.1)
        self.note("up and ready", True, f"{time.monotonic() - began:.1f} s")

    def call(self, what: str, command: list[str], **environment: str):
        """Runs an external suite: the last line with counts is the figure."""
        began = time.monotonic()
        log = LOGS / f"{self.stage.name}-{what}.log"
        done = subprocess.run(
            command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, **environment})  # fmt: skip
        log.write_text(done.stdout)
        lines = done.stdout.strip().splitlines() or ["nothing"]
        last = ([line for line in lines if re.search(r"\d+ (passed|failed)", line)] or lines)[-1].strip("= ")
        self.note(what, done.returncode == 0, f"{last} [{time.monotonic() - began:.0f} s, {log.relative_to(ROOT)}]")

    # MARK: Kills

    def wait_until_ready(self, container: Container, started_before: str) -> float:
        """Returns the time at which all is ready, with a new process in the container."""
        container.wait_for_successor(started_before)
        while not self.is_ready() and time.monotonic() < container.deadline:
            time.sleep(0.05)
        return time.monotonic()

    def check_sharing(self):
        """Checks that each instance of a service, including the restarted one, had its part of the work."""
        for service in self.stage.scale:
            name = "parlor_http_requests_total" if service == "gateway" else "parlor_requests_total"
            texts = [container.metrics() for container in self.project.containers(service)]
            served = [sum(map(int, re.findall(rf"^{name}\S* (\d+)$", text.replace("\r", ""), re.M))) for text in texts]
            self.note(f"{service} shares the work", min(served) > 0, f"requests served since its start: {served}")

    async def kill_each(self, services: list[str]):
        """Kills one container of each service, one after the other, while clients are at work."""
        load = Load(self, ROOMS)
        await load.start()
        await asyncio.sleep(BETWEEN_KILLS)
        for service in services:
            container = self.project.containers(service)[0]
            began = time.monotonic()
            started = await asyncio.to_thread(container.kill)
            healthy, ready = await asyncio.gather(
                asyncio.to_thread(container.wait_until_well, started),
                asyncio.to_thread(self.wait_until_ready, container, started))  # fmt: skip
            held = healthy - began <= RECOVERY and ready - began <= RECOVERY
            self.note(
                f"kill -9 {service}", held,
                f"all ready after {ready - began:.1f} s, healthy after {healthy - began:.1f} s")  # fmt: skip
            await asyncio.sleep(BETWEEN_KILLS)
        faults = await load.finish()
        self.check_sharing()
        self.note("the clients' events", not faults, load.summary())
        for fault in faults[:20]:
            print(f"         {fault}", flush=True)


    # MARK: Restoring

    def ask_accounts(self, path: str) -> int:
        body = b'{"username":"restored","password":"password123"}'
        request = urllib.request.Request(f"{self.address}/api/auth/{path}", body)
        try:
            return urllib.request.urlopen(request, timeout=10).status
        except urllib.error.HTTPError as error:
            return error.code

    def restore(self, services: list[str]):
        """Restores a backup as on a new machine, where no volume exists (docs/compose.md)."""
        self.note("a person before the backup", self.ask_accounts("register") == 201)
        self.project.run("run", "--rm", "tools", "backup", "--to", "/backups/test")
        volume = f"{self.project.name}_backups:/backups:ro"
        archive = subprocess.run(
            ["docker", "run", "--rm", "-v", volume, BASE, "tar", "-C", "/backups", "-c", "test"], capture_output=True, check=True).stdout
        command = [ROOT / "deploy/restore-volumes", self.project.name]
        refused = subprocess.run(command, input=archive, capture_output=True)
        self.note("refused while it runs", refused.returncode == 1, refused.stderr.decode().strip())
        self.project.down()
        subprocess.run(command, input=archive, check=True, stdout=subprocess.DEVNULL)
        self.start(services)
        self.note("the person can sign in", self.ask_accounts("login") == 200, f"{len(archive):,} bytes restored")
        self.note("verify", True, (self.project.run("run", "--rm", "tools", "verify").splitlines() or [""])[-1])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def check_images(project: Project, table: Table):
    base = size(BASE)
    for service in OWN_IMAGES:
        added = size(project.image(service)) - base
        table.add("images", service, added < MOST_ADDED, f"{added / 1e6:.1f} MB on {BASE}")


async def run(stage: Stage, arguments, table: Table):
    port = free_port()
    project = Project(
        "parlor-test", stage.files,
        {"PARLOR_PORT": str(port), "GRAFANA_PORT": str(free_port()), "RATE_LIMITS": "off",
         "PUBLIC_OPERATIONS": "on"})  # fmt: skip
    running = Running(stage, project, f"http://127.0.0.1:{port}", table)
    missing = {service: image for service, image in project.third_party_images().items() if not can_have(image)}
    for service, image in missing.items():
        running.note(service, None, f"{image} is not here and cannot be pulled")
    if missing.keys() - set(stage.optional):
        return
    services = [service for service in project.services() if service not in {*missing, "tools"}]
    project.down()  # what a run before may have left
    try:
        began = time.monotonic()
        project.run("build", log=LOGS / f"{stage.name}-build.log")
        running.note("build", True, f"{time.monotonic() - began:.0f} s")
        running.start(services)
        if stage is STAGES[0]:
            check_images(project, table)
        running.call(
            "journeys",
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "Tests/System/Integration/test_journeys.py"],
            PARLOR_URL=running.address)  # fmt: skip
        if arguments.acceptance:
            running.call("acceptance", [*shlex.split(arguments.acceptance), running.address])
        await running.kill_each(
            [service for service in services if service not in NOT_KILLED and project.containers(service)])
        if stage is STAGES[0]:
            running.restore(services)
        if "prometheus" in services:
            for what, held, figure in check_dashboard(project):
                running.note(what, held, figure)
    except Exception as failure:  # whatever it is, the other stages are worth a look
        running.note("stage", False, f"{type(failure).__name__}: {failure}")
    finally:
        project.logs(LOGS / f"{stage.name}.log")
        if not arguments.keep:
            project.down()


def main() -> int:
    parser = argparse.ArgumentParser(prog="deploy/compose-test")
    parser.add_argument("--acceptance", metavar="COMMAND", help="called as COMMAND URL in each stage")
    parser.add_argument("--stages", default=",".join(stage.name for stage in STAGES))
    parser.add_argument("--keep", action="store_true", help="leave the last stage running")
    arguments = parser.parse_args()
    wanted = arguments.stages.split(",")
    if unknown := set(wanted) - {stage.name for stage in STAGES}:
        parser.error(f"there is no stage {', '.join(unknown)}")
    # The stock client leaves connections that broke to the garbage collector, which complains.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    # A run that is stopped leaves nothing running, either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    LOGS.mkdir(parents=True, exist_ok=True)
    table = Table()
    for stage in STAGES:
        if stage.name in wanted:
            asyncio.run(run(stage, arguments, table))
    return table.finish()


if __name__ == "__main__":
    sys.exit(main())
