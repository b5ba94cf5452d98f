"""Presence and typing over two gateways, one of which dies, is held up, or is cut off from the bus."""

import asyncio
import signal
from types import SimpleNamespace

import pytest
from people import Person, Socket, World

LIMIT = 3.0  # seconds after its last word, as docs/guarantees.md has it
SLACK = 0.5  # for a test on a busy machine


@pytest.fixture
async def world(cluster):
    async with World(cluster) as world:
        yield world


@pytest.fixture
async def elsewhere(cluster):
    """The same people at a second gateway."""
    first = cluster.programs["parlor-gateway"]
    address = cluster.start("parlor-gateway", "--port", 0, "--rate-limits", "off")
    second, cluster.programs["parlor-gateway"] = cluster.programs["parlor-gateway"], first
    async with World(SimpleNamespace(address=address)) as world:
        world.program = second
        yield world
    second.signal(signal.SIGCONT)
    second.stop()


class Scene:
    """Puts Alice at the first gateway and Bob at the second into a room; Bob types."""

    def __init__(self, alice: Person, bob: Person, room: dict, laptop: Socket, phone: Socket):
        self.alice, self.bob, self.room, self.laptop, self.phone = alice, bob, room, laptop, phone

    @classmethod
    async def begin(cls, world: World, elsewhere: World) -> "Scene":
        alice, bob, room = await world.pair()
        there = Person(elsewhere, bob.username, {"token": bob.token, "user": {"id": bob.id}})
        scene = cls(alice, bob, room, await alice.socket(joined=room), await there.socket(joined=room))
        await scene.sees(present=True, within=5)
        await scene.phone.do("message:typing", {"roomId": room["id"], "isTyping": True})
        await scene.sees(typing=True, within=5)
        return scene

    async def sees(self, within: float, **expected: bool):
        """Waits for the events about Bob that Alice is sent, and checks their values."""
        for name, value in expected.items():
            event, flag = {"present": ("room:presence", "isPresent"), "typing": ("message:typing", "isTyping")}[name]
            assert (await self.laptop.expect(event, within, userId=self.bob.id))[flag] is value

    async def badge_after_an_element(self) -> int:
        await self.alice.post(f"/api/rooms/{self.room['id']}/elements", {"type": "note"}, 201)
        return (await self.bob.view(self.room))["badges"]["elements"]


async def test_what_a_gateway_held_ends_when_it_is_killed(world, elsewhere):
    scene = await Scene.begin(world, elsewhere)
    assert await scene.badge_after_an_element() == 0
    elsewhere.program.kill()
    await scene.sees(typing=False, present=False, within=LIMIT + SLACK)
    await asyncio.sleep(SLACK)
    assert await scene.badge_after_an_element() == 1, "elements keeps the room open for a dead gateway"


async def test_a_gateway_that_was_held_up_is_back_with_all_it_holds(world, elsewhere):
    scene = await Scene.begin(world, elsewhere)
    elsewhere.program.signal(signal.SIGSTOP)
    await scene.sees(typing=False, present=False, within=LIMIT + SLACK)
    await asyncio.sleep(SLACK)
    assert await scene.badge_after_an_element() == 1
    elsewhere.program.signal(signal.SIGCONT)
    await scene.sees(present=True, within=5)
    await asyncio.sleep(1)
    assert await scene.badge_after_an_element() == 0, "elements was not notified again"


async def test_nobody_leaves_and_nobody_types_for_ever_while_the_bus_is_away(cluster, world, elsewhere):
    scene = await Scene.begin(world, elsewhere)
    port = cluster.bus.rsplit(":", 1)[1]
    cluster.programs["parlor-bus"].kill()
    await scene.sees(typing=False, within=LIMIT + SLACK)
    await asyncio.sleep(1)
    cluster.start("parlor-bus", "--port", port)
    cluster.wait_until_ready()
    await asyncio.sleep(LIMIT + SLACK)
    assert not [data for name, data in scene.laptop.heard if name == "room:presence" and data["userId"] == scene.bob.id]
    assert await scene.badge_after_an_element() == 0
    await scene.phone.do("room:leave", {"roomId": scene.room["id"]})
    await scene.sees(present=False, within=5)


async def test_a_join_that_keeps_unseen_leaves_the_elements_badge_alone_until_a_join_that_does_not(world):
    alice, bob, room = await world.pair()
    laptop, phone = await alice.socket(joined=room), await bob.socket()
    badge = Scene(alice, bob, room, laptop, phone).badge_after_an_element
    assert await badge() == 1
    joined = await phone.do("room:join", {"roomId": room["id"], "keepUnseen": True})
    assert joined["room"]["badges"]["elements"] == 1
    assert (await laptop.expect("room:presence", 5, userId=bob.id))["isPresent"] is True
    assert await badge() == 2, "an element of a board that nobody looks at counts"
    assert (await phone.join(room))["badges"]["elements"] == 0
    assert await badge() == 0
    await phone.do("room:join", {"roomId": room["id"], "keepUnseen": True})
    assert await badge() == 1
    refused = await phone.ask("room:join", {"roomId": room["id"], "keepUnseen": 1})
    assert refused["error"]["code"] == "malformed_request"
