"""People with HTTP and sockets, for tests."""

import asyncio
import secrets

import httpx
import socketio

PASSWORD = "correct horse 1"
DEADLINE = 30.0  # seconds; enough for a busy machine


class World:
    """The people of a test, all at one Parlor. Without `verify` they take any certificate."""

    def __init__(self, parlor, verify: bool = True):
        self.parlor, self.verify = parlor, verify
        # One connection for each request: a server that was stopped leaves none behind that looks alive.
        self.http = httpx.AsyncClient(
            base_url=parlor.address, timeout=20, trust_env=False, verify=verify,
            limits=httpx.Limits(max_keepalive_connections=0))  # fmt: skip
        self.sockets = []

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await asyncio.gather(*(socket.close() for socket in self.sockets), return_exceptions=True)
        await self.http.aclose()

    async def person(self, name: str) -> "Person":
        username = f"{name}-{secrets.token_hex(5)}"
        body = {"username": username, "password": PASSWORD, "firstName": name.title()}
        answer = await self.http.post("/api/auth/register", json=body)
        assert answer.status_code == 201, answer.text
        return Person(self, username, answer.json()["data"])

    async def pair(self) -> tuple["Person", "Person", dict]:
        """Creates two people and a room of theirs."""
        alice, bob = await self.person("alice"), await self.person("bob")
        return alice, bob, await alice.post("/api/rooms", {"otherUserId": bob.id}, 201)


class Person:
    def __init__(self, world: World, username: str, grant: dict):
        self.world, self.username = world, username
        self.id, self.token = grant["user"]["id"], grant["token"]

    async def request(self, method: str, path: str, json=None, headers: dict | None = None) -> httpx.Response:
        return await self.world.http.request(
            method, path, json=json, headers={"Authorization": f"Bearer {self.token}", **(headers or {})})  # fmt: skip

    async def data(self, method: str, path: str, json=None, status: int = 200):
        answer = await self.request(method, path, json)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()["data"] if answer.content else None

    async def get(self, path: str):
        return await self.data("GET", path)

    async def post(self, path: str, json, status: int = 200):
        return await self.data("POST", path, json, status)

    async def send(self, room: dict, text: str) -> dict:
        return await self.post(f"/api/rooms/{room['id']}/messages", {"text": text}, 201)

    async def view(self, room: dict) -> dict:
        return await self.get(f"/api/rooms/{room['id']}")

    async def socket(self, joined: dict | None = None, transport: str = "websocket") -> "Socket":
        socket = Socket(self)
        self.world.sockets.append(socket)
        await socket.connect(transport)
        if joined:
            await socket.join(joined)
        return socket


class Socket:
    """A stock Socket.IO client that records events and acks in order. It reconnects by itself."""

    TRANSPORTS = {"websocket": ["websocket"], "polling": ["polling"], "upgrade": ["polling", "websocket"]}

    def __init__(self, person: Person):
        self.person = person
        self.heard = []
        self.changed = asyncio.Event()
        self.client = socketio.AsyncClient(
            reconnection_delay=0.05, reconnection_delay_max=0.2, ssl_verify=person.world.verify)  # fmt: skip
        self.client.on("*", self.hear)
        self.client.on("connect", lambda: self.hear("connect"))
        self.client.on("disconnect", lambda reason=None: self.hear("disconnect", reason))

    def hear(self, event: str, *data):
        self.heard.append((event, data[0] if data else None))
        self.changed.set()

    async def connect(self, transport: str):
        await self.client.connect(
            self.person.world.parlor.address, auth={"token": self.person.token},
            transports=self.TRANSPORTS[transport], wait_timeout=DEADLINE)  # fmt: skip
        await self.expect("connect")

    async def close(self):
        await self.client.disconnect()

    async def ask(self, event: str, data: dict) -> dict:
        """Sends an event and returns the ack, whatever it contains."""
        return await self.client.call(event, data, timeout=DEADLINE)

    async def do(self, event: str, data: dict) -> dict:
        answer = await self.ask(event, data)
        assert answer["success"] is True, f"{event}: {answer}"
        return answer

    async def do_noting_ack(self, event: str, data: dict):
        """Sends an event; its ack is recorded among the events under the name "ack"."""
        await self.client.emit(event, data, callback=lambda answer: self.hear("ack", answer))

    async def join(self, room: dict) -> dict:
        return (await self.do("room:join", {"roomId": room["id"]}))["room"]

    async def expect(self, event: str, within: float = DEADLINE, **values):
        """Waits for the next such event; each is returned once."""

        async def found():
            while True:
                self.changed.clear()
                for place, (name, data) in enumerate(self.heard):
                    if name == event and all(data.get(key) == value for key, value in values.items()):
                        del self.heard[place]
                        return data
                await self.changed.wait()

        try:
            return await asyncio.wait_for(found(), within)
        except asyncio.TimeoutError:
            raise AssertionError(f"no {event} {values or ''} within {within} s; heard: {self.heard[-20:]}") from None

    def order(self, *events: str) -> list[str]:
        """Returns the recorded events of these names that were not returned yet, in order."""
        return [name for name, _ in self.heard if name in events]


async def eventually(condition, within: float = 15.0):
    """Waits until an async condition is true, and returns its value."""
    loop = asyncio.get_running_loop()
    end = loop.time() + within
    while not (value := await condition()):
        assert loop.time() < end, f"not within {within} s"
        await asyncio.sleep(0.02)
    return value
