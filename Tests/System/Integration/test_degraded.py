"""Separate processes: one fails, the others continue, and it returns."""

import resource
import time

import pytest
from parlor import ask_readiness, until
from people import World, eventually

AT_ONCE = 2.0  # seconds: a gateway knows that nobody answers, and does not wait for the 5 s that a request may take


@pytest.fixture
async def world(cluster):
    async with World(cluster) as world:
        yield world


# What each service does for a person: a request, and its body.
CALLS = {
    "parlor-accounts": ("GET", "/api/users/without-rooms", None),
    "parlor-rooms": ("GET", "/api/rooms/{room}", None),
    "parlor-messaging": ("POST", "/api/rooms/{room}/messages", {"text": "hello"}),
    "parlor-elements": ("POST", "/api/rooms/{room}/elements", {"type": "note"}),
    "parlor-push": ("POST", "/api/devices", {"token": "ab12", "platform": "ios", "environment": "sandbox"}),
}
# Without it nobody is woken, but all else works, so readiness does not wait for it.
NOT_REQUIRED = ["parlor-push"]
EVENTS = {
    "parlor-messaging": ("message:send", {"text": "hello"}),
    "parlor-elements": ("element:create", {"type": "note"}),
}


@pytest.mark.parametrize("name", CALLS)
async def test_a_service_that_is_away_is_said_at_once_and_comes_back(cluster, world, name):
    alice, _, room = await world.pair()
    laptop = await alice.socket(joined=room)
    method, path, body = CALLS[name]
    cluster.programs[name].kill()

    async def refuses():
        began = time.monotonic()
        answer = await alice.request(method, path.format(room=room["id"]), body)
        assert time.monotonic() - began < AT_ONCE
        return answer

    answer = await refuses()
    assert answer.status_code == 503 and answer.headers["Retry-After"].isdigit(), answer.text
    assert answer.json()["error"]["code"] == "service_unavailable"
    if name in EVENTS:
        event, data = EVENTS[name]
        refused = (await laptop.ask(event, {"roomId": room["id"], **data}))["error"]
        assert (refused["code"], refused["retryable"]) == ("service_unavailable", True)
    if name in NOT_REQUIRED:
        assert ask_readiness(cluster.address)[0] == 200
    else:
        until(lambda: ask_readiness(cluster.address)[0] == 503, what="a readiness that says so")
        assert ask_readiness(cluster.address)[1][name.removeprefix("parlor-")] != "up"

    cluster.start(name)
    until(lambda: ask_readiness(cluster.address)[0] == 200, what="readiness")
    answer = await alice.request(method, path.format(room=room["id"]), body)
    assert answer.status_code in (200, 201), answer.text
    if name in EVENTS:
        await laptop.do(event, {"roomId": room["id"], **data})


async def test_rooms_are_listed_with_what_is_known(cluster, world):
    alice, bob, room = await world.pair()
    for text in ("one", "two"):
        await alice.send(room, text)
    await alice.post(f"/api/rooms/{room['id']}/elements", {"type": "note"}, 201)
    before = (await bob.get("/api/rooms/my-rooms"))[0]
    assert before["badges"] == {"messages": 2, "elements": 1}

    for name in ("parlor-messaging", "parlor-elements"):
        cluster.programs[name].kill()
    answer = (await bob.request("GET", "/api/rooms/my-rooms")).json()
    assert answer["data"] == [before]
    assert sorted(answer["degraded"]) == ["elements", "messaging"]

    cluster.start("parlor-messaging")
    cluster.start("parlor-elements")

    async def whole():
        answer = (await bob.request("GET", "/api/rooms/my-rooms")).json()
        return "degraded" not in answer and answer["data"] == [before]

    await eventually(whole)


async def test_a_gateway_that_starts_while_a_service_is_away_knows_its_routes(cluster, world):
    alice, _, room = await world.pair()
    cluster.programs["parlor-messaging"].kill()
    assert cluster.programs["parlor-gateway"].stop() == 0
    cluster.address = cluster.start("parlor-gateway", "--port", 0)
    async with World(cluster) as later:
        alice.world = later
        answer = await alice.request("GET", f"/api/rooms/{room['id']}/messages")
        assert answer.status_code == 503, answer.text


async def test_the_bus_comes_back_with_everyone_on_it(cluster, world):
    alice, bob, room = await world.pair()
    phone = await bob.socket(joined=room)
    cluster.programs["parlor-bus"].kill()
    answer = await alice.request("POST", f"/api/rooms/{room['id']}/messages", {"text": "lost", "tempId": "1"})
    assert answer.status_code == 503, answer.text
    cluster.start("parlor-bus", "--port", cluster.bus.rsplit(":")[-1])

    async def sent():
        answer = await alice.request("POST", f"/api/rooms/{room['id']}/messages", {"text": "here", "tempId": "1"})
        return answer.status_code in (200, 201)

    await eventually(sent)
    assert (await phone.expect("message:new", within=15))["message"]["tempId"] == "1"


async def test_a_killed_program_is_started_again(start):
    parlor = start("separate")
    async with World(parlor) as world:
        alice, bob, room = await world.pair()
        phone = await bob.socket(joined=room)
        for name in ["parlor-bus", "parlor-messaging", "parlor-gateway"]:
            pid = parlor.pid(name)
            parlor.kill(name)
            parlor.wait_for_successor(name, pid)
            assert f"{name} ended by SIGKILL; it is started again" in parlor.process.log()
        await phone.expect("connect", within=15)
        await phone.join(room)
        await alice.send(room, "still there?")
        assert (await phone.expect("message:new"))["message"]["text"] == "still there?"


@pytest.mark.parametrize("name", EVENTS)
async def test_a_full_disk_is_said_reads_go_on_and_room_is_all_it_takes(cluster, world, name):
    alice, _, room = await world.pair()
    method, path, body = CALLS[name]
    path = path.format(room=room["id"])
    assert (await alice.request(method, path, body)).status_code == 201
    pid = cluster.programs[name].pid
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (512, hard))  # less than its log has by now, too
    for _ in range(3):
        answer = await alice.request(method, path, body)
        assert answer.status_code == 503 and answer.headers["Retry-After"].isdigit(), answer.text
        assert len(await alice.get(path)) == 1
        assert ask_readiness(cluster.address)[0] == 503
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
    assert (await alice.request(method, path, body)).status_code == 201
    assert len(await alice.get(path)) == 2
    assert ask_readiness(cluster.address)[0] == 200
    assert cluster.programs[name].is_running()
