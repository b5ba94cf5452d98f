"""`parlor status`, `parlor tail`, `parlor services` and `parlor forget`: what goes on, as a terminal shows it."""

import asyncio
import re
import socket
import subprocess
import time

import pytest
from parlor import SERVICES, START_DEADLINE, Cluster, Process, binaries, until
from people import World


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path / "data")
    yield cluster
    cluster.stop()


def status(bus: str) -> subprocess.CompletedProcess:
    command = [binaries() / "parlor", "status", "--bus", bus, "--wait", "1s"]
    return subprocess.run(command, capture_output=True, text=True, timeout=START_DEADLINE)


def rows(text: str) -> dict[str, list[dict]]:
    """Returns the tables' rows by their first column. A row has its values by the names of the columns."""
    found = {}
    for table in text.strip().split("\n\n"):
        lines = [re.split(r" {2,}", line.strip()) for line in table.splitlines()]
        for line in lines[1:]:
            found.setdefault(line[0], []).append(dict(zip(lines[0], line, strict=True)))
    return found


async def test_status_has_a_row_for_each_instance_and_says_how_far_it_is_behind(cluster):
    async with World(cluster) as world:
        alice, _, room = await world.pair()
        await alice.send(room, "x")
    second = Process(binaries() / "parlor-rooms", "--data", cluster.data, "--bus", cluster.bus)
    second.wait_until_ready()
    shown = status(cluster.bus)
    assert shown.returncode == 0, shown.stderr
    parts = rows(shown.stdout)
    assert sorted(parts) == sorted([name.removeprefix("parlor-") for name in SERVICES] + ["gateway"])
    assert {row["instance"].split("/")[-1] for row in parts["rooms"]} == {
        str(second.pid), str(cluster.programs["parlor-rooms"].pid)}  # fmt: skip
    assert int(parts["messaging"][0]["commits"]) >= 1
    assert parts["messaging"][0]["queued writes"] == "0"
    [gateway] = parts["gateway"]
    assert [gateway[f"{name} behind"] for name in ["elements", "messaging", "rooms"]] == ["0", "0", "0"]
    assert second.stop() == 0


def test_status_of_a_bus_with_nobody_on_it_says_so(tmp_path):
    bus = Process(binaries() / "parlor-bus", "--port", 0)
    shown = status(bus.wait_until_ready())
    assert (shown.returncode, shown.stdout) == (1, "nobody replied\n")
    assert bus.stop() == 0


COMMANDS = [["status"], ["tail"], ["services"], ["forget", "dice"]]


@pytest.mark.parametrize("command", COMMANDS[2:], ids=lambda command: command[0])
def test_where_no_gateway_is_on_the_bus_a_command_says_so(command):
    bus = Process(binaries() / "parlor-bus", "--port", 0)
    shown = subprocess.run(
        [binaries() / "parlor", *command, "--bus", bus.wait_until_ready()], capture_output=True, text=True, timeout=START_DEADLINE)  # fmt: skip
    assert (shown.returncode, shown.stdout) == (1, "no gateway replied\n"), shown.stderr
    assert bus.stop() == 0


def test_a_service_to_forget_has_to_be_named(tmp_path):
    shown = subprocess.run([binaries() / "parlor", "forget", "--bus", "tcp://127.0.0.1:1"], capture_output=True, text=True, timeout=START_DEADLINE)
    assert shown.returncode == 2 and "--name" in shown.stderr, shown


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_where_there_is_no_bus_a_command_gives_up_and_says_so(command):
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        bus = f"tcp://127.0.0.1:{nobody.getsockname()[1]}"
        began = time.monotonic()
        shown = subprocess.run(
            [binaries() / "parlor", *command, "--bus", bus], capture_output=True, text=True, timeout=START_DEADLINE)  # fmt: skip
    assert shown.returncode == 2 and "there is no bus" in shown.stderr, shown
    assert time.monotonic() - began >= 4.5


async def test_tail_shows_what_is_published_on_the_subjects_that_it_is_given(cluster):
    tail = subprocess.Popen(
        [binaries() / "parlor", "tail", "messaging.>", "--bus", cluster.bus], stdout=subprocess.PIPE, text=True
    )
    try:
        async with World(cluster) as world:
            alice, _, room = await world.pair()
            # `tail` may still be connecting, and it shows only what comes after that.
            reading = asyncio.create_task(asyncio.to_thread(tail.stdout.readline))
            while not reading.done():
                await alice.send(room, "for all to see")
                await asyncio.wait([reading], timeout=0.1)
        line = reading.result()
        assert re.match(r"\d{4}-\d\d-\d\dT\S+Z messaging\.log \{", line)
        assert "for all to see" in line
    finally:
        tail.terminate()
        tail.wait(START_DEADLINE)
        tail.stdout.close()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_bus_address_that_makes_no_sense_is_refused(command):
    shown = subprocess.run(
        [binaries() / "parlor", *command, "--bus", "somewhere"], capture_output=True, text=True, timeout=START_DEADLINE
    )
    assert shown.returncode == 2
    assert "tcp://HOST:PORT" in shown.stderr


def test_what_deploy_up_leaves_in_its_folder_is_enough_to_ask(start):
    parlor = start("separate")
    command = [binaries() / "parlor", "status", "--bus", (parlor.data / "bus.url").read_text().strip(),
               "--bus-token-file", parlor.data / "bus.token"]  # fmt: skip
    all_parts = sorted([name.removeprefix("parlor-") for name in SERVICES] + ["gateway"])

    def everybody_answers() -> bool:
        shown = subprocess.run(command, capture_output=True, text=True, timeout=START_DEADLINE)
        assert shown.returncode == 0, shown.stderr
        return sorted(rows(shown.stdout)) == all_parts

    # Push may still be starting: a gateway is ready without it.
    until(everybody_answers, what="a row for each program")


def test_what_deploy_up_left_of_its_own_bus_goes_when_it_is_given_another(start):
    parlor = start("separate")
    assert parlor.stop() == 0
    left = [parlor.data / "bus.url", parlor.data / "bus.token"]
    assert all(file.exists() for file in left)
    bus = Process(binaries() / "parlor-bus", "--port", 0)
    parlor.flags = ("--bus", bus.wait_until_ready())
    parlor.start_again()
    assert not any(file.exists() for file in left)
    assert parlor.stop() == 0
    assert bus.stop() == 0
