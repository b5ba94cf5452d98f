"""The form of an attack: a name, its needs, and the attacker's actions until the time is over."""

import contextlib
import ipaddress
import json
import socket
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import wire

ATTACKERS_ADDRESS = "127.0.0.1"


@dataclass
class Target:
    """The server as the attacker finds it."""

    host: str
    port: int
    ops_port: int
    # Of the attacker's own account.
    token: str
    username: str
    person: str
    # What `Attack.prepare` has made.
    given: dict
    # When the attack ends, on the monotonic clock.
    end: float

    def make_socket(self, source: str = "", receive_buffer: int | None = None) -> socket.socket:
        """A socket that is bound to the attacker's address."""
        assert ipaddress.ip_address(self.host).is_loopback, f"{self.host} is not this machine"
        made = socket.socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET)
        if receive_buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        # The port is chosen when it connects, so that many connections find one.
        made.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24), 1)
        made.bind((source or ("::1" if ":" in self.host else ATTACKERS_ADDRESS), 0))
        return made

    def open(self, source: str = "", timeout: float = 5) -> socket.socket:
        made = self.make_socket(source)
        made.settimeout(timeout)
        made.connect((self.host, self.port))
        return made

    @property
    def left(self) -> float:
        return self.end - time.monotonic()

    def ask(self, request: bytes, opened: socket.socket | None = None, *, source: str = "") -> tuple[int, dict, bytes]:
        """Sends a request and reads its whole answer: status, headers in lower case, body. A status of 0 means that the server closed."""
        used = opened or self.open(source)
        try:
            used.sendall(request)
            received = bytearray()
            while wire.HEAD_END not in received:
                if not (data := used.recv(65536)):
                    return 0, {}, bytes(received)
                received += data
            head, _, body = bytes(received).partition(wire.HEAD_END)
            lines = head.decode("latin1").split("\r\n")
            heads = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            while len(body) < int(heads.get("content-length", 0)):
                if not (data := used.recv(65536)):
                    break
                body += data
            return int(lines[0].split()[1]), heads, body
        finally:
            if opened is None:
                used.close()

    def ask_json(self, method: str, path: str, content: dict | None = None, *, token: str = "", **headers: str):
        body = b"" if content is None else json.dumps(content).encode()
        status, _, answer = self.ask(wire.request(method, path, token=token, body=body, **headers))
        try:
            return status, json.loads(answer) if answer else {}
        except ValueError:
            return status, {}


@dataclass
class Fate:
    """The attacker's results."""

    begun: float
    opened: int = 0
    sent: int = 0
    received: int = 0
    # The most connections that it has held at once.
    held: int = 0
    first_refusal: float | None = None
    ends: Counter = field(default_factory=Counter)
    answers: Counter = field(default_factory=Counter)
    # What an attack wants to say of itself.
    notes: list[str] = field(default_factory=list)
    # What should not have been possible: each breaks a bound.
    found: list[str] = field(default_factory=list)

    def holds(self, count: int):
        self.held = max(self.held, count)

    def refused(self):
        if self.first_refusal is None:
            self.first_refusal = time.monotonic() - self.begun

    def answered(self, status: str):
        self.answers[status] += 1
        if status in ("408", "413", "429", "431", "503"):
            self.refused()

    def ended(self, how: str):
        # An end with an answer is counted among the answers instead.
        if not how.isdigit():
            self.ends[how] += 1
        self.refused()


class Attack:
    """One attack. Its docstring says what it does and what should happen."""

    name = ""
    seconds = 15
    # For the server, beside the default settings.
    flags: tuple[str, ...] = ()
    # The same while the attack is prepared.
    flags_to_prepare: tuple[str, ...] = ()
    # How many descriptors the server may open, where that is not the default.
    descriptors: int | None = None
    # Peers that may join the bus, as deploy/separate takes them. With any, each service is a process of its own.
    peers = ""
    # An attack that goes on from before the calm to the end.
    among = ""
    # Attacks that run at once, each in a process of its own; itself, if empty.
    parts: tuple[str, ...] = ()
    # It takes longer than a minute, and is run with --slow or by its name only.
    is_slow = False

    host = "127.0.0.1"
    victims_address = "127.0.0.2"
    newcomers_addresses = [f"127.0.3.{number}" for number in range(1, 200)]
    # The X-Forwarded-For of those who sign in, from a trusted proxy; N stands for a number.
    sign_ins_forwarded = "10.9.9.N"

    def reason_to_skip(self) -> str | None:
        """Returns the reason why it cannot run here."""
        return None

    def fill(self, data: Path):
        """Changes the data while no server runs."""

    def prepare(self, setup, cast) -> dict:
        """Makes what the attack needs, while nothing is limited; it is then in `Target.given`.

        `sign_ins` in it are usernames: one of them signs in each second while the attack goes on. `asks` are lists of others'
        HTTP requests, by kind: method, path, token and body. Of each kind one is made three times a second, in turn.
        """
        return {}

    def more_flags(self, given: dict) -> list[str]:
        return []

    @contextlib.contextmanager
    def in_front_of(self, server, folder: Path):
        """What stands between everyone and the server; yields its address."""
        yield server.host, server.port

    def get_ready(self, target: Target, fate: Fate):
        """Does what should be done before others are measured."""

    def run(self, target: Target, fate: Fate):
        raise NotImplementedError
