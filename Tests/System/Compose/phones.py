"""Clients that write, listen and reconnect while containers are killed, and the checks afterwards."""

import asyncio
import itertools
import secrets
from collections import Counter

import httpx
import socketio
from people import Person, World

# How long one thing may take over all of its retries before it counts as lost.
PATIENCE = 30.0
# If no ack has come by then, the event is sent again with the same data.
ACK_TIMEOUT = 6.0
PAUSE = 0.15
TRANSPORTS = itertools.cycle([["websocket"], ["polling"], ["polling", "websocket"]])


class Phone:
    """A person's client in one room: it keeps a socket, catches up by its cursor, and records its acknowledgements
    and events."""

    def __init__(self, person: Person, room: dict):
        self.person, self.room = person, room["id"]
        self.sent: dict[str, tuple[str, int]] = {}  # by tempId: id and seq
        self.made: dict[str, str] = {}  # by tempId: element
        self.heard: dict[str, list[str]] = {"message:new": [], "element:created": []}
        self.at_cursor = {name: 0 for name in self.heard}
        self.cursor = None
        self.faults: list[str] = []
        self.retries = self.connects = 0
        self.longest = 0.0
        self.is_over = False
        self.is_joined = asyncio.Event()
        self.client = socketio.AsyncClient(reconnection_delay=0.05, reconnection_delay_max=0.3)
        self.client.on("*", self.hear)
        self.client.on("connect", self.connected)
        self.client.on("disconnect", lambda reason=None: self.is_joined.clear())
        self.joining = None

    async def start(self):
        # The first cursor comes with the list of rooms.
        self.cursor = (await self.person.get("/api/sync"))["cursor"]
        await self.client.connect(
            self.person.world.parlor.address, transports=next(TRANSPORTS), retry=True,
            auth=lambda: {"token": self.person.token, "since": self.cursor})  # fmt: skip
        await asyncio.wait_for(self.is_joined.wait(), PATIENCE)

    # MARK: Hearing

    def connected(self):
        self.connects += 1
        # Events after the cursor are replayed.
        for name, ids in self.heard.items():
            del ids[self.at_cursor[name] :]
        self.joining = asyncio.ensure_future(self.join())

    async def join(self):
        """Waits until the room is open on this connection, or the connection is gone."""
        connection = self.connects
        while self.connects == connection and "/" in self.client.namespaces:
            try:
                answer = await self.client.call("room:join", {"roomId": self.room}, timeout=ACK_TIMEOUT)
            except socketio.exceptions.SocketIOError:
                continue
            if answer["success"]:
                self.is_joined.set()
                return
            if not answer["error"]["retryable"]:
                self.faults.append(f"room:join was answered with {answer}")
                return
            await asyncio.sleep(0.2)

    def hear(self, event: str, data: dict):
        if event == "message:new":
            self.heard[event].append(data["message"]["id"])
        elif event == "element:created":
            self.heard[event].append(data["element"]["id"])
        elif event == "sync:done":
            if not data["recovered"]:
                self.faults.append("it could not be caught up")
            self.cursor = data["cursor"]
            self.at_cursor = {name: len(ids) for name, ids in self.heard.items()}

    # MARK: Writing

    async def work(self):
        for number in itertools.count():
            if self.is_over:
                return
            name = f"t{number}"
            if number % 3 < 2:
                ack = await self.insist("message:send", {"text": f"message {number}", "tempId": name})
                if ack:
                    self.sent[name] = (ack["messageId"], ack["seq"])
            else:
                ack = await self.insist("element:create", {"type": "note", "content": {"n": number}, "tempId": name})
                if ack:
                    self.made[name] = ack["element"]["id"]
            await asyncio.sleep(PAUSE)

    async def insist(self, event: str, data: dict) -> dict | None:
        """Returns the ack, after as many tries as needed; None, and a fault, if it never arrives."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        answer = "nothing"
        while loop.time() - start < PATIENCE:
            try:
                answer = await self.client.call(event, {"roomId": self.room, **data}, timeout=ACK_TIMEOUT)
                if answer["success"]:
                    self.longest = max(self.longest, loop.time() - start)
                    return answer
                if not answer["error"]["retryable"]:
                    break
            except socketio.exceptions.SocketIOError as error:
                answer = repr(error)
            self.retries += 1
            await asyncio.sleep(0.1)
        self.faults.append(f"{event} was answered with {answer}")
        return None

    # MARK: Afterwards

    async def stored(self, kind: str) -> list[dict]:
        """Returns all of the room's messages or elements, page by page."""
        word, start = {"messages": ("after", "0"), "elements": ("cursor", "")}[kind]
        found, place = [], start
        while True:
            answer = await self.person.request(
                "GET", f"/api/rooms/{self.room}/{kind}?limit=200" + (f"&{word}={place}" if place else ""))  # fmt: skip
            answer.raise_for_status()
            body = answer.json()
            found += body["data"]
            place = body["page"]["next"]
            if not place:
                return found

    async def check(self) -> list[str]:
        """Returns the violations."""
        faults = list(self.faults)
        messages, elements = await self.stored("messages"), await self.stored("elements")
        own = Counter((m["tempId"], m["id"], m["seq"]) for m in messages if m["senderId"] == self.person.id)
        for name, (id, seq) in self.sent.items():
            if own[name, id, seq] != 1:
                faults.append(f"message {name}, seq {seq}, is there {own[name, id, seq]} times")
        keys = Counter((m["senderId"], m["tempId"]) for m in messages)
        faults += [f"{key} made {count} messages" for key, count in keys.items() if count > 1]
        if [m["seq"] for m in messages] != list(range(1, len(messages) + 1)):
            faults.append(f"the seqs of {len(messages)} messages have gaps")
        made = Counter((e["tempId"], e["id"]) for e in elements if e["createdBy"] == self.person.id)
        faults += [f"element {key} is not there once" for key in self.made.items() if made[key] != 1]

        for name, stored in (("message:new", messages), ("element:created", elements)):
            if self.heard[name] != [item["id"] for item in stored]:
                lost = len({item["id"] for item in stored} - set(self.heard[name]))
                double = len(self.heard[name]) - len(set(self.heard[name]))
                faults.append(f"{name}: of {len(stored)} {lost} lost, {double} doubled, or out of order")

        room = await self.person.get(f"/api/rooms/{self.room}")
        unread = sum(m["senderId"] != self.person.id for m in messages)
        shown = (room["badges"]["messages"], room["badges"]["elements"], room["elementCount"])
        if shown != (unread, 0, len(elements)):
            faults.append(f"shown are {shown} unread, unseen and elements, not {(unread, 0, len(elements))}")
        return [f"{self.person.username}: {fault}" for fault in faults]


