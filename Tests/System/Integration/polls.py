"""Examples/Polls, a service in a package of its own, in a whole Parlor: within its process, and beside separate ones.
deploy/test-example builds it, and names this file: it is no test_*.py, as that takes a build of its own."""

import asyncio
import json
import subprocess
import urllib.request

import pytest
from parlor import START_DEADLINE, Process, binaries
from people import World, eventually


@pytest.fixture(params=["one", "separate"])
def parlor(request, start, tmp_path):
    if request.param == "one":
        yield start("one", "--max-room-polls", "2")
        return
    plugins = tmp_path / "plugins"
    plugins.write_text(json.dumps({"service": "polls", "request": ["rooms.membership"]}))
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


async def test_polls_are_whole_features_of_rooms_and_the_gateway_knows_nothing_of_them(parlor, world):
    alice, bob, room = await world.pair()
    path = f"/api/rooms/{room['id']}/polls"

    async def is_known():
        return (await alice.request("GET", path)).status_code == 200

    await eventually(is_known)
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
