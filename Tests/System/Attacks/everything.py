"""All of one address' attacks at once."""

from attack import Attack


class Everything(Attack):
    """One address does the worst of each family at once, each from a process of its own.

    The limits count by address or by person. So all attacks together may take no more than one of them, and nobody
    else notices.
    """

    def __init__(self, name: str, *parts: str):
        self.name, self.parts, self.seconds = name, parts, 20


ALL = [
    Everything(
        "everything", "unread-metrics", "unread-handshakes", "idle-3000", "slow-heads", "half-bodies", "half-messages-60k", "handshakes-31k",
        "tiny-packets", "placeholders", "pings-20-unread", "chunks-of-1", "absurd-heads", "expect-continue-large", "long-accept-encoding-31k"),
    Everything(
        "everything-logged-in", "lists-unread", "conversation", "replays-pipelined", "elements", "long-bodies", "deep-events",
        "busy-room-unread", "sockets-1500", "typing", "polling-unread"),
]  # fmt: skip
