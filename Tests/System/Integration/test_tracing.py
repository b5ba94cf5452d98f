"""The logs of all processes show the path of one request."""

import json

import pytest
from parlor import SERVICES, Cluster
from people import World

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    monkeypatch.setenv("LOG_LEVEL", "debug")
    cluster = Cluster(tmp_path / "data")
    yield cluster
    cluster.stop()


def lines(cluster, **members) -> list[dict]:
    """Returns the log lines of all programs that have these members."""
    found = []
    for name in [*SERVICES, "parlor-gateway"]:
        for line in cluster.programs[name].log().splitlines():
            line = json.loads(line)
            if members.items() <= line.items():
                found.append({**line, "program": name})
    return found


async def test_one_id_is_in_the_lines_of_every_service_that_a_message_passed(cluster):
    async with World(cluster) as world:
        alice, _, room = await world.pair()
        headers = {"X-Request-Id": "the-one", "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
        sent = await alice.request("POST", f"/api/rooms/{room['id']}/messages", {"text": "x"}, headers)
        assert (sent.status_code, sent.headers["X-Request-Id"]) == (201, "the-one")
        socket = await alice.socket()
        traced = {"roomId": room["id"], "text": "y", "traceparent": f"00-{TRACE}-00f067aa0ba902b7-00"}
        await socket.do("message:send", traced)
    cluster.stop()
    [commit] = lines(cluster, request="the-one", message="answered", subject="messaging.send")
    assert commit["program"] == "parlor-messaging"
    [answer] = lines(cluster, request="the-one", message="answered a client")
    assert (answer["log"], answer["seq"]) == ("messaging", commit["seq"])
    [fanout] = lines(cluster, request="the-one", message="fanned out")
    assert (fanout["log"], fanout["seq"]) == ("messaging", commit["seq"])
    assert len(lines(cluster, trace=TRACE, subject="messaging.send", message="answered")) == 2
    assert len(lines(cluster, trace=TRACE, message="answered a client")) == 2
