"""Long-polling sockets without CONNECT, and what can be done with them."""

import itertools
import json

import wire
from attack import Attack, Fate, Target
from swarm import Script, Swarm


class Handshakes(Attack):
    """Makes polling sockets as fast as it can, pipelined on a few connections whose answers it reads.

    Each lives for 45 s without a CONNECT. An address that has its share of them gets 429. If it sends more requests than its limit
    allows, its connections are closed.
    """

    def __init__(self, name: str, request: bytes, count: int = 4):
        self.name, self.request, self.count = name, request, count

    def run(self, target: Target, fate: Fate):
        Swarm(target, fate, openings=200).run(itertools.repeat(Script(repeat=self.request * 20)), self.count)


class HeldPolls(Attack):
    """Makes polling sockets, and leaves a GET waiting on each, on a connection of its own.

    They count as sockets without CONNECT, and end when the time for CONNECT is over.
    """

    name = "held-polls"

    def run(self, target: Target, fate: Fate):
        opened = target.open()

        def scripts():
            nonlocal opened
            while True:
                try:
                    status, _, body = target.ask(wire.request("GET", wire.POLLING), opened)
                except OSError:
                    status = 0
                if status != 200:
                    opened.close()
                    opened = target.open()
                fate.answered(str(status))
                id = json.loads(body[1:])["sid"] if status == 200 else "none"
                yield Script(then=wire.request("GET", f"{wire.POLLING}&sid={id}"))

        Swarm(target, fate, openings=500).run(scripts(), 1000)


class TinyPackets(Attack):
    """POSTs of 4,096 empty packets each to polling sockets that have not connected.

    A socket that has not connected may send 64 messages, and as many packets in a POST. Then it is closed, and its POSTs
    are refused.
    """

    def __init__(self, name: str, packet: bytes):
        self.name, self.packet = name, packet

    def run(self, target: Target, fate: Fate):
        body = b"\x1e".join([self.packet] * 4096)
        opened = target.open()
        while target.left > 0:
            try:
                status, _, answer = target.ask(wire.request("GET", wire.POLLING), opened)
                fate.answered(str(status))
                fate.opened += 1
                id = json.loads(answer[1:])["sid"] if status == 200 else "none"
                for _ in range(20):
                    status, _, _ = target.ask(wire.request("POST", f"{wire.POLLING}&sid={id}", body=body), opened)
                    fate.answered(str(status))
                    fate.sent += len(body)
                    if status != 200:
                        fate.ended(str(status))
                        break
                if status == 0:
                    raise ConnectionError
            except (OSError, ValueError):
                fate.ended("closed")
                opened.close()
                opened = target.open()


FAT = wire.request("GET", f"{wire.POLLING}&x={'a' * 7000}", Authorization="b" * 24_000)

ALL = [
    Handshakes("handshakes", wire.request("GET", wire.POLLING)),
    Handshakes("handshakes-31k", FAT),
    HeldPolls(),
    TinyPackets("tiny-packets", b"4"),
    TinyPackets("tiny-pongs", b"3"),
]
