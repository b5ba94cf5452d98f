"""Examples/Polls, a service in a package of its own, in a whole Parlor: within its process, and beside separate ones.
deploy/test-example builds it, and names this file. It is not a test_*.py, because its tests need a build of their own."""

import asyncio
import re
import subprocess
import urllib.request

import pytest
from parlor import ROOT, START_DEADLINE, Process, binaries
from people import Person, World, eventually

# The rights that the README gives to polls.
RIGHTS = re.search(r"^echo '(.*)' >plugins$", (ROOT / "Examples/Polls/README.md").read_text(), re.MULTILINE)[1]


@pytest.fixture(params=["one", "separate"])
def parlor(request, start, tmp_path):
    if request.param == "one":
        yield start("one", "--max-room-polls", "2")
        return
    plugins = tmp_path / "plugins"
    plugins.write_text(RIGHTS)
    parlor = start("separate", "--with", plugins)
    polls = Process(
        binaries() / "parlor-polls", "--data", parlor.data, "--bus", (parlor.data / "bus.url").read_text().strip(),
        "--max-room-polls", "2", environment={"BUS_TOKEN_FILE": str(parlor.data / "bus/polls.token")})  # fmt: skip
    polls.wait_until_ready()
    yield parlor
    assert polls.stop() == 0, polls.log()


@pytest.fixture
async def world(parlor):
    async with World(parlor) as world:
        yield world


async def path_of_polls(person: Person, room: dict) -> str:
    """Returns the path of a room's polls, once the gateway knows it."""
    path = f"/api/rooms/{room['id']}/polls"

    async def is_known():
        return (await person.request("GET", path)).status_code == 200

    await eventually(is_known)
    return path


async def test_polls_are_whole_features_of_rooms_and_the_gateway_knows_nothing_of_them(parlor, world):
    alice, bob, room = await world.pair()
    path = await path_of_polls(alice, room)
    laptop, phone = await alice.socket(joined=room), await bob.socket(joined=room)
    poll = (await laptop.do("poll:create", {"roomId": room["id"], "question": "Lunch?", "choices": ["yes", "no"]}))["poll"]
    assert await phone.expect("poll:created") == {"roomId": room["id"], "poll": poll}
    badges = {"messages": 0, "elements": 0, "polls": 1}
    assert await phone.expect("room:badges") == {"roomId": room["id"], "badges": badges, "hasUnread": True}
    seen = await bob.view(room)
    assert (seen["badges"], seen["pollCount"], seen["hasUnread"]) == (badges, 1, True)

    answer = await bob.request("PUT", f"{path}/{poll['id']}/vote", {"choice": 0})
    assert answer.status_code == 200, answer.text
    voted = answer.json()["data"]
    assert [choice["votes"] for choice in voted["choices"]] == [1, 0]
    assert await laptop.expect("poll:voted") == {"roomId": room["id"], "poll": voted}
    await phone.expect("room:badges", badges=badges | {"polls": 0})
    assert (await bob.view(room))["hasUnread"] is False
    assert await alice.get(path) == [voted]

    await alice.post(path, {"question": "Dinner?", "choices": ["here", "there"]}, 201)
    full = await alice.request("POST", path, {"question": "Tea?", "choices": ["yes", "no"]})
    assert (full.status_code, full.json()["error"]["code"]) == (413, "payload_too_large")
    eve = await world.person("eve")
    assert (await eve.request("GET", path)).status_code == 404

    program = "parlor" if parlor.form == "one" else "parlor-polls"
    shown = await asyncio.to_thread(
        subprocess.run, [binaries() / program, "polls", "--data", parlor.data], capture_output=True, text=True,
        timeout=START_DEADLINE)  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert f"{room['id']}: 2 polls, 1 votes" in shown.stdout.splitlines()
    if parlor.form == "one":
        with urllib.request.urlopen(f"{parlor.address}/metrics") as page:
            assert "\npolls_votes_total 1\n" in page.read().decode()


async def test_a_message_shows_the_newest_poll_about_it(world):
    alice, bob, room = await world.pair()
    path = await path_of_polls(alice, room)
    laptop, phone = await alice.socket(joined=room), await bob.socket(joined=room)
    message, other = await bob.send(room, "How about a picnic?"), await bob.send(room, "Hello?")

    async def shown() -> list:
        return [seen["poll"] for seen in await bob.get(f"/api/rooms/{room['id']}/messages")]

    assert await shown() == [None, None]
    asked = {"roomId": room["id"], "question": "When?", "choices": ["today", "tomorrow"], "messageId": message["id"]}
    poll = (await laptop.do("poll:create", asked))["poll"]
    assert poll["messageId"] == message["id"]
    assert await phone.expect("poll:created") == {"roomId": room["id"], "poll": poll}
    # The gateway has cached that there is no poll.
    field = {"id": poll["id"], "question": "When?", "votes": 0}
    assert await shown() == [field, None]
    voted = await bob.data("PUT", f"{path}/{poll['id']}/vote", {"choice": 1})
    assert await laptop.expect("poll:voted") == {"roomId": room["id"], "poll": voted}
    assert await shown() == [field | {"votes": 1}, None]
    conversation = await alice.get(f"/api/users/{bob.id}/messages")
    assert [seen["poll"] for seen in conversation] == await shown()

    # A message that does not exist, one of another room, and one that was deleted.
    elsewhere = await alice.send(await alice.post("/api/rooms", {"otherUserId": bob.id}, 201), "Here?")
    await bob.data("DELETE", f"/api/rooms/{room['id']}/messages/{message['id']}", status=204)
    for id in ("none", elsewhere["id"], message["id"]):
        refused = await alice.request("POST", path, asked | {"messageId": id})
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "message_not_found")
    assert await alice.get(path) == [voted]
    assert (await alice.post(path, asked | {"messageId": other["id"]}, 201))["messageId"] == other["id"]
