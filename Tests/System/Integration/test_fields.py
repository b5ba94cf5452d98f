"""A service that adds fields to messages and people (`stars.py`), used through a real gateway, and killed."""

import asyncio
import contextlib
import sqlite3

import pytest
from added_service import AddedServiceWithDatabase
from people import World, eventually

RIGHTS = {
    "service": "stars", "request": ["rooms.membership", "messaging.events", "messaging.existing"],
    "subscribe": ["messaging.log", "messaging.log.>", "services.announce.messaging"]}  # fmt: skip


class Stars(AddedServiceWithDatabase):
    def __init__(self, parlor):
        super().__init__(parlor, "stars")

    def starred(self) -> list[str]:
        """Returns the messages that it has stars of."""
        return self.column("SELECT message FROM stars")


@pytest.fixture
async def starred(start_with):
    """A Parlor with stars, and two people with a room."""
    parlor = start_with(RIGHTS)
    stars = Stars(parlor)
    async with World(parlor) as world:
        alice, bob, room = await world.pair()
        await eventually(lambda: shows_stars(alice))
        yield stars, alice, bob, room
    stars.process.kill()


async def shows_stars(person) -> bool:
    return "starsGiven" in await person.get("/api/users/me")


async def adds_star(phone, message: dict) -> bool:
    return (await phone.ask("star:add", {"roomId": message["roomId"], "messageId": message["id"]}))["success"]


async def stars_of(person, path: str) -> list[tuple[str, int, bool]]:
    return [(message["text"], message["stars"], message["isStarred"]) for message in await person.get(path)]


async def test_messages_and_people_have_the_fields_wherever_they_are_listed(starred):
    _, alice, bob, room = starred
    first, _ = await alice.send(room, "one"), await alice.send(room, "two")
    page, conversation = f"/api/rooms/{room['id']}/messages", f"/api/users/{alice.id}/messages"
    assert await stars_of(bob, page) == [("one", 0, False), ("two", 0, False)]
    phone, other = await bob.socket(joined=room), await alice.socket(joined=room)
    await phone.do("star:add", {"roomId": room["id"], "messageId": first["id"]})
    # The ack came after the entry was fanned out, so what was cached is stale by then.
    assert await stars_of(bob, page) == await stars_of(bob, conversation) == [("one", 1, True), ("two", 0, False)]
    await other.expect("star:added")
    assert await stars_of(alice, page) == [("one", 1, False), ("two", 0, False)]
    assert (await bob.get("/api/users/me"))["starsGiven"] == 1
    assert (await alice.get("/api/users/me"))["starsGiven"] == 0
    grouped = await alice.get("/api/rooms/grouped-by-person")
    assert [(person["id"], person["starsGiven"]) for person in grouped] == [(bob.id, 1)]
    stranger = await alice.world.person("carol")
    listed = {person["id"]: person["starsGiven"] for person in await stranger.get("/api/users/without-rooms?limit=200")}
    assert (listed[alice.id], listed[bob.id]) == (0, 1)


async def test_only_a_message_of_the_room_that_was_not_deleted_can_have_a_star(starred):
    stars, alice, bob, room = starred
    here, gone = await alice.send(room, "here"), await alice.send(room, "gone")
    await alice.data("DELETE", f"/api/rooms/{room['id']}/messages/{gone['id']}", status=204)
    other = await alice.post("/api/rooms", {"otherUserId": bob.id}, 201)
    there = await alice.send(other, "there")
    phone = await bob.socket(joined=room)
    for message in (gone, there):
        answer = await phone.ask("star:add", {"roomId": room["id"], "messageId": message["id"]})
        assert answer["error"]["code"] == "message_not_found", answer
    await phone.do("star:add", {"roomId": room["id"], "messageId": here["id"]})
    assert stars.starred() == [here["id"]]


async def test_a_message_deleted_while_the_service_runs_or_is_away_takes_its_stars_along(starred):
    stars, alice, bob, room = starred
    messages = [await alice.send(room, f"{number}") for number in range(3)]
    phone = await bob.socket(joined=room)
    for message in messages:
        await phone.do("star:add", {"roomId": room["id"], "messageId": message["id"]})
    assert (await bob.get("/api/users/me"))["starsGiven"] == 3

    async def has_given(count: int) -> bool:
        return (await bob.get("/api/users/me"))["starsGiven"] == count

    await alice.data("DELETE", f"/api/rooms/{room['id']}/messages/{messages[0]['id']}", status=204)
    await eventually(lambda: has_given(2))
    stars.process.kill()
    await alice.data("DELETE", f"/api/rooms/{room['id']}/messages/{messages[1]['id']}", status=204)
    stars.start()
    await eventually(lambda: has_given(1))
    assert stars.starred() == [messages[2]["id"]]


async def test_a_message_deleted_in_a_log_that_was_replaced_while_the_service_was_away_takes_its_stars_along(starred):
    stars, alice, bob, room = starred
    kept, gone = await alice.send(room, "kept"), await alice.send(room, "gone")
    phone = await bob.socket(joined=room)
    for message in (kept, gone):
        await phone.do("star:add", {"roomId": room["id"], "messageId": message["id"]})
    stars.process.kill()
    await alice.data("DELETE", f"/api/rooms/{room['id']}/messages/{gone['id']}", status=204)
    with contextlib.closing(sqlite3.connect(stars.database)) as db:
        db.executescript("UPDATE own SET place = json_set(CAST(place AS TEXT), '$.databaseId', 'another')")
    stars.start()
    await eventually(lambda: asyncio.sleep(0, stars.starred() == [kept["id"]]))


async def test_while_the_service_is_away_the_last_known_values_stand_in(starred):
    stars, alice, bob, room = starred
    first = await alice.send(room, "one")
    page = f"/api/rooms/{room['id']}/messages"
    phone = await bob.socket(joined=room)
    await phone.do("star:add", {"roomId": room["id"], "messageId": first["id"]})
    assert await stars_of(bob, page) == [("one", 1, True)]
    stars.process.kill()
    await alice.send(room, "two")
    answer = (await bob.request("GET", page)).json()
    assert answer["degraded"] == ["stars"]
    assert [(message["stars"], message["isStarred"]) for message in answer["data"]] == [(1, True), (0, False)]
    stars.start()
    # The bus may not know the new instance at once.
    await eventually(lambda: adds_star(phone, answer["data"][1]))
    answer = (await bob.request("GET", page)).json()
    assert "degraded" not in answer
    assert [(message["stars"], message["isStarred"]) for message in answer["data"]] == [(1, True), (1, True)]
