"""Runs the transcripts in Services/SERVICE-PROTOCOL.md against the real programs, so that the page and they cannot diverge.

The transcripts are one story, on one Parlor: what one leaves, the next one finds. Each line begins with a party's
name. `>` follows if the party sends the line, `<` if it receives it. `$name` stands for what varies: it takes a value the first time, and has to have the same value
from then on."""

import asyncio
import json
import re
import sys
import types

import aiohttp
import pytest
from parlor import ROOT, Cluster
from people import DEADLINE, World, eventually

sys.path.insert(0, str(ROOT / "Examples"))
from parlor_service import Refused, Service, digest  # noqa: E402

PAGE = (ROOT / "Services/SERVICE-PROTOCOL.md").read_text()
ANOTHER = re.compile(r'"code":"route_not_found"')
PRESENCE = re.compile(r'"reply":([^,]+),"subject":"dice.presence",.*"data":(.*)')


def blocks(kind: str) -> list[tuple[int, str]]:
    """Returns each line of the page's blocks of a kind, with its number."""
    found, is_inside = [], False
    for number, line in enumerate(PAGE.splitlines(), 1):
        if line.startswith("```"):
            is_inside = line == f"```{kind}"
        elif is_inside:
            found.append((number, line))
    return found


class Peer:
    """A raw connection to the bus."""

    def __init__(self, url: str):
        self.address = url.removeprefix("tcp://").split(":")
        self.writer = None

    async def send(self, text: str):
        if text == "!close":
            self.writer.close()
            self.writer = None
            return
        if not self.writer:
            self.reader, self.writer = await asyncio.open_connection(*self.address, limit=1 << 20)
        self.writer.write(text.encode() + b"\n")

    async def receive(self) -> str:
        return (await self.reader.readline()).decode().removesuffix("\n")

    async def close(self):
        if self.writer:
            self.writer.close()


class Caller:
    """A person over HTTP: a request is open until its answer is read."""

    def __init__(self, person, expects_nothing):
        self.person, self.expects_nothing = person, expects_nothing
        self.answer = None

    async def send(self, text: str):
        method, path, *body = text.split(" ", 2)
        self.answer = asyncio.create_task(self.request(method, path, body, self.expects_nothing()))

    async def request(self, method: str, path: str, body: list[str], is_unknown: bool) -> str:
        async def answered():
            answer = await self.person.request(method, path, json.loads(body[0]) if body else None)
            # An announcement takes a moment.
            return None if ANOTHER.search(answer.text) and not is_unknown else f"{answer.status_code} {answer.text}".rstrip()

        return await eventually(answered)

    async def receive(self) -> str:
        return await self.answer

    async def close(self):
        if self.answer:
            self.answer.cancel()


class Phone:
    """A person's WebSocket, frame by frame."""

    async def connect(self, person, room: dict):
        self.session = aiohttp.ClientSession()
        self.socket = await self.session.ws_connect(f"{person.world.parlor.address}/socket.io/?EIO=4&transport=websocket")
        await self.receive()
        await self.send(f'40{{"token":"{person.token}"}}')
        await self.receive()
        await self.send(f'420["room:join",{{"roomId":"{room["id"]}"}}]')
        while not (await self.receive()).startswith("430"):
            pass
        return self

    async def send(self, text: str):
        await self.socket.send_str(text)

    async def receive(self) -> str:
        while (text := await self.socket.receive_str()) == "2":
            await self.socket.send_str("3")
        return text

    async def close(self):
        await self.session.close()


