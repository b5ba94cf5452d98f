"""One WebSocket that speaks Socket.IO and waits for its answers."""

import itertools
import json
import time

import wire
from attack import Target

PATIENCE = 5.0  # seconds


class Talk:
    def __init__(self, target: Target, source: str = ""):
        self.socket = target.open(source)
        self.received = bytearray()
        self.acks = itertools.count(1)
        self.socket.sendall(wire.upgrade())
        while wire.HEAD_END not in self.received:
            self.more()
        head, _, rest = bytes(self.received).partition(wire.HEAD_END)
        self.received = bytearray(rest)
        if not head.startswith(b"HTTP/1.1 101"):
            raise ConnectionError(head.split(b"\r\n")[0].decode())

    def more(self):
        if not (data := self.socket.recv(262_144)):
            raise ConnectionError("closed")
        self.received += data

    def send(self, text: str):
        self.socket.sendall(wire.frame(text))

    def until(self, prefix: str, within: float = PATIENCE) -> str:
        """Returns the next message with this beginning."""
        end = time.monotonic() + within
        while True:
            while taken := wire.take_frame(self.received):
                opcode, payload = taken
                if opcode == wire.CLOSE:
                    raise ConnectionError(f"close code {wire.close_code(payload)}")
                if payload == b"2":
                    self.send("3")
                elif payload.startswith(prefix.encode()):
                    return payload.decode()
            if (left := end - time.monotonic()) <= 0:
                raise TimeoutError
            self.socket.settimeout(left)
            self.more()

    def enter(self, token: str, **auth: str) -> bool:
        """Sends CONNECT, and returns whether it was accepted."""
        self.send("40" + json.dumps({"token": token, **auth}))
        return self.until("4").startswith("40")

    def call(self, event: str, content: dict) -> dict:
        """Emits an event, and returns its ack."""
        ack = next(self.acks)
        self.send(f"42{ack}" + json.dumps([event, content]))
        return json.loads(self.until(f"43{ack}[")[len(f"43{ack}") :])[0]

    def is_served(self) -> bool:
        """Whether an event is still answered."""
        try:
            self.call("room:leave", {"roomId": "none"})
        except (TimeoutError, OSError):
            return False
        return True

    def close(self):
        self.socket.close()

    def __enter__(self) -> "Talk":
        return self

    def __exit__(self, *_):
        self.close()


def opens_and_enters(target: Target, token: str) -> bool:
    """Whether a new socket is accepted with the token."""
    try:
        with Talk(target) as talk:
            return talk.enter(token)
    except (OSError, TimeoutError):
        return False
