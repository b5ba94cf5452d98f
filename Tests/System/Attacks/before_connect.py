"""Attacks by a WebSocket that has not connected to a namespace."""

import itertools

import wire
from attack import Attack, Fate, Target
from holding import open_socket
from swarm import Swarm


def placeholders(levels: int = 28) -> bytes:
    """A binary packet whose placeholders lie deep in a large array."""
    inner = "[" + "1," * 480_000 + "1]"
    return wire.frame('451-["x",' + '{"a":' * levels + inner + "}" * levels + "]") + wire.frame(b"x", wire.BINARY)


class BeforeConnect(Attack):
    """WebSockets that never connect send as fast as the server takes it; closed ones are reopened.

    Before CONNECT a socket may send 64 messages of 64 KiB, pings among them. Anything beyond that closes the socket,
    and costs next to nothing.
    """

    def __init__(self, name: str, count: int, repeat: bytes, *, reads: int | None = None):
        self.name, self.count, self.repeat, self.reads = name, count, repeat, reads

    def run(self, target: Target, fate: Fate):
        buffer = 2048 if self.reads == 0 else None
        Swarm(target, fate, openings=500).run(
            (open_socket(repeat=self.repeat, reads=self.reads, receive_buffer=buffer) for _ in itertools.count()), self.count)  # fmt: skip


PINGS = wire.frame(b"", wire.PING) * 20_000

ALL = [
    BeforeConnect("placeholders", 1, placeholders()),
    BeforeConnect("pings-20-unread", 20, PINGS, reads=0),
    BeforeConnect("pings-500-unread", 500, PINGS, reads=0),
    BeforeConnect("pings-20-read", 20, PINGS),
    BeforeConnect("tiny-messages", 20, wire.frame("4") * 5000),
    BeforeConnect("events-before-connect", 20, wire.frame('42["x"]') * 5000),
    BeforeConnect("large-messages", 20, wire.frame("4" + "x" * 990_000)),
    BeforeConnect("wrong-tokens", 20, wire.frame('40{"token":"x"}') * 1000),
]
