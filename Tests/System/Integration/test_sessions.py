"""An ended session is refused on every gateway, also on one that missed its end."""

import asyncio
import signal
import time
from types import SimpleNamespace

import pytest
from people import PASSWORD, Person, World

LIMIT = 1.0  # seconds, as the contract has it
SLACK = 0.5  # for a test on a busy machine


@pytest.fixture
async def world(cluster):
    async with World(cluster) as world:
        yield world


@pytest.fixture
async def elsewhere(cluster):
    """The same people at a second gateway."""
    address = cluster.start("parlor-gateway", "--port", 0, "--rate-limits", "off")
    second = cluster.programs.pop("parlor-gateway")
    cluster.programs["parlor-gateway"] = cluster.first
    async with World(SimpleNamespace(address=address)) as world:
        world.program = second
        yield world
    second.signal(signal.SIGCONT)
    assert second.stop() == 0, second.log()


@pytest.fixture(autouse=True)
def keep_first(cluster):
    cluster.first = cluster.programs["parlor-gateway"]


async def tablet_of(alice: Person) -> tuple[Person, str]:
    """Signs the same person in on another device; returns it with the session's id."""
    answer = await alice.world.http.post("/api/auth/login", json={"username": alice.username, "password": PASSWORD})
    assert answer.status_code == 200, answer.text
    tablet = Person(alice.world, alice.username, answer.json()["data"])
    tablet.refresh_token = answer.json()["data"]["refreshToken"]
    (session,) = [s["id"] for s in await tablet.get("/api/auth/sessions") if s["current"]]
    return tablet, session


def at(world: World, person: Person) -> Person:
    """The person at another gateway."""
    grant = {"token": person.token, "user": {"id": person.id}}
    return Person(world, person.username, grant)


async def is_refused(person: Person, since: float):
    """Waits until its token is refused."""
    while (status := (await person.request("GET", "/api/users/me")).status_code) != 401:
        assert status == 200
        assert time.monotonic() - since < LIMIT + SLACK, "the token of an ended session is served"
        await asyncio.sleep(0.01)


async def sign_out(alice: Person, tablet: Person, _: str):
    await tablet.data("POST", "/api/auth/logout", {"refreshToken": tablet.refresh_token}, status=204)


async def use_a_refresh_token_twice(alice: Person, tablet: Person, _: str):
    for status in (200, 401):
        body = {"refreshToken": tablet.refresh_token}
        assert (await alice.world.http.post("/api/auth/refresh", json=body)).status_code == status


async def end_the_session(alice: Person, tablet: Person, session: str):
    await alice.data("DELETE", f"/api/auth/sessions/{session}", status=204)


async def end_all_others(alice: Person, *_):
    await alice.data("DELETE", "/api/auth/sessions", status=204)


async def change_the_password(alice: Person, *_):
    body = {"currentPassword": PASSWORD, "newPassword": "another horse 2"}
    await alice.data("POST", "/api/auth/password", body)


ENDINGS = [sign_out, use_a_refresh_token_twice, end_the_session, end_all_others, change_the_password]


@pytest.mark.parametrize(("end", "transport"), [*((end, "websocket") for end in ENDINGS), (sign_out, "polling")])
async def test_a_session_ends_on_every_gateway(world, elsewhere, end, transport):
    alice = await world.person("alice")
    tablet, session = await tablet_of(alice)
    sockets = [await tablet.socket(transport=transport), await at(elsewhere, tablet).socket(transport=transport)]
    mine = await at(elsewhere, alice).socket(transport=transport)
    await end(alice, tablet, session)
    began = time.monotonic()
    for socket in sockets:
        assert await socket.expect("disconnect", within=LIMIT + SLACK) == "server disconnect"
    for person in (tablet, at(elsewhere, tablet)):
        await is_refused(person, began)
    assert (await mine.ask("room:leave", {"roomId": "x"}))["error"]["code"] == "room_not_found"


async def test_a_gateway_that_was_held_up_catches_up(world, elsewhere):
    alice = await world.person("alice")
    tablet, session = await tablet_of(alice)
    socket = await at(elsewhere, tablet).socket()
    elsewhere.program.signal(signal.SIGSTOP)
    await alice.data("DELETE", f"/api/auth/sessions/{session}", status=204)
    elsewhere.program.signal(signal.SIGCONT)
    began = time.monotonic()
    assert await socket.expect("disconnect", within=LIMIT + SLACK) == "server disconnect"
    await is_refused(at(elsewhere, tablet), began)


async def test_a_gateway_that_starts_later_knows_and_waits_until_it_does(cluster, world):
    alice = await world.person("alice")
    tablet, session = await tablet_of(alice)
    await alice.data("DELETE", f"/api/auth/sessions/{session}", status=204)
    cluster.programs["parlor-accounts"].kill()
    address = cluster.start("parlor-gateway", "--port", 0, "--rate-limits", "off")
    second, cluster.programs["parlor-gateway"] = cluster.programs["parlor-gateway"], cluster.first
    try:
        async with World(SimpleNamespace(address=address)) as later:
            for person in (at(later, tablet), at(later, alice)):
                answer = await person.request("GET", "/api/rooms/my-rooms")
                assert answer.status_code == 503 and answer.headers["Retry-After"], answer.text
            cluster.start("parlor-accounts")
            end = time.monotonic() + 10
            while (status := (await at(later, alice).request("GET", "/api/users/me")).status_code) != 200:
                assert status == 503 and time.monotonic() < end
                await asyncio.sleep(0.02)
            assert (await at(later, tablet).request("GET", "/api/users/me")).status_code == 401
    finally:
        assert second.stop() == 0, second.log()


async def test_the_bus_is_away_in_between(cluster, world, elsewhere):
    """A gateway that returns learns of sessions that ended meanwhile, and of those that end later."""
    alice = await world.person("alice")
    tablet, session = await tablet_of(alice)
    socket = await at(elsewhere, tablet).socket()
    port = cluster.bus.rsplit(":", 1)[1]
    cluster.programs["parlor-bus"].kill()
    cluster.start("parlor-bus", "--port", port)
    cluster.wait_until_ready()
    await alice.data("DELETE", f"/api/auth/sessions/{session}", status=204)
    assert await socket.expect("disconnect", within=5) == "server disconnect"
    await is_refused(at(elsewhere, tablet), time.monotonic())
