"""A service that is added later (`tally.py`) needs what happened before. It reads the log from its beginning, or a snapshot if the
beginning was deleted. Tests also kill it while it catches up."""

import asyncio
import contextlib
import os
import random
import sqlite3

import pytest
from added_service import AddedServiceWithDatabase
from people import World, eventually

KILLS = int(os.environ.get("TALLY_KILLS", 5))
RIGHTS = {
    "service": "tally", "request": ["messaging.events", "messaging.snapshot"],
    "subscribe": ["messaging.log", "messaging.log.>", "services.announce.messaging"]}  # fmt: skip


class Tally(AddedServiceWithDatabase):
    def __init__(self, parlor):
        super().__init__(parlor, "tally")

    def taken(self) -> list[int]:
        """Returns the entries that it has taken, in that order."""
        return self.column("SELECT seq FROM taken ORDER BY place")


@pytest.fixture
async def world(start_with):
    """A Parlor in which a tally may be added."""
    async with World(start_with(RIGHTS)) as world:
        yield world


@contextlib.contextmanager
def added(parlor):
    tally = Tally(parlor)
    yield tally
    tally.process.kill()


async def counts(person, messages: int) -> bool:
    answer = await person.request("GET", "/api/tally")
    return answer.status_code == 200 and answer.json()["data"] == {"messages": messages}


def log(parlor) -> tuple[int, int]:
    """Returns the numbers of messaging's oldest and newest entry."""
    with contextlib.closing(sqlite3.connect(f"file:{parlor.data}/messaging.db?mode=ro", uri=True)) as db:
        return db.execute("SELECT min(seq), max(seq) FROM events").fetchone()


def prune(parlor) -> int:
    """Deletes all of messaging's log but its newest entry, as after a day, and returns the number of that entry."""
    parlor.stop()
    with contextlib.closing(sqlite3.connect(f"{parlor.data}/messaging.db")) as db, db:
        db.execute("DELETE FROM events WHERE seq < (SELECT max(seq) FROM events)")
    parlor.start_again()
    oldest, newest = log(parlor)
    assert oldest == newest > 1
    return newest


async def delete(person, message: dict):
    await person.data("DELETE", f"/api/rooms/{message['roomId']}/messages/{message['id']}", status=204)


async def test_it_hears_of_all_messages_from_before_it_was_added(world):
    alice, bob, room = await world.pair()
    gone = await alice.send(room, "gone")
    for number in range(4):
        await alice.send(room, f"{number}")
    await bob.send(room, "mine")
    await delete(alice, gone)
    with added(world.parlor) as tally:
        await eventually(lambda: counts(alice, 4))
        assert await counts(bob, 1)
        assert tally.taken() == list(range(1, log(world.parlor)[1] + 1))


async def test_where_the_log_was_pruned_it_begins_with_a_snapshot_and_misses_nothing_however_often_it_is_killed(world):
    alice, bob, room = await world.pair()
    messages = [await alice.send(room, f"{number}") for number in range(150)]
    await delete(alice, messages.pop(0))
    start = prune(world.parlor)
    await eventually(lambda: answers(alice, room))

    async def talk():
        """Sends and deletes, also messages from before."""
        for number in range(40):
            await bob.send(room, f"{number}")
            message = await alice.send(room, "later")
            await delete(alice, messages.pop(0) if number % 2 else message)
            if number % 2:
                messages.append(message)

    with added(world.parlor) as tally:
        talking = asyncio.create_task(talk())
        for _ in range(KILLS):
            await asyncio.sleep(random.uniform(0.0, 0.3))  # a kill at any moment
            tally.process.kill()
            tally.start()
        await talking
        await eventually(lambda: counts(alice, len(messages)))
        await eventually(lambda: counts(bob, 40))
        newest = log(world.parlor)[1]
        await eventually(lambda: asyncio.sleep(0, newest in tally.taken()))
        taken = tally.taken()
        assert taken == list(range(taken[0], newest + 1)), "each once and in order"
        assert taken[0] > start


async def test_after_more_than_a_day_it_catches_up_with_a_snapshot(world):
    alice, bob, room = await world.pair()
    with added(world.parlor) as tally:
        first, second = await alice.send(room, "one"), await alice.send(room, "two")
        await eventually(lambda: counts(alice, 2))
        tally.process.kill()
        await delete(alice, first)
        await bob.send(room, "three")
        end = prune(world.parlor)
        tally.start()
        await eventually(lambda: counts(alice, 1))
        await eventually(lambda: counts(bob, 1))
        await delete(alice, second)
        await eventually(lambda: counts(alice, 0))
        assert tally.taken() == [1, 2, end + 1]


async def answers(person, room: dict) -> bool:
    return (await person.request("GET", f"/api/rooms/{room['id']}/messages")).status_code == 200
