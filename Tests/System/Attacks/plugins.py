"""A service of somebody else's that floods the bus. It has a token for the bus, and no right beyond its own subjects."""

import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path

from attack import Attack, Fate, Target
from server import bus_port
from swarm import Script, Swarm

NAME = "evil"
TO_RECONNECT = 1.0  # seconds
MANIFEST = {"service": NAME, "routes": [], "socketEvents": [], "hasEventLog": True, "logsWhatRoomsShow": True}


def line(op: str, **members) -> bytes:
    return json.dumps({"op": op, **members}, separators=(",", ":")).encode() + b"\n"


def announcement(database: str) -> bytes:
    head = {"databaseId": database, "seq": 0, "digest": 0}
    return line("pub", subject=f"services.announce.{NAME}", data={"manifest": MANIFEST, "head": head})


def entry(seq: int) -> bytes:
    emission = {"to": "everyone", "event": f"{NAME}:x", "data": {"x": "y" * 100}}
    return line("pub", subject=f"{NAME}.log", data={
        "seq": seq, "at": int(time.time() * 1000), "roomId": "", "participants": [], "emissions": [emission]})  # fmt: skip


class Flood(Attack):
    """A service publishes as fast as the bus takes it, and reads what it gets. It connects again when it is disconnected.

    Gateways take a bounded number of its announcements and of its events, and close no socket for it.
    """

    peers = json.dumps({"service": NAME})

    def __init__(self, name: str, repeat: Callable[[], bytes], databases: tuple[str, ...] = ("d",)):
        self.name, self.repeat, self.databases = name, repeat, databases

    def get_ready(self, target: Target, fate: Fate):
        data = Path(target.given["data"])
        self.port = bus_port(data)
        self.hello = line("hello", version=1, name=NAME, token=(data / f"bus/{NAME}.token").read_text().strip())
        with target.make_socket() as bus:
            bus.connect((target.host, self.port))
            bus.sendall(self.hello)
            for database in self.databases:
                bus.sendall(announcement(database))
                time.sleep(TO_RECONNECT)

    def run(self, target: Target, fate: Fate):
        serve = line("serve", id=1, subject=f"{NAME}.>", queue=NAME)
        script = Script(opening=self.hello, awaits=b'"welcome"', then=serve, repeat=self.repeat, port=self.port)
        Swarm(target, fate, openings=20).run(itertools.repeat(script), 1)


class Databases(Flood):
    """A service announces another database again and again, as if its log was replaced each time.

    A replaced log closes all sockets, so a service can do that once in ten minutes. It has done so before the attack's time begins.
    """


def entries() -> Callable[[], bytes]:
    numbers = itertools.count(1)
    return lambda: b"".join(entry(next(numbers)) for _ in range(50))


def databases() -> Callable[[], bytes]:
    numbers = itertools.count(1)
    return lambda: b"".join(announcement(f"d{next(numbers)}") for _ in range(50))


ALL = [
    Flood("announcements", lambda: announcement("d") * 50),
    Flood("entries-to-everyone", entries()),
    Databases("other-databases", databases(), ("d", "d0")),
]
