"""The cases of the Engine.IO 4 suite (socketio/engine.io-protocol), and more."""

import asyncio
import json
import time

import aiohttp
import pytest
from conftest import PING_INTERVAL, PING_TIMEOUT

POLLING, WEBSOCKET = "/engine.io/?EIO=4&transport=polling", "/engine.io/?EIO=4&transport=websocket"
KEYS = ["sid", "upgrades", "pingInterval", "pingTimeout", "maxPayload"]
UNKNOWN_TRANSPORT, UNKNOWN_SESSION, BAD_METHOD, BAD_REQUEST, BAD_VERSION = 0, 1, 2, 3, 5


# --- Handshake ---


@pytest.mark.parametrize("path", ["/engine.io/", "/socket.io/"])
async def test_handshake_by_polling(server, path):
    status, text = await server.request("GET", f"{path}?EIO=4&transport=polling")
    opened = json.loads(text[1:])
    assert status == 200 and text[0] == "0" and list(opened) == KEYS
    assert isinstance(opened["sid"], str) and opened["upgrades"] == ["websocket"]
    assert (opened["pingInterval"], opened["pingTimeout"], opened["maxPayload"]) == (300, 200, 1000000)


@pytest.mark.parametrize("path", ["/engine.io/", "/socket.io/"])
async def test_handshake_by_websocket(server, path):
    ws = await server.websocket(f"{path}?EIO=4&transport=websocket")
    opened = json.loads((await ws.receive())[1:])
    assert list(opened) == KEYS and opened["upgrades"] == []


@pytest.mark.parametrize(
    "method, query, code",
    [
        ("GET", "transport=polling", BAD_VERSION),
        ("GET", "EIO=abc&transport=polling", BAD_VERSION),
        ("GET", "EIO=3&transport=polling", BAD_VERSION),
        ("GET", "EIO=4", UNKNOWN_TRANSPORT),
        ("GET", "EIO=4&transport=abc", UNKNOWN_TRANSPORT),
        ("GET", "EIO=4&transport=polling&sid=abc", UNKNOWN_SESSION),
        ("GET", "EIO=4&transport=polling&sid=0.abc", UNKNOWN_SESSION),
        ("GET", "EIO=4&transport=polling&sid=9.abc", UNKNOWN_SESSION),
        ("GET", "EIO=4&transport=websocket", BAD_REQUEST),
        ("GET", "EIO=4&transport=%zz", BAD_REQUEST),
        ("POST", "EIO=4&transport=polling", BAD_METHOD),
        ("PUT", "EIO=4&transport=polling", BAD_METHOD),
        ("DELETE", "EIO=4&transport=polling", BAD_METHOD),
    ],
)
async def test_a_bad_handshake_is_refused(server, method, query, code):
    status, text = await server.request(method, f"/engine.io/?{query}")
    assert status == 400 and json.loads(text)["code"] == code and json.loads(text)["message"]


@pytest.mark.parametrize("query", ["transport=websocket", "EIO=3&transport=websocket", "EIO=4", "EIO=4&transport=abc",
                                   "EIO=4&transport=polling", "EIO=4&transport=websocket&sid=abc"])  # fmt: skip
async def test_a_bad_handshake_by_websocket_is_refused_before_the_upgrade(server, query):
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await server.websocket(f"/engine.io/?{query}")
    assert refused.value.status == 400


async def test_a_session_belongs_to_its_path(server):
    session = await server.polling("/engine.io/")
    status, text = await server.request("GET", f"/socket.io/?EIO=4&transport=polling&sid={session.sid}")
    assert status == 400 and json.loads(text)["code"] == UNKNOWN_SESSION


# --- Messages ---


@pytest.mark.parametrize(
    "packets", [["4hello"], ["4test1", "4test2", "4test3"], ["4hello", "bAQIDBA=="], ["4"], ["4é€𝄞", "b"]]
)
async def test_polling_echoes(server, packets):
    session = await server.polling()
    assert await session.post(*packets) == (200, "ok")
    assert await session.get() == (200, "\x1e".join(packets))


async def test_all_echoes_of_a_post_are_there_when_it_is_answered(server):
    session = await server.polling()
    waiting = await session.held()
    await session.post("4a", "4b", "4c")
    assert await waiting == (200, "4a\x1e4b\x1e4c")


async def test_an_answer_has_sixteen_packets_at_most(patient):
    session = await patient.polling()
    packets = [f"4{n}" for n in range(40)]
    assert await session.post(*packets) == (200, "ok")
    answers = [(await session.get())[1].split("\x1e") for _ in range(3)]
    assert [len(a) for a in answers] == [16, 16, 8] and sum(answers, []) == packets


@pytest.mark.parametrize("body", ["abc", "", "4a\x1e", "4a\x1e\x1e4b", "7", "2", "0{}", "5", "bAQI", "4ok\x1ebad"])
async def test_a_malformed_post_closes_the_session(server, body):
    session = await server.polling()
    status, _ = await session.post(body)
    assert status == 400
    assert (await session.get())[0] == 400


async def test_a_post_that_is_no_utf8_closes_the_session(server):
    session = await server.polling()
    assert (await server.request("POST", session.target, data=b"4\xc0\xaf"))[0] == 400
    assert (await session.get())[0] == 400


