"""A connection to Parlor's bus in Python: to parlor-bus, or over a NATS server. Services/Bus/PROTOCOL.md describes it."""
import json
import math
import os
import secrets
import select
import socket
import sys
import time
from urllib.parse import urlsplit

DEAD = 45  # seconds of silence after which a connection is lost


def encode(value) -> bytes:
    """Raises ValueError for a number that JSON does not have, such as NaN."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def decode(line: bytes) -> dict:
    """Reads a line of any peer, whatever it has. If its `data`, the last member, is not JSON, the line has no `data`."""
    for part in line, line.partition(b',"data":')[0] + b"}":
        try:
            text = part.decode(errors="replace")
            found = json.loads(text, parse_int=integer, parse_float=decimal, parse_constant=decimal)
            if isinstance(found, dict) and "op" in found:
                return found
        except (ValueError, RecursionError):
            pass
    return {"op": "err", "code": "malformed", "message": "a line is not a JSON object"}


def integer(digits: str) -> int | float:
    """An integer that no database has is a float, as in most languages. Python would refuse one of 4,301 digits."""
    return int(digits) if len(digits) < 19 else decimal(digits)


def decimal(digits: str) -> float:
    """Infinity is not JSON, so a number beyond all floats is the largest one: a service can send it on."""
    return max(-sys.float_info.max, min(sys.float_info.max, float(digits)))


def connect(address: str, name: str):
    """Returns a connection that the bus has accepted.

    `address` is tcp://HOST:PORT of parlor-bus, nats://HOST:PORT[/PREFIX], or a file that contains one of these. BUS_TOKEN_FILE
    has the token, if the bus requires one. Both files are read each time, as they change when Parlor starts again."""
    url = address if "://" in address else open(address).read().strip()
    file = os.environ.get("BUS_TOKEN_FILE")
    token, parts = open(file).read().strip() if file else "", urlsplit(url)
    connection = socket.create_connection((parts.hostname, parts.port), timeout=DEAD)
    # A reply follows an event. Without this it waits for the bus's TCP acknowledgement of the event, up to 40 ms.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if parts.scheme == "nats":
        bus = NATSBus(connection, name, token, parts.path.strip("/") or "parlor")
    else:
        bus = LineBus(connection, name, token)
    end = time.monotonic() + 5
    while (line := bus.read(end))["op"] == "ping":
        pass
    if line["op"] not in ("welcome", "pong"):
        reason = line.get("message", "no welcome")
        raise ConnectionError(f"{url} refuses {name} with the token of BUS_TOKEN_FILE ({file}): {reason}")
    bus.url = url
    return bus


class BusGone(ConnectionError):
    """The connection to the bus has ended."""


class Bus:
    """A connection, of one of the two kinds. It raises BusGone if it fails, which a service can tell from its own OSErrors."""

    end = b"\n"  # of a line
    quiet = 15  # seconds between our pings

    def __init__(self, connection: socket.socket):
        self.socket, self.buffer = connection, b""
        self.heard = time.monotonic()
        self.next_ping = self.heard + self.quiet

    def send(self, **line):
        try:
            self.write(**line)
        except OSError as error:
            raise BusGone(error) from error

    def read(self, until: float = math.inf) -> dict:
        """Returns the next line. If there is none, returns {"op": "ping"} after a while, and {"op": "time"} at `until`, a
        time of time.monotonic(). A request has `late`, the time from which nobody waits for its reply."""
        try:
            while not (line := self.receive(min(until, self.next_ping))):
                now = time.monotonic()
                if now >= self.next_ping:
                    self.next_ping = now + self.quiet
                    self.write(op="ping")
                    return {"op": "ping"}
                if now >= until:
                    return {"op": "time"}
        except OSError as error:
            raise BusGone(error) from error
        if "reply" in line:
            timeout = line.get("timeout")
            line["late"] = self.heard + timeout / 1000 if isinstance(timeout, int | float) else math.inf
        return line

    def read_line(self, until: float) -> bytes | None:
        """Returns the next line without its end, or None at that time."""
        while self.end not in self.buffer:
            if not self.fill(until):
                return None
        line, _, self.buffer = self.buffer.partition(self.end)
        return line

    def fill(self, until: float) -> bool:
        now = time.monotonic()
        if not select.select([self.socket], [], [], max(0, min(until, self.heard + DEAD) - now))[0]:
            if time.monotonic() >= self.heard + DEAD:
                raise TimeoutError("the bus is silent")
            return False
        more = self.socket.recv(65536)
        if not more:
            raise ConnectionError("the bus is gone")
        self.buffer, self.heard = self.buffer + more, time.monotonic()
        return True


class LineBus(Bus):
    """parlor-bus: one JSON object a line, both ways; `data` is the last member."""

    def __init__(self, connection: socket.socket, name: str, token: str):
        super().__init__(connection)
        self.send(op="hello", version=1, name=name, token=token)

    def write(self, **line):
        self.socket.sendall(encode(line) + b"\n")

    def receive(self, until: float) -> dict | None:
        text = self.read_line(until)
        line = decode(text) if text else None
        if line and line["op"] == "ping":  # after 15 s of silence
            self.write(op="pong")
        return line


class NATSBus(Bus):
    """The same lines over a NATS server (docs/nats.md): each line is sent as a message, and each message is read as a line."""

    end = b"\r\n"
    quiet = 1

    def __init__(self, connection: socket.socket, name: str, token: str, prefix: str):
        super().__init__(connection)
        self.prefix, self.deadlines = prefix, {}
        self.inbox = f"{prefix}.inbox.{name}.{secrets.token_hex(8)}."
        self.read_line(self.heard + 5)  # INFO
        user = {"user": name, "pass": token} if token else {}
        options = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "name": name, **user}
        self.socket.sendall(b"CONNECT %s\r\nSUB %s* 0\r\nPING\r\n" % (encode(options), self.inbox.encode()))

    def write(self, op, id=0, subject="", data=None, **_):
        if op == "serve":
            self.socket.sendall(f"SUB {self.prefix}.request.{subject} responders {id}\r\n".encode())
        elif op == "sub":
            self.socket.sendall(f"SUB {self.prefix}.event.{subject} {id}\r\n".encode())
        elif op == "ping":
            self.socket.sendall(b"PING\r\n")
        elif op == "pub":
            self.put(f"{self.prefix}.event.{subject}", data)
        elif op == "res":
            self.put(id, {"data": data})
        elif op == "req":
            self.deadlines[str(id)] = time.monotonic() + 5
            self.put(f"{self.prefix}.request.{subject} {self.inbox}{id}", {"timeout": 5000, "data": data})

    def put(self, subjects: str, payload):
        payload = encode(payload)
        self.socket.sendall(b"PUB %s %d\r\n%s\r\n" % (subjects.encode(), len(payload), payload))

    def receive(self, until: float) -> dict | None:
        # NATS does not report that a responder has gone.
        for number, end in self.deadlines.items():
            if end < time.monotonic():
                del self.deadlines[number]
                return {"op": "err", "id": int(number), "code": "deadline_exceeded"}
        line = self.read_line(min([until, *self.deadlines.values()]))
        verb, *words = line.decode(errors="replace").split(" ") if line else [""]
        if verb == "PING":
            self.socket.sendall(b"PONG\r\n")
        if verb == "PONG":
            return {"op": "pong"}
        if verb == "-ERR":
            return {"op": "err", "code": "nats", "message": " ".join(words)}
        if verb not in ("MSG", "HMSG"):
            return None
        size = int(words.pop())
        headers = int(words.pop()) if verb == "HMSG" else 0
        while len(self.buffer) < size + 2:
            self.fill(math.inf)
        payload, self.buffer = self.buffer[headers:size], self.buffer[size + 2 :]
        return self.line(payload, *words)

    def line(self, payload: bytes, subject: str, _: str, reply: str | None = None) -> dict | None:
        if subject.startswith(self.inbox):
            number = subject.removeprefix(self.inbox)
            if not self.deadlines.pop(number, None):
                return None  # too late
            answer = decode(b'{"op":"res",' + payload[1:])
            if "data" in answer:
                return {"op": "res", "id": int(number), "data": answer["data"]}
            # The server's 503 is a header without a payload.
            return {"op": "err", "id": int(number), "code": answer.get("error", "malformed" if payload else "no_responders")}
        _, kind, subject = subject.removeprefix(self.prefix).split(".", 2)
        if kind == "request" and reply:
            return {**decode(b'{"op":"msg",' + payload[1:]), "op": "msg", "subject": subject, "reply": reply}
        event = decode(b'{"op":"msg","data":' + payload + b"}")
        return {"op": "msg", "subject": subject} | ({"data": event["data"]} if "data" in event else {})
