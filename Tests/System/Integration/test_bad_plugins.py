"""A service that hangs, floods, announces nonsense, claims others' routes, answers garbage or 10 MB: Parlor goes on without it.

With `-s` it prints how long others' sends take beside the service, relative to their time without it.
BAD_PLUGIN_SENDS says how many are measured."""

import asyncio
import collections
import datetime
import json
import os
import statistics
import sys
import time

import pytest
from parlor import ROOT, Process
from people import World, eventually

SENDS = int(os.environ.get("BAD_PLUGIN_SENDS", 100))
KINDS = ["hangs", "floods", "announces nonsense", "claims others' routes", "answers garbage", "answers 10 MB"]
PROGRAM = ROOT / "Tests/System/Integration/bad_plugin.py"


class Plugin:
    def __init__(self, parlor, kind: str):
        self.parlor, self.kind = parlor, kind

    def __enter__(self):
        url = (self.parlor.data / "bus.url").read_text().strip()
        environment = {"BUS_TOKEN_FILE": str(self.parlor.data / "bus/bad.token"), "PYTHONPATH": str(ROOT / "Examples")}
        self.process = Process(sys.executable, PROGRAM, url, self.kind, environment=environment)
        self.process.wait_until_ready()
        return self

    def __exit__(self, *_):
        self.process.kill()


@pytest.fixture
def parlor(start_with):
    return start_with({"service": "bad"})


async def sends(phone, room: dict, count: int) -> float:
    """Sends messages one after the other, and returns the median time until the ack."""
    times = []
    for number in range(count):
        began = time.perf_counter()
        await phone.do("message:send", {"roomId": room["id"], "text": f"{number}"})
        times.append(time.perf_counter() - began)
    return statistics.median(times)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.timeout(180)
async def test_a_service_that_behaves_badly_ends_nothing_and_is_logged_once(parlor, kind):
    async with World(parlor) as world:
        alice, bob, room = await world.pair()
        phone, other = await alice.socket(joined=room), await bob.socket(joined=room)
        await sends(phone, room, SENDS)
        pids = parlor.processes()
        without, beside = [], []
        for _ in range(3):
            without.append(await sends(phone, room, SENDS))
            with Plugin(parlor, kind) as plugin:
                # Clients also send requests to it: its answers must not end a gateway either.
                calls = [asyncio.create_task(alice.request("GET", f"/api/rooms/{room['id']}/bad")) for _ in range(20)]
                beside.append(await sends(phone, room, SENDS))
                listed = await asyncio.gather(alice.get("/api/rooms/my-rooms"), bob.get("/api/rooms/my-rooms"))
                assert [len(rooms) for rooms in listed] == [1, 1]
                answers = {answer.status_code for answer in await asyncio.gather(*calls)}
                # 200: what a plain route answers goes out as it is.
                assert answers <= {404, 500, 503} | ({200} if kind == "answers garbage" else set()), answers
                assert plugin.process.is_running(), plugin.process.log()
        # What people sent arrives once and in order, and all processes are the ones that were there before.
        count = 7 * SENDS
        await eventually(lambda: asyncio.sleep(0, len(other.order("message:new")) >= count))
        seqs = [data["message"]["seq"] for name, data in other.heard if name == "message:new"]
        assert seqs == list(range(1, count + 1))
        assert parlor.processes() == pids
        assert (await alice.request("POST", "/api/auth/login", {"username": "x", "password": "password"})).status_code == 401
    ratio = statistics.median(b / w for b, w in zip(beside, without, strict=True))
    print(f"\n{kind}: others' sends beside it take {ratio:.2f} of the time without it")
    lines = [json.loads(line) for line in parlor.process.log().splitlines() if line.startswith("{")]
    about = [line for line in lines if line["level"] in ("warning", "error") and "bad" in json.dumps(line)]
    # Each reason once a minute. The bus has a line for each connection that it closes.
    seen = {}
    for line in about:
        reason = tuple(line.get(key) for key in ("message", "reason", "detail", "what"))
        at = datetime.datetime.fromisoformat(line["time"])
        assert line["message"] == "peer cut off" or reason not in seen or (at - seen[reason]).total_seconds() >= 60, about
        seen[reason] = at
    # And at most 16 of them.
    logged = collections.Counter(line["service"] for line in about if line["message"] != "peer cut off")
    assert about and all(count <= 16 for count in logged.values()), about
    # Far above the ratio on a busy machine, and far below the one when gateways made a catalog for each announcement.
    assert ratio < 5
