"""All that one address can do at once."""

from attack import Attack


class Everything(Attack):
    """One address pipelines without reading, holds what it can, polls, and sends before CONNECT, each from a process of its own.

    What each may take of the server counts for all together, as it is counted by address: nobody else notices.
    """

    name = "everything"
    seconds = 20
    parts = (
        "unread-metrics", "unread-handshakes", "idle-3000", "slow-heads", "half-bodies", "half-messages-60k", "handshakes-31k",
        "tiny-packets", "placeholders", "pings-20-unread",
    )  # fmt: skip


ALL = [Everything()]
