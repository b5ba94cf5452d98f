"""Long, repeated and concurrent requests of one account."""

import base64
import contextlib
import itertools
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import wire
from attack import Attack, Fate, Target
from holding import open_socket
from swarm import Script, Swarm

ROOMS = 2500
ROOMS_OF_A_CONVERSATION = 1000
MISSED = 300  # messages
BODY = (1 << 20) - 10
SLOW = {"reads": 0, "receive_buffer": 2048}
# Reads something each second, so that it never stops taking its answer.
DRAINS = {"reads": 2000, "receive_buffer": 4096}


def connected(token: str, then: bytes = b"", since: str = "", **more) -> Script:
    """A WebSocket that connects, and then sends."""
    return open_socket(wire.connect(token, **({"since": since} if since else {})) + then, **more)


class WithAccount(Attack):
    """One account on many connections, which play `scripts` in turn; closed ones are reopened.

    However many connections a person opens, the limits stay the same: one share of the requests in progress, of what is read, of bytes and
    of answers that wait. Others notice nothing.
    """

    def __init__(self, name: str, count: int, scripts: Callable[[Target], list[Script]], *, seconds: int = 15, openings: int = 500):
        self.name, self.count, self.scripts, self.seconds, self.openings = name, count, scripts, seconds, openings

    def run(self, target: Target, fate: Fate):
        Swarm(target, fate, openings=self.openings).run(self.all_scripts(target), self.count)

    def all_scripts(self, target: Target) -> Iterator[Script]:
        return itertools.cycle(self.scripts(target))


class ManyRooms(WithAccount):
    """An account with 2,500 rooms asks for its lists.

    The server makes few lists at a time for one person, and makes them in parts. It bounds the total of answers that nobody reads.
    """

    def prepare(self, setup, cast) -> dict:
        for _ in range(ROOMS):
            setup.make_room(cast.attacker, cast.friend, "n" * 100)
        return {}


class LongConversation(WithAccount):
    """A conversation with a person over 1,000 shared rooms, from a cursor that was made up.

    A page looks into a limited number of rooms, and the server makes few pages at a time for one person.
    """

    def prepare(self, setup, cast) -> dict:
        other = setup.register("other")
        for _ in range(ROOMS_OF_A_CONVERSATION):
            room = setup.make_room(cast.attacker, other)
            for _ in range(2):
                setup.ask("POST", f"/api/rooms/{room}/messages", {"text": "x"}, cast.attacker.token)
        return {"other": other.id}


class BusyRooms(WithAccount):
    """Four accounts at one address, each with 100 sockets in a busy room of its own that read nothing.

    What the kernel takes for a socket that has connected is bounded for all of them together, too.
    """

    def prepare(self, setup, cast) -> dict:
        people = [setup.register(f"busy{number}") for number in range(4)]
        return {"rooms": [(person.token, setup.make_room(person, cast.friend)) for person in people]}


class Missed(WithAccount):
    """An account that has missed a megabyte asks for it again and again.

    What is replayed on CONNECT counts as `GET /api/sync` does.
    """

    def prepare(self, setup, cast) -> dict:
        cursor = setup.ask("GET", "/api/sync", token=cast.attacker.token)["cursor"]
        for _ in range(MISSED):
            setup.ask("POST", f"/api/rooms/{cast.attacker.rooms[0]}/messages", {"text": "x" * 3900}, cast.attacker.token)
        return {"cursor": cursor}


class ManyPeople(WithAccount):
    """Searches for a letter with which 100,000 people begin.

    A search costs no more the more people it matches. Others' searches, requests and new rooms are as fast as before.
    """

    people = 100_000

    def fill(self, data: Path):
        with contextlib.closing(sqlite3.connect(data / "accounts.db")) as database, database:
            database.executemany(
                "INSERT INTO people (id, username, username_key, first_name, first_name_key, password_hash, created_at)"
                " VALUES (?1, ?2, ?2, ?3, lower(?3), '', 0)",
                ((f"many-{number}", f"a{number * 7919 % self.people}", f"A{number}") for number in range(self.people)))  # fmt: skip

    def prepare(self, setup, cast) -> dict:
        # Two and two have answered each other, so they may make more rooms.
        pairs = list(zip(cast.victims, [cast.victims[index] for index in (1, 0, 3, 2)]))
        return {
            "asks": {
                "search": [("GET", "/api/users/without-rooms?q=new&limit=100", person.token, "") for person in cast.victims],
                "/users/me": [("GET", "/api/users/me", person.token, "") for person in cast.victims],
                "new rooms": [("POST", "/api/rooms", person.token, json.dumps({"otherUserId": other.id})) for person, other in pairs],
            }
        }