async def test_a_second_get_closes_the_session(server):
    session = await server.polling()
    first = await session.held()
    assert (await session.get())[0] in (400, 500)
    assert await first == (200, "1")
    assert (await session.get())[0] == 400


async def test_a_cancelled_get_closes_the_session(server):
    session = await server.polling()
    get = await session.held()
    get.cancel()
    with pytest.raises(asyncio.CancelledError):
        await get
    assert (await session.get())[0] == 400


async def test_a_payload_over_the_limit_is_refused(patient):
    session = await patient.polling()
    assert (await session.post("4" + "x" * 999_999))[0] == 200
    assert (await session.post("4" + "x" * 1_000_000))[0] == 413
    assert (await session.get())[1] == "4" + "x" * 999_999


async def test_websocket_echoes(server):
    ws = await server.opened()
    await ws.send("4hello", bytes([1, 2, 3, 4]), "4", b"", "4é€𝄞")
    assert [await ws.receive() for _ in range(5)] == ["4hello", bytes([1, 2, 3, 4]), "4", b"", "4é€𝄞"]


@pytest.mark.parametrize("packet", ["abc", "", "7", "2", "2probe", "0{}", "5", " 4"])
async def test_a_malformed_packet_closes_the_websocket(server, packet):
    ws = await server.opened()
    await ws.send(packet)
    assert await ws.is_closed()


async def test_a_message_over_the_limit_closes_the_websocket(patient):
    ws = await patient.opened()
    await ws.send("4" + "x" * 999_999)
    assert len(await ws.receive()) == 1_000_000
    await ws.send("4" + "x" * 1_000_000)
    assert await ws.is_closed() and ws.ws.close_code == 1009


# --- Heartbeat ---


async def test_heartbeat_by_polling(server):
    session = await server.polling()
    for _ in range(3):
        assert await session.get() == (200, "2")
        assert await session.post("3") == (200, "ok")


async def test_heartbeat_by_websocket(server):
    ws = await server.opened()
    for _ in range(3):
        assert await ws.receive(pings=True) == "2"
        await ws.send("3")


async def test_ping_timeout_by_polling(server):
    """The limit is exact: the very next request is refused."""
    session = await server.polling()
    await asyncio.sleep((PING_INTERVAL + PING_TIMEOUT) / 1000)
    assert (await session.get())[0] == 400


async def test_ping_timeout_by_websocket(server):
    ws = await server.opened()
    began = time.monotonic()
    assert await ws.receive(pings=True) == "2"
    assert await ws.is_closed()
    assert (PING_INTERVAL + PING_TIMEOUT) / 1000 - 0.005 <= time.monotonic() - began


# --- Close ---


async def test_close_by_polling(server):
    session = await server.polling()
    waiting = await session.held()
    assert (await session.post("1"))[0] == 200
    assert await waiting == (200, "6")
    assert (await session.get())[0] == 400


async def test_close_by_websocket(server):
    ws = await server.opened()
    await ws.send("1")
    assert await ws.is_closed()


# --- Upgrade ---


async def test_upgrade(server):
    session = await server.polling()
    ws = await session.probe()
    await ws.send("2probe")
    assert await ws.receive() == "3probe"
    assert await session.get() == (200, "6")
    await ws.send("5", "4hello")
    assert await ws.receive() == "4hello"


async def test_a_probe_releases_the_get(server):
    session = await server.polling()
    waiting = await session.held()
    ws = await session.probe()
    assert not waiting.done()
    await ws.send("2probe")
    assert await ws.receive() == "3probe"
    assert await waiting == (200, "6")


async def test_the_session_goes_on_by_polling_while_it_probes(server):
    session = await server.polling()
    ws = await session.probe()
    await ws.send("2probe")
    assert await ws.receive() == "3probe"
    assert await session.post("4a", "4b") == (200, "ok")
    await ws.send("5", "4c")
    assert [await ws.receive() for _ in range(3)] == ["4a", "4b", "4c"]


async def test_requests_after_the_upgrade_are_refused(server):
    session = await server.polling()
    ws = await session.upgraded()
    assert (await session.get())[0] == 400
    assert (await session.post("4late"))[0] == 400
    await ws.send("4hello")
    assert await ws.receive() == "4hello"


async def test_an_upgrade_without_waiting_for_the_answer(server):
    """The suite of Socket.IO does so."""
    session = await server.polling()
    ws = await session.probe()
    await ws.send("2probe", "5")
    assert (await session.get())[0] == 400
    assert await (await session.probe()).is_closed()


async def test_a_websocket_after_the_upgrade_is_closed(server):
    session = await server.polling()
    ws = await session.upgraded()
    assert await (await session.probe()).is_closed()
    await ws.send("4hello")
    assert await ws.receive() == "4hello"


async def test_a_second_probe_is_closed(server):
    session = await server.polling()
    first = await session.probe()
    assert await (await session.probe()).is_closed()
    await first.send("2probe")
    assert await first.receive() == "3probe"


@pytest.mark.parametrize("packet", ["5", "4hello", "2", "3probe", "x", b"\x01"])
async def test_a_probe_that_goes_wrong_leaves_the_session_by_polling(server, packet):
    session = await server.polling()
    ws = await session.probe()
    await ws.send(packet)
    assert await ws.is_closed()
    assert await session.post("4still") == (200, "ok")
    assert await session.get() == (200, "4still")
    await (await session.upgraded()).send("4x")
