"""The dashboard and the alerts ask for nothing that nobody tells."""

import re

import dashboard
from people import World


async def test_every_metric_that_is_asked_for_exists(start):
    parlor = start("one")
    async with World(parlor) as world:
        alice, _, room = await world.pair()
        await (await alice.socket(joined=room)).do("message:send", {"roomId": room["id"], "text": "hello"})
        told = set(re.findall(r"^# TYPE (\S+)", (await world.http.get("/metrics")).text, re.MULTILINE))
    asked = {name for name in dashboard.all_metrics() if not name.startswith("haproxy_")}
    assert len(asked) > 10
    # Panels of a service that this build does not have yet stay empty.
    if not any(name.startswith("parlor_push_") for name in told):
        asked = {name for name in asked if not name.startswith("parlor_push_")}
    assert asked <= told, asked - told
