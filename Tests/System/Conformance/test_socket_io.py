"""The cases of the Socket.IO 5 suite (socketio/socket.io-protocol), and more."""

import asyncio
import json
import time

import pytest
from conftest import CONNECT_TIMEOUT

# --- Connecting ---


@pytest.mark.parametrize("packet", ["40", "40{}", "40/,", "40/,{}"])
async def test_connect(server, packet):
    ws = await server.opened("/socket.io/")
    await ws.send(packet)
    answer = await ws.receive()
    assert answer.startswith("40{") and list(json.loads(answer[2:])) == ["sid"]
    assert await ws.receive() == '42["auth",{}]'


async def test_connect_with_a_payload(server):
    ws = await server.opened("/socket.io/")
    await ws.send('40{"token":"123"}')
    assert (await ws.receive()).startswith("40{")
    assert await ws.receive() == '42["auth",{"token":"123"}]'


@pytest.mark.parametrize("packet, auth", [("40/custom,", "{}"), ("40/custom", "{}"), ('40/custom,{"t":1}', '{"t":1}'),
                                          ("40/custom?x=1,", "{}")])  # fmt: skip
async def test_connect_to_another_namespace(server, packet, auth):
    ws = await server.opened("/socket.io/")
    await ws.send(packet)
    answer = await ws.receive()
    assert answer.startswith("40/custom,{") and list(json.loads(answer[10:])) == ["sid"]
    assert await ws.receive() == f'42/custom,["auth",{auth}]'


@pytest.mark.parametrize("packet", ["40/random", "40/random,", '40/random,{"a":1}'])
async def test_an_unknown_namespace_is_refused(server, packet):
    ws = await server.opened("/socket.io/")
    await ws.send(packet)
    assert await ws.receive() == '44/random,{"message":"Invalid namespace"}'
    await ws.send("40")
    assert (await ws.receive()).startswith("40{")


async def test_connect_by_polling(server):
    session = await server.polling("/socket.io/")
    assert await session.post("40") == (200, "ok")
    packets = (await session.get())[1].split("\x1e")
    assert packets[0].startswith("40{") and packets[1:] == ['42["auth",{}]']


@pytest.mark.parametrize("packet", ["4abc", "40[]", '40"x"', "401{}", "40{", '42["message","early"]', "41", "4", b"\x01"])
async def test_a_wrong_first_packet_closes(server, packet):
    ws = await server.opened("/socket.io/")
    await ws.send(packet)
    assert await ws.is_closed()


async def test_without_connect_the_connection_is_closed_in_time(server):
    ws = await server.opened("/socket.io/")
    began = time.monotonic()
    while (packet := await ws.receive(pings=True)) is not None:
        assert packet == "2"
        await ws.send("3")
    assert CONNECT_TIMEOUT / 1000 - 0.005 <= time.monotonic() - began


async def test_a_second_connect_closes(server):
    ws = await server.connected()
    await ws.send("40")
    assert await ws.is_closed()


# --- Disconnecting ---


async def test_disconnect_leaves_the_engine_open(server):
    ws = await server.connected()
    await ws.send("41")
    assert await ws.receive(pings=True) == "2"


async def test_disconnect_from_one_of_two_namespaces(server):
    ws = await server.connected()
    await ws.send("40/custom")
    assert (await ws.receive()).startswith("40/custom,{")
    assert await ws.receive() == '42/custom,["auth",{}]'
    await ws.send("41/custom", '42["message","message to main namespace"]')
    assert await ws.receive() == '42["message-back","message to main namespace"]'
    await ws.send('42/custom,["message","gone"]')
    assert await ws.is_closed()


async def test_one_can_connect_again(server):
    ws = await server.connected()
    await ws.send("41", "40")
    assert (await ws.receive()).startswith("40{")


# --- Events ---


async def test_event(server):
    ws = await server.connected()
    await ws.send('42["message",1,"2",{"3":[true]}]')
    assert await ws.receive() == '42["message-back",1,"2",{"3":[true]}]'


async def test_event_with_attachments(server):
    ws = await server.connected()
    await ws.send('452-["message",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]', b"\1\2\3", b"\4\5\6")
    expected = ['452-["message-back",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]', b"\1\2\3", b"\4\5\6"]
    assert [await ws.receive() for _ in range(3)] == expected