class Writing(WithAccount):
    """An account writes as much as it is allowed to, and says how much the data has grown.

    A person may write a number of bytes in an hour, the same by sockets and by HTTP.
    """

    seconds = 20
    # It may write all of its hour's bytes at once. The log has them a second time, and databases add to both.
    most_growth = 160.0  # MB

    def run(self, target: Target, fate: Fate):
        before = size(target)
        super().run(target, fate)
        grown = size(target) - before
        fate.notes.append(f"the data grew by {grown:.0f} MB")
        if grown > self.most_growth:
            fate.found.append(f"wrote {grown:.0f} MB")


def size(target: Target) -> float:
    """Megabytes of data."""
    return sum(file.stat().st_size for file in Path(target.given["data"]).rglob("*") if file.is_file()) / 1e6


class LeftNamespace(WithAccount):
    """Sockets connect, leave the namespace, and stay.

    One that has left counts as one that has not connected: it is closed after the time for CONNECT.
    """

    name = "left-namespace"
    seconds = 60
    is_slow = True
    count = 50

    def __init__(self):
        super().__init__(self.name, self.count, lambda target: [connected(target.token, wire.frame("41"))], seconds=self.seconds)

    def run(self, target: Target, fate: Fate):
        swarm = Swarm(target, fate, reopens=False)
        swarm.run(self.all_scripts(target), self.count)
        if swarm.connections:
            fate.found.append(f"{len(swarm.connections)} sockets that left are still open")


# Requests

def get(target: Target, path: str) -> bytes:
    return wire.request("GET", path, token=target.token)


def conversation(target: Target) -> bytes:
    cursor = base64.urlsafe_b64encode(b"1.1.x").rstrip(b"=").decode()
    return get(target, f"/api/users/{target.given['other']}/messages?before={cursor}")


def room_path(target: Target, rest: str) -> str:
    return f"/api/rooms/{target.given['room']}/{rest}"


def elements(room: str) -> bytes:
    return wire.event("element:create", {"roomId": room, "type": "note", "content": {"x": "a" * 65_000}}, ack=1)


def long_messages(target: Target) -> bytes:
    body = json.dumps({"text": "x" * 3990}).encode()
    return wire.request("POST", room_path(target, "messages"), token=target.token, body=body)


