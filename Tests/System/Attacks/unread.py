"""Endless requests whose answers nobody reads."""

import itertools

import wire
from attack import Attack, Fate, Target
from swarm import Script, Swarm

SMALL_BUFFER = 4096  # what the attacker's kernel takes of the answers


class Unread(Attack):
    """One connection pipelines requests as fast as the server takes them, and reads none of the answers.

    The server stops taking requests once the answers wait, and cuts the connection off after WRITE_TIMEOUT. It holds a few hundred
    kilobytes for the connection, and nobody notices.
    """

    def __init__(self, name: str, path: str, *, has_token: bool = False, to_operations: bool = False):
        self.name, self.path, self.has_token, self.to_operations = name, path, has_token, to_operations

    def run(self, target: Target, fate: Fate):
        token = target.token if self.has_token else ""
        requests = wire.request("GET", self.path, token=token) * 2000
        script = Script(
            repeat=requests, reads=0, receive_buffer=SMALL_BUFFER, port=target.ops_port if self.to_operations else 0)  # fmt: skip
        Swarm(target, fate, openings=20).run(itertools.repeat(script), 1)


class Trickle(Attack):
    """Fills a connection with requests, then sends one more each 4 s, so that something always happens on it.

    A client that reads nothing gains no time by sending requests: the connection is cut off after WRITE_TIMEOUT all the same.
    """

    name = "trickle"
    seconds = 20

    def run(self, target: Target, fate: Fate):
        one = wire.request("GET", "/metrics")
        script = Script(then=one * 3000, drip=one, every=4, reads=0, receive_buffer=SMALL_BUFFER)
        Swarm(target, fate, openings=20).run(itertools.repeat(script), 1)


ALL = [
    Unread("unread-healthz", "/healthz"),
    Unread("unread-metrics", "/metrics"),
    Unread("unread-401", "/api/users/me"),
    Unread("unread-404", "/nothing/is/here"),
    Unread("unread-handshakes", wire.POLLING),
    Unread("unread-my-rooms", "/api/rooms/my-rooms", has_token=True),
    Unread("unread-operations", "/metrics", to_operations=True),
    Trickle(),
]
