"""A service in another language at the other end of the bus: Examples/dice.py, with the real gateway, and killed under load.

DICE_KILLS says how often it is killed; with `-s`, what that took is printed. Over NATS where BUS_URL names a server
(deploy/with-servers)."""

import asyncio
import contextlib
import itertools
import json
import os
import random
import sqlite3
import subprocess
import sys
import time

import pytest
from parlor import ROOT, START_DEADLINE, Process, binaries
from people import World, eventually

sys.path.insert(0, str(ROOT / "Examples"))
from dice import Dice as Service  # noqa: E402

KILLS = int(os.environ.get("DICE_KILLS", 6))
AT_ONCE = 2.0  # seconds: below the 5 s that a request may take, and enough for a busy machine
BACK = 5.0  # seconds: enough for a busy machine
# What dice asks of others, beside what a service may do anyway.
RIGHTS = {
    "service": "dice", "request": ["rooms.membership", "messaging.events"],
    "subscribe": ["messaging.log", "messaging.log.>", "services.announce.messaging"]}  # fmt: skip


class Dice:
    """The service beside a Parlor: started, killed, started again on its database."""

    def __init__(self, parlor, url: str, token):
        self.parlor, self.url = parlor, url
        self.database = parlor.data / "dice.db"
        self.environment = {"BUS_TOKEN_FILE": str(token)} if token else {}
        self.start()

    def start(self):
        self.process = Process(ROOT / "Examples/dice.py", self.url, self.database, environment=self.environment)
        self.process.wait_until_ready()

    def kill(self):
        assert self.process.is_running(), self.process.log()
        self.process.kill()

    def ask(self, *command: str, token: str = "bus.token") -> subprocess.CompletedProcess:
        """Runs a command for operators."""
        tokens = ["--bus-token-file", self.parlor.data / token] if self.environment else []
        return subprocess.run(
            [binaries() / "parlor", *command, "--bus", self.url, *tokens], capture_output=True, text=True, timeout=START_DEADLINE)  # fmt: skip

    def execute(self, sql: str):
        """Changes its database behind its back."""
        with contextlib.closing(sqlite3.connect(self.database)) as db:
            db.executescript(sql)

    def rolls(self) -> list[tuple[str, str, str | None]]:
        """Returns the rolls of all rooms in order: the room, the person, and the message that rolled."""
        with sqlite3.connect(f"file:{self.database}?mode=ro", uri=True) as db:
            return db.execute("SELECT room, person, message FROM rolls ORDER BY id").fetchall()


@pytest.fixture(params=["tcp", "nats"])
def dice(request, start, tmp_path, monkeypatch):
    bus = os.environ.get("BUS_URL", "")
    monkeypatch.delenv("BUS_URL", raising=False)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    if request.param == "nats":
        if not bus.startswith("nats://"):
            pytest.skip("BUS_URL names no NATS server")
        url = f"{bus}/{tmp_path.name.replace('_', '-').lower()}"
        dice = Dice(start("separate", "--bus", url), url, None)
    else:
        plugins = tmp_path / "plugins"
        plugins.write_text(json.dumps(RIGHTS))
        parlor = start("separate", "--with", plugins)
        dice = Dice(parlor, (parlor.data / "bus.url").read_text().strip(), parlor.data / "bus/dice.token")
    yield dice
    dice.process.kill()


@pytest.fixture
async def world(dice):
    async with World(dice.parlor) as world:
        yield world


async def known(person, path: str):
    """Waits until a gateway knows the route."""

    async def found():
        return (await person.request("GET", path)).status_code == 200

    await eventually(found)


