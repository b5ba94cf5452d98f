"""The dashboard and the alerts query only metrics that exist."""

import re

import dashboard
from parlor import ROOT
from people import World


async def test_every_metric_that_is_asked_for_exists(start):
    parlor = start("one")
    async with World(parlor) as world:
        alice, _, room = await world.pair()
        await (await alice.socket(joined=room)).do("message:send", {"roomId": room["id"], "text": "hello"})
        told = set(re.findall(r"^# TYPE (\S+)", (await world.http.get("/metrics")).text, re.MULTILINE))
    asked = {name for name in dashboard.all_metrics() if not name.startswith("haproxy_")}
    assert len(asked) > 10
    # A series exists from its first count on: other metrics are looked up in the sources.
    missing = {name for name in asked - told if f'"{name}"' not in sources()}
    # Panels of a service that is not there yet stay empty.
    if not (ROOT / "Services/Push").exists():
        missing = {name for name in missing if not name.startswith("parlor_push_")}
    assert not missing


def sources() -> str:
    return "".join(path.read_text() for path in (ROOT / "Services").rglob("*.swift"))
