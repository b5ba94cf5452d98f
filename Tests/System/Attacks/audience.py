"""Many people who are connected and do nothing, and somebody who sends among them."""

import itertools

import wire
from attack import Attack, Fate, Target
from holding import open_socket
from logged_in import connected
from swarm import Swarm

SOCKETS = 8000
ACCOUNTS = 20
SENDERS = 10


class Audience(Attack):
    """8,000 sockets of 20 accounts are connected. Each receives an event of each message, as GLOBAL_SCOPE is `everyone`.

    They are there before the attack's time begins. Others' messages are as fast as without them, and no socket is disconnected.
    """

    name = "audience"
    # An account and an address may have more sockets than usual, so that there need not be as many of them.
    flags = (
        "--global-scope", "everyone", "--max-sockets-per-person", str(SOCKETS), "--rate-connects", f"{SOCKETS}/10s,{SOCKETS}/10s",
        "--max-sockets-per-address", str(SOCKETS),
    )  # fmt: skip

    def prepare(self, setup, cast) -> dict:
        return {"audience": [setup.register(f"listener{number}").token for number in range(ACCOUNTS)]}

    def get_ready(self, target: Target, fate: Fate):
        # Reads now and then, without a look at what it reads: it must not need the core that bystanders measure on.
        scripts = [
            open_socket(
                wire.connect(token), pause=0, answer=b"40{", waits_first=True, reads=65_536, reads_every=4, discards=True,
                drip=wire.frame("3"), every=20, source=f"127.0.1.{number + 1}")
            for number, token in enumerate(target.given["audience"])
        ]  # fmt: skip
        self.swarm = Swarm(target, fate, reopens=False, openings=1000)
        self.swarm.run(itertools.cycle(scripts), SOCKETS, until=lambda: self.entered() >= SOCKETS)

    def entered(self) -> int:
        return sum(connection.may_repeat for connection in self.swarm.connections.values())

    def run(self, target: Target, fate: Fate):
        self.swarm.run(iter(()), 0)
        if self.entered() < SOCKETS:
            fate.found.append(f"only {self.entered()} of {SOCKETS} sockets stayed")


class Senders(Attack):
    """Ten accounts at one address send as fast as they may, while 8,000 sockets receive an event of each message.

    What one address sends delays others no more than any other load of one address.
    """

    name = "audience-and-senders"
    among = Audience.name
    flags = Audience.flags

    def prepare(self, setup, cast) -> dict:
        given = Audience().prepare(setup, cast)
        senders = [setup.register(f"sender{number}") for number in range(SENDERS)]
        return {**given, "senders": [(person.token, setup.make_room(person, cast.friend)) for person in senders]}

    def run(self, target: Target, fate: Fate):
        Swarm(target, fate).run(
            itertools.cycle(
                connected(token, repeat=wire.event("message:send", {"roomId": room, "text": "hello"}, ack=1), pause=0, answer=b'"success":')
                for token, room in target.given["senders"]
            ), SENDERS)  # fmt: skip


ALL = [Audience(), Senders()]