async def test_a_route_an_event_and_a_badge(dice, world):
    alice, bob, room = await world.pair()
    path = f"/api/rooms/{room['id']}/dice"
    await known(alice, path)
    laptop, phone = await alice.socket(joined=room), await bob.socket(joined=room)
    await laptop.do_noting_ack("dice:roll", {"roomId": room["id"]})
    acked = await laptop.expect("ack")
    assert acked["success"] is True and 1 <= acked["face"] <= 6
    rolled = {"roomId": room["id"], "userId": alice.id, "face": acked["face"], "messageId": None}
    assert await laptop.expect("dice:rolled") == rolled == await phone.expect("dice:rolled")
    assert await phone.expect("room:badges") == {
        "roomId": room["id"], "badges": {"dice": 1, "messages": 0, "elements": 0}, "hasUnread": True}  # fmt: skip
    message = await alice.send(room, "hello")
    assert (await phone.expect("dice:rolled"))["messageId"] == message["id"]
    await phone.expect("room:badges", badges={"dice": 2, "messages": 1, "elements": 0})
    assert [roll["messageId"] for roll in await bob.get(path)] == [None, message["id"]]
    for person, badges in [(alice, {"dice": 0, "messages": 0, "elements": 0}), (bob, {"dice": 2, "messages": 1, "elements": 0})]:
        answer = (await person.request("GET", "/api/rooms/my-rooms")).json()
        assert answer["data"][0]["badges"] == badges and "degraded" not in answer
    # The same list again: the gateway answers it from its cache, as dice's log says that nothing has changed.
    assert (await bob.get("/api/rooms/my-rooms"))[0]["badges"]["dice"] == 2
    await phone.do("dice:roll", {"roomId": room["id"]})
    assert (await bob.get("/api/rooms/my-rooms"))[0]["badges"]["dice"] == 0


async def test_what_is_refused_and_nothing_that_a_client_sends_ends_it(dice, world):
    alice, _, room = await world.pair()
    eve = await world.person("eve")
    await known(alice, f"/api/rooms/{room['id']}/dice")
    answer = await eve.request("GET", f"/api/rooms/{room['id']}/dice")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "room_not_found")
    socket = await eve.socket()
    for data, code in [
        ({"roomId": room["id"]}, "room_not_found"), ({"roomId": "none"}, "room_not_found"), ({}, "invalid_field"),
        ({"roomId": 7}, "malformed_request"), ({"roomId": [{}]}, "malformed_request"), ({"roomId": None}, "invalid_field"),
    ]:  # fmt: skip
        assert (await socket.ask("dice:roll", data))["error"]["code"] == code, data
    assert dice.rolls() == [] and dice.process.is_running()


async def test_a_room_with_more_rolls_than_one_line_holds_can_be_listed(dice, world):
    alice, _, room = await world.pair()
    path = f"/api/rooms/{room['id']}/dice"
    await known(alice, path)
    dice.execute(f"""
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 7000)
        INSERT INTO rolls (room, person, face, message) SELECT '{room["id"]}', '{alice.id}', 6, i FROM n""")
    assert [roll["messageId"] for roll in await alice.get(path)] == [str(i) for i in range(6501, 7001)]
    assert dice.process.log() == "", "the bus closed its connection"


async def test_what_it_emitted_before_a_kill_reaches_sockets_in_order_even_if_it_is_longer_than_a_line(dice, world):
    alice, bob, room = await world.pair()
    path = f"/api/rooms/{room['id']}/dice"
    await known(alice, path)
    phone = await bob.socket(joined=room)
    await phone.do("dice:roll", {"roomId": room["id"]})
    await phone.expect("dice:rolled")
    dice.kill()
    sent = [{"roomId": room["id"], "number": number, "text": "x" * 8_000} for number in range(250)]
    log = Service(dice.database)
    with log.db:
        for data in sent:
            log.emit(room["id"], [alice.id, bob.id], [{"to": "room", "event": "dice:noted", "data": data}])
    log.db.close()
    dice.start()
    assert [await phone.expect("dice:noted") for _ in sent] == sent
    assert dice.process.log() == "", "the bus closed its connection"


