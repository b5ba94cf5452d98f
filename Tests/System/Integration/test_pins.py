"""A service that stores data about elements (`pins.py`): what is deleted while it runs or is down takes its data along."""

import asyncio

import pytest
from added_service import AddedServiceWithDatabase
from people import World, eventually

RIGHTS = {
    "service": "pins", "request": ["rooms.membership", "elements.events", "elements.existing"],
    "subscribe": ["elements.log", "elements.log.>", "services.announce.elements"]}  # fmt: skip


class Pins(AddedServiceWithDatabase):
    def __init__(self, parlor):
        super().__init__(parlor, "pins")

    def pinned(self) -> list[str]:
        return self.column("SELECT element FROM pins ORDER BY rowid")

    async def follows(self):
        """Waits until it has stored a position. It gets no facts about what was deleted before its first one."""
        await eventually(lambda: asyncio.sleep(0, self.column("SELECT place FROM own WHERE place != 'null'")))


@pytest.fixture
async def pinned(start_with):
    """A Parlor with pins, a room, the socket of a person in it, and two pinned elements."""
    parlor = start_with(RIGHTS)
    pins = Pins(parlor)
    async with World(parlor) as world:
        _, bob, room = await world.pair()
        phone = await bob.socket(joined=room)
        elements = [(await phone.do("element:create", {"roomId": room["id"], "type": "note"}))["element"]["id"] for _ in range(2)]
        for element in elements:
            # The gateway may not know the event at first.
            await eventually(lambda element=element: adds_pin(phone, room, element))
        assert pins.pinned() == elements
        await pins.follows()
        yield pins, bob, room, phone, elements
    pins.process.kill()


async def adds_pin(phone, room: dict, element: str) -> bool:
    return (await phone.ask("pin:add", {"roomId": room["id"], "elementId": element}))["success"]


async def test_an_element_deleted_while_the_service_runs_or_is_away_takes_its_pin_along(pinned):
    pins, _, room, phone, (first, second) = pinned
    await phone.do("element:delete", {"roomId": room["id"], "elementId": first})
    await eventually(lambda: asyncio.sleep(0, pins.pinned() == [second]))
    assert not await adds_pin(phone, room, first)
    pins.process.kill()
    await phone.do("element:delete", {"roomId": room["id"], "elementId": second})
    pins.start()
    await eventually(lambda: asyncio.sleep(0, pins.pinned() == []))


async def test_a_board_cleared_while_the_service_is_away_takes_its_pins_along_and_no_others(pinned):
    pins, bob, room, phone, _ = pinned
    [alice] = [person["userId"] for person in room["participants"] if person["userId"] != bob.id]
    other = await bob.post("/api/rooms", {"otherUserId": alice}, 201)
    there = (await phone.do("element:create", {"roomId": other["id"], "type": "note"}))["element"]["id"]
    # The client names the wrong room, which nobody checks.
    assert await adds_pin(phone, room, there)
    pins.process.kill()
    await phone.do("room:clear", {"roomId": room["id"]})
    pins.start()
    await eventually(lambda: asyncio.sleep(0, pins.pinned() == [there]))


async def test_an_element_deleted_in_a_log_that_was_replaced_while_the_service_was_away_takes_its_pin_along(pinned):
    pins, _, room, phone, (first, second) = pinned
    pins.process.kill()
    await phone.do("element:delete", {"roomId": room["id"], "elementId": first})
    pins.execute("UPDATE own SET place = json_set(CAST(place AS TEXT), '$.databaseId', 'another')")
    pins.start()
    await eventually(lambda: asyncio.sleep(0, pins.pinned() == [second]))
