"""The process of those who are not the attacker: victims who chat, newcomers, and people who sign in. Measures until its input ends.

Reads one line of JSON (the plan), writes `ready`, and at the end its samples: when each began on the monotonic clock,
how long it took in seconds, and what failed, if anything did.
"""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
import time

import wire

SENDS_PER_SECOND = 20
NEWCOMERS_EVERY = 0.5
SIGN_INS_EVERY = 1.0
ASKS_EVERY = 0.3
PATIENCE = 10.0  # seconds for an ack, a newcomer or a sign-in; later is a failure


class Gone(Exception):
    pass


class Line:
    """A WebSocket."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.received = bytearray()

    @staticmethod
    async def open(plan, source: str) -> "Line":
        reader, writer = await asyncio.open_connection(plan["host"], plan["port"], local_addr=(source, 0))
        line = Line(reader, writer)
        try:
            writer.write(wire.upgrade())
            while wire.HEAD_END not in line.received:
                await line.more()
            head, _, rest = bytes(line.received).partition(wire.HEAD_END)
            if not head.startswith(b"HTTP/1.1 101"):
                raise Gone(head.split(b"\r\n")[0].decode())
            line.received = bytearray(rest)
        except BaseException:
            writer.transport.abort()
            raise
        return line

    async def more(self):
        data = await self.reader.read(65536)
        if not data:
            raise Gone("hung up")
        self.received += data

    def send(self, text: str):
        self.writer.write(wire.frame(text))

    async def message(self) -> str:
        while True:
            while taken := wire.take_frame(self.received):
                opcode, payload = taken
                if opcode == wire.CLOSE:
                    raise Gone(f"close code {wire.close_code(payload)}")
                if payload == b"2":
                    self.send("3")
                elif opcode == wire.TEXT:
                    return payload.decode()
            await self.more()

    async def enter(self, token: str):
        """CONNECT."""
        self.send("40" + json.dumps({"token": token}))
        while not (message := await self.message()).startswith("40"):
            if message.startswith("44"):
                raise Gone(message)

    def close(self):
        self.writer.transport.abort()


class Victim:
    """Sends messages at a fixed pace, without waiting for answers, and reconnects at once when it is disconnected."""

    def __init__(self, plan, person, samples: list):
        self.plan, self.person, self.samples = plan, person, samples
        self.line: Line | None = None
        self.waiting: dict[int, tuple[float, asyncio.TimerHandle]] = {}
        self.ids = itertools.count(1)
        self.entered = asyncio.Event()

    async def stay(self):
        while True:
            try:
                async with asyncio.timeout(PATIENCE):
                    self.line = await Line.open(self.plan, self.plan["victims_address"])
                    await self.line.enter(self.person["token"])
                    self.line.send("420" + json.dumps(["room:join", {"roomId": self.person["rooms"][0]}]))
                self.entered.set()
                while True:
                    self.take(await self.line.message())
            except (Gone, OSError, TimeoutError) as error:
                for id in list(self.waiting):
                    self.finish(id, f"cut off: {error}")
            finally:
                if self.line:
                    self.line.close()
                self.line = None
            await asyncio.sleep(0.05)

    def take(self, message: str):
        if not message.startswith("43"):
            return
        id, _, answer = message[2:].partition("[")
        answer = json.loads("[" + answer)[0]
        if int(id) in self.waiting:
            self.finish(int(id), None if answer["success"] else answer["error"]["code"])

    async def chat(self, offset: float, every: float):
        await self.entered.wait()
        begin = time.monotonic() + offset
        for number in itertools.count():
            await asyncio.sleep(begin + number * every - time.monotonic())
            id, now = next(self.ids), time.monotonic()
            if self.line is None:
                self.samples.append((now, 0.0, "not connected"))
                continue
            late = asyncio.get_running_loop().call_later(PATIENCE, lambda id=id: self.finish(id, "no answer"))
            self.waiting[id] = now, late
            self.line.send(f"42{id}" + json.dumps(["message:send", {"roomId": self.person["rooms"][0], "text": "hello"}]))

    def finish(self, id: int, failure: str | None):
        if waited := self.waiting.pop(id, None):
            waited[1].cancel()
            self.samples.append((waited[0], time.monotonic() - waited[0], failure))


async def ask(plan, source: str, request: bytes, host: str = "", port: int = 0) -> int:
    """Returns the status of an answer, on a connection of its own."""
    reader, writer = await asyncio.open_connection(host or plan["host"], port or plan["port"], local_addr=(source, 0))
    try:
        writer.write(request)
        head = await reader.readuntil(wire.HEAD_END)
        return int(head.split()[1])
    finally:
        writer.transport.abort()


async def come_in(plan, source: str):
    """Acts as a newcomer: checks whether the server is up, and connects a socket."""
    status = await ask(plan, source, wire.request("GET", "/healthz", Connection="close"))
    if status != 200:
        raise Gone(f"/healthz: {status}")
    line = await Line.open(plan, source)
    try:
        await line.enter(plan["newcomer"]["token"])
    finally:
        line.close()


async def sign_in(plan, number: int):
    person = plan["sign_ins"][number % len(plan["sign_ins"])]
    body = json.dumps({"username": person["username"], "password": person["password"]}).encode()
    status = await ask(
        plan, plan["sign_ins_address"],
        wire.request("POST", "/api/auth/login", body=body, X_Forwarded_For=plan["sign_ins_forwarded"].replace("N", str(number % 250 + 1))),
    )  # fmt: skip
    if status != 200:
        raise Gone(str(status))


async def ask_one_of(plan, requests: list, number: int):
    method, path, token, body = requests[number % len(requests)]
    status = await ask(plan, plan["victims_address"], wire.request(method, path, token=token, body=body.encode()))
    if status >= 300:
        raise Gone(str(status))


async def measured(samples: list, what):
    begin, failure = time.monotonic(), None
    try:
        async with asyncio.timeout(PATIENCE):
            await what
    except TimeoutError:
        failure = "no answer"
    except (Gone, OSError, asyncio.IncompleteReadError) as error:
        failure = str(error)
    samples.append((begin, time.monotonic() - begin, failure))


async def each(every: float, group: asyncio.TaskGroup, samples: list, make):
    begin = time.monotonic()
    for number in itertools.count():
        await asyncio.sleep(begin + number * every - time.monotonic())
        group.create_task(measured(samples, make(number)))


async def main():
    plan = json.loads(sys.stdin.readline())
    samples = {"victims": [], "newcomers": [], "sign_ins": [], "operations": [], "asks": {kind: [] for kind in plan["asks"]}}
    over = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, over.set)
    with contextlib.suppress(asyncio.CancelledError):
        async with asyncio.TaskGroup() as group:
            victims = [Victim(plan, person, samples["victims"]) for person in plan["victims"]]
            tasks = [group.create_task(victim.stay()) for victim in victims]
            for victim in victims:
                await victim.entered.wait()
            every = len(victims) / SENDS_PER_SECOND
            tasks += [group.create_task(victim.chat(number / SENDS_PER_SECOND, every)) for number, victim in enumerate(victims)]
            addresses = plan["newcomers_addresses"]
            tasks.append(group.create_task(each(
                NEWCOMERS_EVERY, group, samples["newcomers"],
                lambda number: come_in(plan, addresses[number % len(addresses)]))))  # fmt: skip
            # The health check of the container.
            tasks.append(group.create_task(each(
                NEWCOMERS_EVERY, group, samples["operations"],
                lambda number: ask(plan, "127.0.0.1", wire.request("GET", "/healthz"), "127.0.0.1", plan["ops_port"]))))  # fmt: skip
            if plan["sign_ins"]:
                tasks.append(group.create_task(each(SIGN_INS_EVERY, group, samples["sign_ins"], lambda number: sign_in(plan, number))))
            for kind, requests in plan["asks"].items():
                tasks.append(group.create_task(each(
                    ASKS_EVERY, group, samples["asks"][kind], lambda number, requests=requests: ask_one_of(plan, requests, number))))  # fmt: skip
            print("ready", flush=True)
            await over.wait()
            for task in tasks:
                task.cancel()
    print(json.dumps(samples), flush=True)
    # Nobody is interested in what is still in progress.
    os._exit(0)


signal.alarm(int(os.environ.get("AT_MOST_SECONDS", "600")))
asyncio.run(main())
