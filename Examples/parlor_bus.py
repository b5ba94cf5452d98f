"""A connection to Parlor's bus in Python: to parlor-bus, or over a NATS server. Services/Bus/PROTOCOL.md describes it."""
import itertools
import json
import os
import secrets
import socket
import time
from urllib.parse import urlsplit


def encode(value) -> bytes:
    """Raises ValueError for a number that JSON does not have, such as NaN."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def connect(url: str, name: str):
    """tcp://HOST:PORT of parlor-bus, or nats://HOST:PORT[/PREFIX]. BUS_TOKEN_FILE has the token, if the bus requires one."""
    parts = urlsplit(url)
    token = open(os.environ["BUS_TOKEN_FILE"]).read().strip() if os.environ.get("BUS_TOKEN_FILE") else ""
    connection = socket.create_connection((parts.hostname, parts.port), timeout=45)
    # A reply follows an event. Without this it waits for the bus's TCP acknowledgement of the event, up to 40 ms.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if parts.scheme == "nats":
        return NATSBus(connection, name, token, parts.path.strip("/") or "parlor")
    return LineBus(connection, name, token)


class BusGone(ConnectionError):
    """The connection to the bus has ended, or the bus has refused it."""


class Bus:
    """A connection, of one of the two kinds. It raises BusGone if it fails, which a service can tell from its own OSErrors."""

    def send(self, **line):
        try:
            self.write(**line)
        except OSError as error:
            raise BusGone(error) from error

    def read(self) -> dict:
        try:
            return self.receive()
        except OSError as error:
            raise BusGone(error) from error


class LineBus(Bus):
    """parlor-bus: one JSON object a line, both ways; `data` is the last member."""

    def __init__(self, connection: socket.socket, name: str, token: str):
        self.socket, self.lines = connection, connection.makefile("rb")
        self.send(op="hello", version=1, name=name, token=token)

    def write(self, **line):
        self.socket.sendall(encode(line) + b"\n")

    def receive(self) -> dict:
        text = self.lines.readline()
        if not text.endswith(b"\n"):  # nothing, or the beginning of a line that the bus did not finish
            raise ConnectionError("the bus is gone")
        line = json.loads(text)
        if line["op"] == "err" and "id" not in line:
            raise ConnectionError(line["message"])
        if line["op"] == "ping":  # after 15 s of silence
            self.send(op="pong")
        return line


class NATSBus(Bus):
    """The same lines over a NATS server (docs/nats.md): each line is sent as a message, and each message is read as a line."""

    def __init__(self, connection: socket.socket, name: str, token: str, prefix: str):
        self.socket, self.prefix, self.buffer = connection, prefix, b""
        self.inbox = f"{prefix}.inbox.{name}.{secrets.token_hex(8)}."
        self.deadlines, self.replies, self.silence = {}, {}, 0
        self.socket.settimeout(1)
        self.read_line()  # INFO
        user = {"user": name, "pass": token} if token else {}
        options = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "name": name, **user}
        self.socket.sendall(b"CONNECT %s\r\nSUB %s* 0\r\n" % (encode(options), self.inbox.encode()))

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
            self.put(self.replies.pop(id), {"data": data})
        elif op == "req":
            self.deadlines[id] = time.monotonic() + 5
            self.put(f"{self.prefix}.request.{subject} {self.inbox}{id}", {"timeout": 5000, "data": data})

    def put(self, subjects: str, payload):
        payload = encode(payload)
        self.socket.sendall(b"PUB %s %d\r\n%s\r\n" % (subjects.encode(), len(payload), payload))

    def receive(self) -> dict:
        while True:
            # NATS does not report that a responder has gone.
            for number, end in self.deadlines.items():
                if end < time.monotonic():
                    del self.deadlines[number]
                    return {"op": "err", "id": number, "code": "deadline_exceeded"}
            line = self.read_line()
            verb, *words = line.split() if line else ["silence"]
            if verb == "silence" or verb == "PING":
                self.socket.sendall(b"PING\r\n" if verb == "silence" else b"PONG\r\n")
                return {"op": "ping"}
            if verb == "PONG":
                return {"op": "pong"}
            if verb == "-ERR":
                raise ConnectionError(line)
            if verb in ("MSG", "HMSG"):
                size = int(words.pop())
                headers = int(words.pop()) if verb == "HMSG" else 0
                payload = self.read_bytes(size + 2)[headers:-2]
                return self.line(verb, words, payload)

    def line(self, verb: str, words: list[str], payload: bytes) -> dict:
        subject, _, *reply = words
        if subject.startswith(self.inbox):
            number = int(subject.removeprefix(self.inbox))
            self.deadlines.pop(number, None)
            if verb == "HMSG":  # the server's 503
                return {"op": "err", "id": number, "code": "no_responders"}
            answer = json.loads(payload)
            return {"op": "res" if "data" in answer else "err", "id": number, **answer}
        _, kind, subject = subject.removeprefix(self.prefix).split(".", 2)
        if kind == "event":
            return {"op": "msg", "subject": subject, "data": json.loads(payload)}
        number = next(self.numbers)
        self.replies[number] = reply[0]
        return {"op": "msg", "reply": number, "subject": subject, **json.loads(payload)}

    numbers = itertools.count(1)

    def read_line(self) -> str:
        """Returns the next line without its end; an empty string after a second of silence."""
        while b"\r\n" not in self.buffer:
            if not self.fill():
                return ""
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line.decode()

    def read_bytes(self, count: int) -> bytes:
        while len(self.buffer) < count:
            self.fill()
        found, self.buffer = self.buffer[:count], self.buffer[count:]
        return found

    def fill(self) -> bool:
        try:
            more = self.socket.recv(65536)
        except TimeoutError:
            self.silence += 1
            if self.silence > 15:
                raise
            return False
        if not more:
            raise ConnectionError("the server is gone")
        self.buffer, self.silence = self.buffer + more, 0
        return True
