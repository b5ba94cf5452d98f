"""Arbitrary bytes: whatever arrives, the server answers the next client."""

import asyncio
import random

import aiohttp
import pytest

REQUEST = (
    b"POST /engine.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX-Request-Id: a\r\n"
    b"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n4\x1e4ab\r\n0\r\n\r\n"
)
PACKETS = ['40{"token":"a"}', '42["message",1,{"a":[true]}]', '451-7["message",{"_placeholder":true,"num":0}]', "41",
           '42/custom,9["message-with-ack"]', "3", "2probe", "5", "40/custom,", "431[1]", '44{"message":"x"}']  # fmt: skip


def damaged(whole: bytes, chance: random.Random) -> bytes:
    data = bytearray(whole)
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(4):
            case 0: data[at:at + 1] = bytes([chance.randrange(256)])
            case 1: del data[at:at + chance.randrange(1, 9)]
            case 2: data[at:at] = data[: chance.randrange(20)]
            case 3: data[at:at] = chance.randbytes(chance.randrange(5))
    return bytes(data)  # fmt: skip


async def is_served(server) -> bool:
    return (await server.request("GET", "/engine.io/?EIO=4&transport=polling"))[0] == 200


@pytest.mark.parametrize("seed", range(4))
async def test_damaged_requests(patient, seed):
    chance = random.Random(seed)
    host, port = patient.address.removeprefix("http://").split(":")
    for _ in range(150):
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            for _ in range(chance.randrange(1, 4)):
                writer.write(damaged(REQUEST, chance))
                await writer.drain()
            writer.write_eof()
            await reader.read()
        except ConnectionError:
            pass
        writer.close()
    assert await is_served(patient)


@pytest.mark.parametrize("seed", range(4))
async def test_damaged_packets_by_websocket(patient, seed):
    chance = random.Random(seed)
    for _ in range(150):
        ws = await patient.websocket(f"/{chance.choice(['engine', 'socket'])}.io/?EIO=4&transport=websocket")
        try:
            for packet in chance.choices(PACKETS, k=6):
                text = damaged(packet.encode(), chance)
                await ws.send(text if chance.random() < 0.2 else text.decode("utf-8", "replace"))
        except (ConnectionError, aiohttp.ClientError):
            pass
        await ws.ws.close()
    assert await is_served(patient)


@pytest.mark.parametrize("seed", range(4))
async def test_damaged_packets_by_polling(patient, seed):
    chance = random.Random(seed)
    for _ in range(80):
        session = await patient.polling(f"/{chance.choice(['engine', 'socket'])}.io/")
        for _ in range(3):
            body = b"\x1e".join(damaged(p.encode(), chance) for p in chance.choices(PACKETS, k=3))
            status, _ = await patient.request("POST", session.target, data=body)
            assert status in (200, 400)
    assert await is_served(patient)
