"""parlor-push is killed again and again while messages are sent: every person is notified of each message exactly once."""

import asyncio
import collections
import random
import secrets

import pytest
from apns import Apple
from parlor import Cluster
from people import World
from pushes import jobs, register

KILLS, MESSAGES, PAIRS, DEVICES = 40, 2000, 10, 2
LIVES = (0.2, 2.6)  # seconds: push needs one second to learn who has which room open


@pytest.mark.timeout(300)
async def test_every_device_gets_every_message_and_shows_it_once(tmp_path):
    chance = random.Random(2026)
    with Apple(tmp_path / "apple", latency=0.05) as apple:
        cluster = Cluster(tmp_path / "data")
        try:
            flags = ["--push-hold", "0", *apple.settings()]
            assert cluster.programs["parlor-push"].stop() == 0
            cluster.start("parlor-push", *flags)
            async with World(cluster) as world:
                pairs = [await world.pair() for _ in range(PAIRS)]
                devices = [[await register(bob) for _ in range(DEVICES)] for _, bob, _ in pairs]
                killing = asyncio.Event()
                sent = await asyncio.gather(
                    *(send(ada, room, killing) for ada, _, room in pairs),
                    kill(cluster, flags, chance, killing),
                )
                expected = {
                    (token, message) for tokens, ids in zip(devices, sent) for token in tokens for message in ids
                }
                assert len(expected) == MESSAGES * DEVICES
                for _ in range(1200):
                    if jobs(cluster) == 0 and expected <= {key(arrival) for arrival in list(apple.arrivals)}:
                        break
                    await asyncio.sleep(0.05)
        finally:
            cluster.stop()
        attempts = collections.Counter(key(arrival) for arrival in apple.arrivals)
        shown = collections.defaultdict(set)
        for arrival in apple.arrivals:
            shown[key(arrival)].add(arrival.headers["apns-id"])
        print(f"{len(expected)} notifications, {attempts.total()} attempts, {apple.connections} connections")
        assert set(attempts) == expected
        assert all(len(ids) == 1 for ids in shown.values()), "each attempt has the first one's id, and takes its place"


def key(arrival) -> tuple[str, str]:
    return arrival.token, arrival.headers["apns-collapse-id"]


async def send(person, room: dict, killing: asyncio.Event) -> list[str]:
    """Spreads the sends over the time of the kills. Those that are left then follow without pauses."""
    ids = []
    for number in range(MESSAGES // PAIRS):
        ids.append((await person.send(room, f"{number} {secrets.token_hex(8)}"))["id"])
        if not killing.is_set():
            await asyncio.sleep(KILLS * sum(LIVES) / 2 / (MESSAGES / PAIRS))
    return ids


async def kill(cluster: Cluster, flags: list[str], chance: random.Random, over: asyncio.Event):
    for _ in range(KILLS):
        await asyncio.sleep(chance.uniform(*LIVES))
        cluster.programs["parlor-push"].kill()
        await asyncio.to_thread(cluster.start, "parlor-push", *flags)
    over.set()