class Story:
    """The lines of the page in turn, and the values of its names."""

    def __init__(self, lines: list[tuple[int, str]], values: dict[str, str]):
        self.lines, self.values, self.parties = lines, values, {}
        self.next = 0
        self.present = []
        self.early = []

    def fill(self, text: str) -> str:
        def value(name: re.Match) -> str:
            if name[1] not in self.values and name[1].startswith("digest"):
                self.values[name[1]] = self.digest(name[1].removeprefix("digest"))
            return self.values[name[1]]

        return re.sub(r"\$(\w+)", value, text)

    def match(self, expected: str, text: str) -> bool:
        """Compares byte by byte, except for names without a value yet."""
        new = []

        def pattern(name: re.Match) -> str:
            if name[1] in self.values or name[1].startswith("digest"):
                self.fill(name[0])
                return re.escape(self.values[name[1]])
            if name[1] in new:
                return f"(?P={name[1]})"
            new.append(name[1])
            return f'(?P<{name[1]}>[^",{{}}]+)'

        parts = re.split(r"(\$\w+)", expected)
        found = re.fullmatch(
            "".join(pattern(re.match(r"\$(\w+)", part)) if part.startswith("$") else re.escape(part) for part in parts), text)
        if found:
            self.values |= {name: found[name] for name in new}
        return bool(found)

    def expects_unknown_route(self, who: str) -> bool:
        """Whether the next answer to the person says that the route does not exist."""
        return next(bool(ANOTHER.search(line)) for _, line in self.lines[self.next:] if line.startswith(f"{who}< "))

    async def run(self):
        for self.next, (number, line) in enumerate(self.lines):
            who, way, text = re.fullmatch(r"(\w+)([<>]) (.*)", line).groups()
            party = self.parties[who]
            if way == ">":
                await party.send(self.fill(text))
            else:
                try:
                    got = await asyncio.wait_for(self.receive(party, PRESENCE.search(text)), DEADLINE)
                except asyncio.TimeoutError:
                    pytest.fail(f"line {number}: nothing came, and this was expected:\n{self.fill_known(text)}")
                assert self.match(text, got), f"line {number}: expected, and what came:\n{self.fill_known(text)}\n{got}"

    async def receive(self, party, wants_presence) -> str:
        """Returns the next line. A gateway requests presence and a log's entries at once, so a request for presence may come
        before the page's line for it. A gateway may also repeat which rooms are open; that request is answered again."""
        if wants_presence and self.early:
            return self.early.pop(0)
        while True:
            text = await party.receive()
            presence = PRESENCE.search(text)
            if not presence:
                return text
            if presence[2] in self.present:
                await party.send(f'{{"op":"res","id":{presence[1]},"data":{{"status":200,"data":{{}}}}}}')
                continue
            self.present.append(presence[2])
            if wants_presence:
                return text
            self.early.append(text)

    def fill_known(self, text: str) -> str:
        return re.sub(r"\$(\w+)", lambda name: self.values.get(name[1], name[0]), text)

    def digest(self, seq: str) -> str:
        """Returns the digest of the entry with this number, wherever the service sends the entry."""
        shape = re.compile(rf'{{"seq":{seq},"at":(\d+),.*?"emissions":(\[.*?\])}}')
        at, emissions = next(found for _, line in self.lines if line.startswith("service>") for found in shape.findall(line))
        return str(digest(int(at), self.fill(emissions).encode()))


async def test_the_transcripts_are_what_happens_byte_by_byte(tmp_path):
    cluster = Cluster(tmp_path / "data")
    story = None
    try:
        async with World(cluster) as world:
            alice, bob, room = await world.pair()
            story = Story(blocks("transcript"), {
                "alice": alice.id, "bob": bob.id, "room": room["id"], "aliceName": alice.username, "bobName": bob.username})  # fmt: skip
            assert len(story.lines) > 70
            story.parties = {"service": Peer(cluster.bus), "other": Peer(cluster.bus), "phone": await Phone().connect(alice, room)}
            for name, person in [("alice", alice), ("bob", bob)]:
                story.parties[name] = Caller(person, lambda name=name: story.expects_unknown_route(name))
            await story.run()
    finally:
        for party in story.parties.values() if story else []:
            await party.close()
        cluster.stop()


def test_the_vectors_of_the_page_are_those_of_its_code():
    code = "\n".join(line for _, line in blocks("python"))
    space = {}
    exec(code, space)  # noqa: S102 - the page's own
    vectors = [json.loads(line) for _, line in blocks("vectors")]
    assert len(vectors) >= 3
    for at, emissions, expected in vectors:
        assert space["digest"](at, emissions.encode()) == digest(at, emissions.encode()) == expected
    logs = [json.loads(line) for _, line in blocks("log-vectors")]
    assert len(logs) >= 3
    for room, count, expected in logs:
        assert space["log_of"](room, count) == expected


class Hesitant(Service):
    """Emits an entry for what it follows, and then cannot go on."""

    manifest = {"service": "hesitant"}

    def take(self, entry):
        self.emit("room", ["ada"], [])
        raise Refused("service_unavailable", "Try again in a moment.")


def test_the_base_in_python_publishes_no_entry_of_an_undone_write():
    service, sent = Hesitant(":memory:"), []
    service.bus, service.followed = types.SimpleNamespace(send=lambda **line: sent.append(line)), {}
    head = {"databaseId": "log", "seq": 0, "digest": 0}
    empty = {"head": head, "oldest": 1, "isKnown": True, "through": 0, "entries": []}
    whole = {"head": {**head, "seq": 1, "digest": 7}, "oldest": 1, "isKnown": True, "through": 1, "entries": [{"seq": 1}]}
    pages = [empty, whole, whole]  # where it begins; then the log's head, and the entry
    service.ask = lambda subject, query: pages.pop(0)
    for number in range(2):
        service.do({"op": "msg", "subject": "messaging.log", "data": {"seq": number}})
    service.publish()
    assert not pages and not [line for line in sent if line["op"] == "pub"] and service.head()["seq"] == 0