class Load:
    """Some rooms with two phones each."""

    def __init__(self, parlor, rooms: int):
        self.world = World(parlor)
        self.rooms = rooms
        self.phones: list[Phone] = []

    async def start(self):
        for _ in range(self.rooms):
            alice, bob, room = await self.world.pair()
            self.phones += [Phone(alice, room), Phone(bob, room)]
        # Somebody with a phone who is offline: they have to be notified of what is sent.
        alice, bob, room = await self.world.pair()
        await bob.post("/api/devices", {"token": secrets.token_hex(32), "platform": "ios", "environment": "sandbox"}, 201)
        await alice.send(room, "are you there?")
        await asyncio.gather(*(phone.start() for phone in self.phones))
        self.work = [asyncio.ensure_future(phone.work()) for phone in self.phones]

    async def finish(self) -> list[str]:
        """Waits until everything has settled, and returns the violations."""
        for phone in self.phones:
            phone.is_over = True
        await asyncio.gather(*self.work)
        try:
            await asyncio.gather(*(asyncio.wait_for(phone.is_joined.wait(), PATIENCE) for phone in self.phones))
            await asyncio.gather(*(self.hear_the_end(phone) for phone in self.phones))
            return [fault for phone in self.phones for fault in await phone.check()]
        except (asyncio.TimeoutError, httpx.HTTPError) as error:
            return [f"it did not come to rest: {error!r}"]
        finally:
            await asyncio.gather(*(phone.client.disconnect() for phone in self.phones), return_exceptions=True)
            await self.world.http.aclose()

    async def hear_the_end(self, phone: Phone):
        """Waits until it has received as much as is stored, as the last events may take a moment."""
        end = asyncio.get_running_loop().time() + 10
        while asyncio.get_running_loop().time() < end:
            counts = len(await phone.stored("messages")), len(await phone.stored("elements"))
            if counts == tuple(len(ids) for ids in phone.heard.values()):
                return
            await asyncio.sleep(0.2)

    def summary(self) -> str:
        acknowledged = sum(len(phone.sent) + len(phone.made) for phone in self.phones)
        retries, connects = (sum(getattr(phone, name) for phone in self.phones) for name in ("retries", "connects"))
        longest = max(phone.longest for phone in self.phones)
        return f"{acknowledged} writes acknowledged, {retries} retries, {connects} connects, longest wait {longest:.1f} s"
