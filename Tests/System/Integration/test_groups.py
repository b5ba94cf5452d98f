"""A removal takes effect everywhere before it is answered, also while parts of Parlor are stopped."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import time
from contextlib import closing, contextmanager

import pytest
import socketio
from parlor import Cluster, Process, binaries, until
from people import World, eventually


async def group(world: World, *names: str):
    people = [await world.person(name) for name in names]
    room = await people[0].post("/api/rooms", {"participantIds": [p.id for p in people[1:]]}, 201)
    return people, room


def path_of(room: dict, person) -> str:
    return f"/api/rooms/{room['id']}/participants/{person.id}"


async def remove(owner, room: dict, person) -> tuple[int, float]:
    began = time.monotonic()
    answer = await owner.request("DELETE", path_of(room, person))
    return answer.status_code, time.monotonic() - began


async def has_joined(socket, room: dict) -> bool:
    try:
        return (await socket.ask("room:join", {"roomId": room["id"]}))["success"]
    except socketio.exceptions.SocketIOError:
        return False  # it is not connected again


async def is_missing(person, method: str, path: str, body=None) -> bool:
    return (await person.request(method, path, body)).status_code == 404


@contextmanager
def stopped(*pids: int):
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


async def test_with_one_of_two_instances_stopped_a_removal_succeeds(start):
    parlor = start("separate", "--scale", "messaging=2")
    async with World(parlor) as world:
        (alice, bob, carol), room = await group(world, "alice", "bob", "carol")
        for person in (alice, bob, carol):
            await person.send(room, "hello")
        for pid in parlor.pids("parlor-messaging"):
            with stopped(pid):
                status, took = await remove(alice, room, carol)
                assert status == 204 and took < 5
                answer = await carol.request("GET", f"/api/rooms/{room['id']}")
                assert answer.status_code == 404
            # The instance that was stopped finds the fence in its next transaction.
            for _ in range(4):
                answer = await carol.request("POST", f"/api/rooms/{room['id']}/messages", {"text": "still here?"})
                assert answer.status_code == 404, answer.text
            await alice.post(f"/api/rooms/{room['id']}/participants", {"userIds": [carol.id]})
            await carol.send(room, "back")


class Gateway:
    """A second gateway of a cluster."""

    def __init__(self, cluster):
        flags = ["--port", 0, "--rate-limits", "off", "--data", cluster.data, "--bus", cluster.bus]
        self.process = Process(binaries() / "parlor-gateway", *flags)
        self.address = self.process.wait_until_ready()


async def test_while_a_gateway_is_stopped_a_removal_waits_for_its_lease_and_it_sends_nothing_of_the_room_later(cluster):
    other = Gateway(cluster)
    try:
        async with World(cluster) as world, World(other) as elsewhere:
            (alice, bob, carol), room = await group(world, "alice", "bob", "carol")
            carol.world = elsewhere
            sockets = [await carol.socket(joined=room) for _ in range(6)]
            await alice.send(room, "before")
            for socket in sockets:
                await socket.expect("message:new")
            with stopped(other.process.pid):
                # What it receives now is from before the removal.
                await alice.send(room, "while it is stopped")
                status, took = await remove(alice, room, carol)
                assert status == 204 and took < 5, (status, took)
                await alice.send(room, "after the removal")
            direct = await alice.post("/api/rooms", {"otherUserId": carol.id}, 201)
            for socket in sockets:
                # A socket whose output was held is closed, and comes back.
                await eventually(lambda socket=socket: has_joined(socket, direct))
                assert socket.order("message:new") == [], "nothing of the room"
            assert (await carol.request("GET", f"/api/rooms/{room['id']}")).status_code == 404
    finally:
        other.process.stop()


async def test_a_gateway_that_was_stopped_goes_on_as_before(cluster):
    other = Gateway(cluster)
    try:
        async with World(cluster) as world, World(other) as elsewhere:
            (alice, bob), room = await group(world, "alice", "bob")
            bob.world = elsewhere
            socket = await bob.socket(joined=room)
            with stopped(other.process.pid):
                await asyncio.sleep(3)  # longer than its lease
                await alice.send(room, "meanwhile")
            data = await socket.expect("message:new")
            assert data["message"]["text"] == "meanwhile"
            assert socket.order("disconnect") == []
    finally:
        other.process.stop()


@pytest.mark.parametrize("ending", [signal.SIGSTOP, signal.SIGKILL])
async def test_without_messaging_a_removal_is_unavailable_hidden_at_once_and_completes_by_itself(start, ending):
    parlor = start("separate")
    async with World(parlor) as world:
        (alice, bob, carol), room = await group(world, "alice", "bob", "carol")
        await carol.send(room, "hello")
        pid = parlor.pid("parlor-messaging")
        os.kill(pid, signal.SIGSTOP)
        status, _ = await remove(alice, room, carol)
        assert status == 503
        assert (await carol.request("GET", f"/api/rooms/{room['id']}")).status_code == 404
        assert (await carol.request("PUT", f"/api/rooms/{room['id']}/name", {"name": "x"})).status_code == 404
        assert [p["userId"] for p in (await alice.view(room))["participants"]] == [alice.id, bob.id]
        os.kill(pid, signal.SIGCONT if ending == signal.SIGSTOP else signal.SIGKILL)
        if ending == signal.SIGKILL:
            parlor.wait_for_successor("parlor-messaging", pid)
        began = time.monotonic()
        status, _ = await remove(alice, room, carol)
        assert status in (204, 404) and time.monotonic() - began < 3
        answer = await carol.request("POST", f"/api/rooms/{room['id']}/messages", {"text": "x"})
        assert answer.status_code == 404


async def test_an_addition_that_is_not_confirmed_has_not_happened(start):
    parlor = start("separate")
    async with World(parlor) as world:
        (alice, bob), room = await group(world, "alice", "bob")
        carol = await world.person("carol")
        await alice.send(room, "hello")
        with stopped(parlor.pid("parlor-messaging")):
            answer = await alice.request("POST", f"/api/rooms/{room['id']}/participants", {"userIds": [carol.id]})
            assert answer.status_code == 503, answer.text
            assert (await carol.request("GET", f"/api/rooms/{room['id']}")).status_code == 404
        await alice.send(room, "on")
        assert [p["userId"] for p in (await alice.view(room))["participants"]] == [alice.id, bob.id]
        seen = await alice.post(f"/api/rooms/{room['id']}/participants", {"userIds": [carol.id]})
        assert [p["userId"] for p in seen["participants"]] == [alice.id, bob.id, carol.id]


async def test_a_removal_goes_on_after_a_kill_of_rooms(start):
    parlor = start("separate")
    async with World(parlor) as world:
        (alice, bob, carol), room = await group(world, "alice", "bob", "carol")
        await carol.send(room, "hello")
        messaging, rooms = parlor.pid("parlor-messaging"), parlor.pid("parlor-rooms")
        os.kill(messaging, signal.SIGSTOP)
        try:
            removal = asyncio.create_task(alice.request("DELETE", path_of(room, carol)))
            await eventually(lambda: is_missing(carol, "GET", f"/api/rooms/{room['id']}"))
            os.kill(rooms, signal.SIGKILL)
            await removal
            until(lambda: parlor.children().get("parlor-rooms", rooms) != rooms, what="a new parlor-rooms")
        finally:
            os.kill(messaging, signal.SIGCONT)

        await eventually(lambda: is_missing(carol, "POST", f"/api/rooms/{room['id']}/messages", {"text": "x"}))
        await eventually(lambda: is_missing(alice, "DELETE", path_of(room, carol)))


def unseen_rows(data, person) -> int:
    with closing(sqlite3.connect(data / "elements.db")) as database:
        return database.execute("SELECT count(*) FROM unseen_elements WHERE user_id = ?", [person.id]).fetchone()[0]


async def test_a_plugin_that_was_down_does_its_part_of_a_removal_when_it_is_up_again(tmp_path, monkeypatch):
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("REQUIRED_SERVICES", "accounts,rooms,messaging")  # so elements counts as a plugin
    cluster = Cluster(tmp_path / "data")
    try:
        async with World(cluster) as world:
            (alice, bob, carol), room = await group(world, "alice", "bob", "carol")
            here = f"/api/rooms/{room['id']}"
            await alice.post(f"{here}/elements", {"type": "note"}, 201)
            cluster.programs["parlor-elements"].kill()
            began = time.monotonic()

            async def is_removed() -> bool:
                return (await remove(alice, room, carol))[0] == 204  # 503 until it counts as gone

            await eventually(is_removed)
            assert time.monotonic() - began < 15
            await alice.post(f"{here}/participants", {"userIds": [carol.id]})
            assert unseen_rows(cluster.data, carol) == 1
            cluster.start("parlor-elements")

            async def can_write() -> bool:
                answer = await alice.request("POST", f"{here}/elements", {"type": "note"})
                return answer.status_code == 201

            # Before the first write, it does its part of what it has missed.
            await eventually(can_write)
            assert unseen_rows(cluster.data, carol) == 1, "only the second note, as Carol came back"
            assert (await remove(alice, room, carol))[0] == 204
            assert unseen_rows(cluster.data, carol) == 0
            verified = subprocess.run(
                [binaries() / "parlor", "verify", "--data", cluster.data], capture_output=True, text=True)  # fmt: skip
            assert verified.returncode == 0 and "all counts are right" in verified.stdout, verified.stdout
    finally:
        cluster.stop()


async def test_a_list_in_which_one_group_has_changed_shows_ten_of_its_people_and_the_viewer(start):
    async with World(start("one")) as world:
        people, room = await group(world, *(f"p{number}" for number in range(12)))
        last = people[-1]

        async def shown() -> list:
            return [person["userId"] for person in (await last.get("/api/rooms/my-rooms"))[0]["participants"]]

        expected = [person.id for person in (*people[:10], last)]
        assert await shown() == expected
        await people[0].send(room, "hello")
        assert await shown() == expected