async def test_ack(server):
    ws = await server.connected()
    await ws.send('42456["message-with-ack",1,"2",{"3":[false]}]')
    assert await ws.receive() == '43456[1,"2",{"3":[false]}]'
    await ws.send('420["message-with-ack"]')
    assert await ws.receive() == "430[]"


async def test_ack_with_attachments(server):
    ws = await server.connected()
    await ws.send('452-789["message-with-ack",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]', b"\1", b"")
    expected = ['462-789[{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]', b"\1", b""]
    assert [await ws.receive() for _ in range(3)] == expected


async def test_attachments_by_polling(server):
    session = await server.polling("/socket.io/")
    await session.post("40")
    await session.get()
    assert await session.post('451-["message",{"_placeholder":true,"num":0}]', "bAQID") == (200, "ok")
    assert await session.get() == (200, '451-["message-back",{"_placeholder":true,"num":0}]\x1ebAQID')


async def test_namespaces_of_one_connection(server):
    ws = await server.connected()
    await ws.send("40/custom")
    await ws.receive()
    await ws.receive()
    await ws.send('42/custom,1["message-with-ack","c"]', '421["message-with-ack","m"]')
    assert [await ws.receive() for _ in range(2)] == ['43/custom,1["c"]', '431["m"]']


async def test_json_is_echoed_as_it_was_sent(server):
    ws = await server.connected()
    for argument in ["123456789012345678901234567890", "1.0", "1e300", '"\\u00e9\\ud834\\udd1e"', '{"a":1,"a":2}', "[[]]"]:
        await ws.send(f'42["message",{argument}]')
        assert await ws.receive() == f'42["message-back",{argument}]'
    # A number beyond a double is refused, and the socket stays.
    await ws.send('42["message",1e400]', '42["message",1]')
    assert await ws.receive() == '42["message-back",1]'


@pytest.mark.parametrize(
    "packets",
    [
        ["4abc"], ["42{}"], ['42abc["message-with-ack",1]'], ["42"], ["42[]"], ["42[null]"], ['42["message"'],
        ['42["connect"]'], ['42["disconnect"]'], ['42["connect_error"]'], ['42["disconnecting"]'],
        ['42["newListener"]'], ['42["removeListener"]'], ['4212345678901234567890["message"]'], ['42["a"]x'],
        ['45["message"]'], ['45-["message"]'], ['452-{}'], ['451-["message",{"_placeholder":true,"num":1}]'],
        ['451-["message",{"_placeholder":true,"num":-1}]'], ['451-["message",{"_placeholder":true,"num":"0"}]'],
        ['451-["message",{"_placeholder":true,"num":0}]', '42["message"]'], [b"\x01"], ["43[]"], ["43"], ["431{}"],
        ["44"], ["44{}"], ['44{"message":"no"}'], ["41{}"], ["46"], ["47"], ["48[]"], ["40{}"], ['42/random,["message"]'],
        ["41/random"], ["451000000000000-[\"message\"]"],
    ],
)  # fmt: skip
async def test_a_malformed_packet_closes(server, packets):
    ws = await server.connected()
    await ws.send(*packets)
    assert await ws.is_closed()


async def test_a_malformed_packet_closes_by_polling(server):
    session = await server.polling("/socket.io/")
    await session.post("40")
    await session.get()
    await session.post("4abc")
    assert (await session.get())[0] == 400


async def test_an_upgrade_in_the_midst_of_attachments(server):
    session = await server.polling("/socket.io/")
    await session.post("40")
    await session.get()
    await session.post('452-["message",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]', "bAQ==")
    ws = await session.upgraded()
    await ws.send(b"\2")
    expected = ['452-["message-back",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]', b"\1", b"\2"]
    assert [await ws.receive() for _ in range(3)] == expected


async def test_many_clients_at_once(patient):
    async def one(n: int):
        ws = await patient.connected()
        for k in range(20):
            await ws.send(f'42{k}["message-with-ack",{n}]')
        assert [await ws.receive() for _ in range(20)] == [f"43{k}[{n}]" for k in range(20)]

    await asyncio.gather(*(one(n) for n in range(50)))