def long_bodies(target: Target) -> list[Script]:
    """Bodies that take long to parse, from anybody with an account."""
    def post(path: str, body: bytes) -> Script:
        return Script(repeat=wire.request("POST", path, token=target.token, body=body), pause=0)

    message = room_path(target, "messages")
    return [
        post(f"{message}/read", b'{"messageIds":[' + b'"",' * ((BODY - 40) // 3) + b'""]}'),
        post(message, b'{"text":"' + b"\\u0041" * ((BODY - 20) // 6) + b'"}'),
        post(room_path(target, "elements"), b'{"type":"n","content":{"a":' + b" " * (BODY - 60) + b"1}}"),
        post(room_path(target, "elements"), b'{"type":"n","content":{' + b'"a":1,' * ((BODY - 60) // 6) + b'"b":1}}'),
        post(message, b'{"a":' + b"[" * (BODY - 10)),
        post("/api/rooms/none/messages/read", b'{"messageIds":[' + b"1," * ((BODY - 40) // 2) + b"1]}"),
    ]


# Sockets

def deep_events(target: Target) -> list[Script]:
    half = 490_000
    return [
        connected(target.token, repeat=wire.frame('420["x",' + "[" * half + "]" * half + "]")),
        connected(target.token, repeat=wire.frame('420["x",' + "[" * 990_000)),
        connected(target.token, repeat=wire.frame('42["message:send",{"roomId":"x","text":"' + "\\u0041" * 160_000 + '"}]')),
        connected(target.token, repeat=wire.frame('451-0["x",' + '{"a":' * 20 + "[" + "1," * 400_000 + "1]" + "}" * 20 + "]") + wire.frame(b"x", wire.BINARY)),
    ]  # fmt: skip


def busy_room(token: str, room: str, count: int = 58, **reading) -> list[Script]:
    """Two sockets that fill a room's board, and many in it that read slowly."""
    join = wire.event("room:join", {"roomId": room})
    writer = connected(token, join, repeat=elements(room), pause=0.02, answer=b'"success":')
    return [writer, writer, *[connected(token, join, **reading)] * count]


def in_room(target: Target, name: str, **content) -> Script:
    frames = wire.event("room:join", {"roomId": target.given["room"]})
    return connected(target.token, frames, repeat=wire.event(name, {"roomId": target.given["room"], **content}) * 500)


def replay(target: Target) -> Script:
    connect = wire.connect(target.token, since=target.given["cursor"])
    return open_socket(connect, repeat=wire.frame("41") + connect, pause=0, answer=b"sync:done", waits_first=True)


def replays(target: Target, **more) -> list[Script]:
    connect = wire.connect(target.token, since=target.given["cursor"])
    return [open_socket(repeat=(connect + wire.frame("41")) * 50, **more)]


def typing(target: Target) -> Script:
    room = target.given["room"]
    both = wire.event("message:typing", {"roomId": room, "isTyping": True}) + wire.event("message:typing", {"roomId": room, "isTyping": False})
    return connected(target.token, wire.event("room:join", {"roomId": room}), repeat=both * 250)


GROUPED, MINE = "/api/rooms/grouped-by-person", "/api/rooms/my-rooms"

ALL = [
    ManyRooms("lists-unread", 60, lambda target: [Script(then=get(target, GROUPED), **SLOW)]),
    ManyRooms("lists-drained", 60, lambda target: [Script(then=get(target, GROUPED), **DRAINS)]),
    ManyRooms("lists-read", 60, lambda target: [Script(repeat=get(target, path), pause=0) for path in (GROUPED, MINE, "/api/sync")]),
    ManyRooms("lists-pipelined", 4, lambda target: [Script(repeat=get(target, path) * 100) for path in (GROUPED, MINE)]),
    LongConversation("conversation", 12, lambda target: [Script(repeat=conversation(target), pause=0)]),
    Missed("replays", 4, lambda target: [replay(target)]),
    Missed("replays-pipelined", 4, replays),
    Missed("replays-unread", 20, lambda target: replays(target, **SLOW)),
    Missed("replays-drained", 60, lambda target: [
        connected(target.token, since=target.given["cursor"], **DRAINS)]),
    Missed("sync-since", 20, lambda target: [Script(repeat=get(target, f"/api/sync?since={target.given['cursor']}&limit=1000"), pause=0)]),
    Writing("elements", 4, lambda target: [connected(target.token, repeat=elements(target.given["room"]), pause=0, answer=b'"success":')]),
    Writing("messages", 8, lambda target: [Script(repeat=long_messages(target), pause=0)]),
    WithAccount("long-bodies", 12, long_bodies),
    WithAccount("deep-events", 8, deep_events),
    WithAccount("huge-events", 10, lambda target: [
        connected(target.token, repeat=wire.event("message:send", {"roomId": target.given["room"], "text": "x" * 990_000}))]),
    WithAccount("busy-room-unread", 60, lambda target: busy_room(target.token, target.given["room"], **SLOW)),
    WithAccount("busy-room-drained", 60, lambda target: busy_room(
        target.token, target.given["room"], reads=20_000, reads_every=0.1, receive_buffer=4096)),
    BusyRooms("busy-rooms-unread", 400, lambda target: [
        script for token, room in target.given["rooms"] for script in busy_room(token, room, 98, **SLOW)], seconds=25),
    WithAccount("pings-drained", 20, lambda target: [
        connected(target.token, repeat=wire.frame(b"x" * 100, wire.PING) * 200, reads=500_000, reads_every=0.02, receive_buffer=4096)]),
    WithAccount("sockets-1500", 1500, lambda target: [connected(target.token)]),
    WithAccount("connects-pipelined", 4, lambda target: [open_socket(repeat=(wire.connect(target.token) + wire.frame("41")) * 200)]),
    WithAccount("joins", 20, lambda target: [in_room(target, "room:join")]),
    WithAccount("joins-of-none", 20, lambda target: [connected(target.token, repeat=wire.event("room:join", {"roomId": "none"}, ack=1) * 500)]),
    WithAccount("typing", 20, lambda target: [typing(target)]),
    WithAccount("sends", 20, lambda target: [in_room(target, "message:send", text="x")]),
    WithAccount("unknown-events", 20, lambda target: [in_room(target, "nothing:like-that")]),
    WithAccount("search", 20, lambda target: [
        Script(repeat=get(target, "/api/users/without-rooms?limit=200&q=" + "a" * 7000), pause=0),
        Script(repeat=get(target, "/api/users/without-rooms?limit=200&q=v"), pause=0)]),
    ManyPeople("search-among-100000", 30, lambda target: [
        Script(repeat=get(target, "/api/users/without-rooms?q=a&limit=100"), pause=0)]),
    WithAccount("rooms-with-one", 8, lambda target: [
        Script(
            repeat=wire.request("POST", "/api/rooms", token=target.token, body=json.dumps({"otherUserId": target.given["friend"]}).encode()),
            pause=0)]),
    LeftNamespace(),
]  # fmt: skip