async def test_it_goes_on_after_an_error_of_its_database(dice, world):
    alice, _, room = await world.pair()
    await known(alice, f"/api/rooms/{room['id']}/dice")
    dice.execute("CREATE TRIGGER full BEFORE INSERT ON rolls BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
    first = await alice.send(room, "rolls when there is space again")
    await eventually(lambda: asyncio.sleep(0, "the disk is full" in dice.process.log()))
    dice.execute("DROP TRIGGER full")
    # The next line from the bus makes it try again.
    second = await alice.send(room, "there is space")
    rolls = [(room["id"], alice.id, message["id"]) for message in (first, second)]
    await eventually(lambda: asyncio.sleep(0, dice.rolls() == rolls))


async def test_an_operator_lists_it_and_makes_every_gateway_forget_it(dice, world, tmp_path):
    alice, _, room = await world.pair()
    path = f"/api/rooms/{room['id']}/dice"
    await known(alice, path)
    # Another gateway, which keeps manifests in a folder of its own.
    token = ["--bus-token-file", dice.parlor.data / "bus/gateway.token"] if dice.environment else []
    other = Process(
        binaries() / "parlor-gateway", "--port", 0, "--data", tmp_path / "other", "--bus", dice.url, *token, "--jwt-secret-file",
        dice.parlor.data / "jwt.secret")  # fmt: skip
    elsewhere = other.wait_until_ready()
    manifests = [dice.parlor.data / "manifests.json", tmp_path / "other/manifests.json"]

    async def status(address: str = dice.parlor.address) -> int:
        return (await alice.request("GET", f"{address}{path}")).status_code

    async def on_disk():
        return all(file.exists() and '"dice"' in file.read_text() for file in manifests)

    await eventually(on_disk)
    listed = dice.ask("services")
    assert listed.returncode == 0, listed.stdout + listed.stderr
    rows = {line.split()[0]: line.split() for line in listed.stdout.splitlines() if line}
    assert rows["service"] == "service required instances known heard routes events badges fields checks".split()
    # dice.py does not report its status: all that is known is that it is there.
    assert rows["dice"][1:3] + rows["dice"][-5:] == ["no", "1+", "1", "1", "1", "0", "0"]
    assert rows["rooms"][1:3] == ["yes", "1"] and len(rows["gateways:"]) == 3
    one = dice.ask("services", "dice")
    assert one.returncode == 0 and "route  GET /api/rooms/:roomId/dice" in one.stdout and "badge  dice" in one.stdout, one.stdout
    unknown = dice.ask("services", "nobody")
    assert unknown.returncode == 1 and "no gateway knows nobody" in unknown.stdout

    for name, reason in [("dice", "it still announces itself"), ("rooms", "it is one of REQUIRED_SERVICES")]:
        refused = dice.ask("forget", name)
        assert refused.returncode == 1 and refused.stdout.count(f"refused: {reason}") == 2, refused.stdout + refused.stderr
    unknown = dice.ask("forget", "nobody")
    assert (unknown.returncode, unknown.stdout) == (1, "no gateway knows nobody\n"), unknown.stderr

    dice.kill()
    assert (await status(), await status(elsewhere)) == (503, 503)
    away = dice.ask("services", "dice")
    assert away.returncode == 0 and away.stdout.splitlines()[1].split()[2] == "0", away.stdout
    if dice.environment:  # Only an operator may.
        rogue = dice.ask("forget", "dice", token="bus/rooms.token")
        assert rogue.returncode == 1 and "no gateway replied" in rogue.stdout, rogue.stdout + rogue.stderr
        assert await status() == 503
    forgotten = dice.ask("forget", "dice")
    assert forgotten.returncode == 0, forgotten.stdout + forgotten.stderr
    assert forgotten.stdout.count("forgotten: 1 route, 1 event, 1 badge, 0 fields, 0 checks") == 2, forgotten.stdout
    assert (await status(), await status(elsewhere)) == (404, 404)
    assert not any('"dice"' in file.read_text() for file in manifests)
    assert (await alice.get("/api/rooms/my-rooms"))[0]["badges"] == {"messages": 0, "elements": 0}

    gateway = dice.parlor.pid("parlor-gateway")
    dice.parlor.kill("parlor-gateway")
    dice.parlor.wait_for_successor("parlor-gateway", gateway)
    assert await status() == 404
    dice.start()
    await known(alice, path)
    assert other.stop() == 0, other.log()


class Load:
    """Sends messages and rolls of people in several rooms, each after the answer to the one before, until it ends."""

    def __init__(self):
        self.sent = {}  # by room: (seq, id) of its messages
        self.acked = 0
        self.is_ending = False
        self.tasks = []

    async def begin(self, world, rooms: int):
        for _ in range(rooms):
            alice, bob, room = await world.pair()
            self.sent[room["id"]] = []
            self.tasks += [asyncio.create_task(self.send(person, room)) for person in (alice, bob)]
            self.tasks.append(asyncio.create_task(self.roll(await alice.socket(), room)))

    async def send(self, person, room: dict):
        for number in itertools.count():
            self.note(await person.send(room, f"{number}"))
            if self.is_ending:
                return

    async def roll(self, socket, room: dict):
        while not self.is_ending:
            answer = await socket.ask("dice:roll", {"roomId": room["id"]})
            assert answer["success"] or answer["error"]["code"] == "service_unavailable", answer
            self.acked += answer["success"]

    def note(self, message: dict):
        self.sent.setdefault(message["roomId"], []).append((message["seq"], message["id"]))

    async def end(self):
        self.is_ending = True
        await asyncio.gather(*self.tasks)


@pytest.mark.timeout(90 + 15 * KILLS)
async def test_killed_under_load_it_takes_every_entry_once_and_in_order(dice, world):
    alice, bob, room = await world.pair()
    path = f"/api/rooms/{room['id']}/dice"
    await known(alice, path)
    phone = await bob.socket(joined=room)
    load = Load()
    await load.begin(world, rooms=3)
    noticed, back = [], []
    for _ in range(KILLS):
        # Somewhere in the middle of its work: after some more rolls than there are now.
        wanted = len(dice.rolls()) + random.randrange(1, 40)
        await eventually(lambda wanted=wanted: asyncio.sleep(0, len(dice.rolls()) >= wanted))
        load.note(await alice.send(room, "before"))
        dice.kill()
        began = time.monotonic()
        answer = await alice.request("GET", path)
        noticed.append(time.monotonic() - began)
        assert answer.status_code == 503 and answer.headers["Retry-After"].isdigit(), answer.text
        load.note(await alice.send(room, "while it is away"))
        dice.start()
        began = time.monotonic()
        await known(alice, path)
        back.append(time.monotonic() - began)
    await load.end()
    print(f"\n{KILLS} kills: {sum(map(len, load.sent.values()))} messages, {load.acked} rolls acknowledged; ", end="")
    print(f"503 after {max(noticed) * 1000:.0f} ms at most, back after {max(back) * 1000:.0f} ms at most")

    sent = {of: [message for _, message in sorted(messages)] for of, messages in load.sent.items()}

    def taken() -> dict:
        rolls = dice.rolls()
        return {of: [message for room, _, message in rolls if room == of and message] for of in sent}

    await eventually(lambda: asyncio.sleep(0, sum(map(len, taken().values())) >= sum(map(len, sent.values()))))
    assert taken() == sent
    assert sum(message is None for _, _, message in dice.rolls()) >= load.acked > 0
    # What it emitted reached the room's sockets over all restarts, each once and in order; and so did the last badge.
    listed = await alice.get(path)
    await eventually(lambda: asyncio.sleep(0, len(phone.order("dice:rolled")) >= len(listed)))
    assert [data for name, data in phone.heard if name == "dice:rolled"] == listed
    badge = {"dice": len(listed), "messages": len(listed), "elements": 0}
    seen = lambda: [data["badges"] for name, data in phone.heard if name == "room:badges"]
    await eventually(lambda: asyncio.sleep(0, seen()[-1] == badge))
    assert (await bob.get("/api/rooms/my-rooms"))[0]["badges"] == badge
    assert max(noticed) < AT_ONCE and max(back) < BACK
