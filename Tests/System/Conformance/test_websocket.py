"""Plain WebSocket (RFC 6455), frame by frame; and HTTP around it."""

import asyncio
import os
import struct

import aiohttp
import pytest

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Frames:
    """A raw client that may violate the protocol."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, address: str) -> "Frames":
        host, port = address.removeprefix("http://").split(":")
        frames = cls(*await asyncio.open_connection(host, int(port), limit=1 << 26))
        frames.writer.write(
            b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        head = await frames.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 ") and b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head, head
        return frames

    def send(self, opcode: int, payload: bytes = b"", fin: bool = True, masked: bool = True, rsv: int = 0):
        length = len(payload)
        head = bytes([fin << 7 | rsv << 4 | opcode])
        mask_bit = masked << 7
        if length < 126:
            head += bytes([mask_bit | length])
        elif length < 1 << 16:
            head += bytes([mask_bit | 126]) + struct.pack(">H", length)
        else:
            head += bytes([mask_bit | 127]) + struct.pack(">Q", length)
        if masked:
            # A mask of zeros is a mask, and leaves long payloads as they are.
            head += bytes(4)
        self.writer.write(head + payload)

    async def receive(self) -> tuple[int, bytes] | None:
        async with asyncio.timeout(20):
            try:
                first, second = await self.reader.readexactly(2)
                length = second & 127
                if length == 126:
                    (length,) = struct.unpack(">H", await self.reader.readexactly(2))
                elif length == 127:
                    (length,) = struct.unpack(">Q", await self.reader.readexactly(8))
                return first & 15, await self.reader.readexactly(length)
            except (asyncio.IncompleteReadError, ConnectionError):
                return None

    async def close_code(self) -> int | None:
        frame = await self.receive()
        assert frame and frame[0] == CLOSE, frame
        assert await self.receive() is None
        return struct.unpack(">H", frame[1][:2])[0] if frame[1] else None


@pytest.fixture
async def frames(patient_address):
    frames = await Frames.open(patient_address)
    yield frames
    frames.writer.close()


@pytest.mark.parametrize("length", [0, 1, 125, 126, 127, 65535, 65536, 1 << 20])
async def test_echo_of_every_length(frames, length):
    payload = os.urandom(length)
    frames.send(BINARY, payload)
    assert await frames.receive() == (BINARY, payload)
    frames.send(TEXT, b"x" * length)
    assert await frames.receive() == (TEXT, b"x" * length)


async def test_the_largest_message(frames):
    payload = os.urandom(16 << 20)
    frames.send(BINARY, payload)
    assert await frames.receive() == (BINARY, payload)
    frames.send(BINARY, payload + b"x")
    assert await frames.close_code() == 1009


async def test_the_most_small_fragments(frames):
    frames.send(TEXT, b"a", fin=False)
    for _ in range(1022):
        frames.send(0, b"b", fin=False)
    frames.send(0, b"c")
    assert await frames.receive() == (TEXT, b"a" + b"b" * 1022 + b"c")
    frames.send(TEXT, b"a", fin=False)
    for _ in range(1024):
        frames.send(0, b"b", fin=False)
    assert await frames.close_code() == 1009


async def test_any_number_of_larger_fragments(frames):
    frames.send(BINARY, bytes(16), fin=False)
    for _ in range(65_534):
        frames.send(0, bytes(16), fin=False)
    frames.send(0, b"")
    assert await frames.receive() == (BINARY, bytes(16 * 65_535))


async def test_control_frames_between_fragments(frames):
    frames.send(TEXT, b"a", fin=False)
    frames.send(PING, b"now")
    assert await frames.receive() == (PONG, b"now")
    frames.send(PONG, b"unasked")
    frames.send(0, b"b")
    assert await frames.receive() == (TEXT, b"ab")


async def test_frames_a_byte_at_a_time(frames):
    for byte in bytes([0x81, 0x83, 1, 2, 3, 4, ord("a") ^ 1, ord("b") ^ 2, ord("c") ^ 3]):
        frames.writer.write(bytes([byte]))
        await frames.writer.drain()
        await asyncio.sleep(0)
    assert await frames.receive() == (TEXT, b"abc")


async def test_a_frame_with_the_handshake(patient_address):
    host, port = patient_address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\x81\x82\0\0\0\0hi"
    )
    await reader.readuntil(b"\r\n\r\n")
    assert await reader.readexactly(4) == b"\x81\x02hi"
    writer.close()


@pytest.mark.parametrize(
    "opcode, payload, options, code",
    [
        (TEXT, b"x", {"masked": False}, 1002), (TEXT, b"x", {"rsv": 4}, 1002), (TEXT, b"x", {"rsv": 1}, 1002),
        (3, b"", {}, 1002), (11, b"", {}, 1002), (0, b"x", {}, 1002), (PING, b"x" * 126, {}, 1002),
        (PING, b"x", {"fin": False}, 1002), (TEXT, b"\xff", {}, 1007), (TEXT, b"\xed\xa0\x80", {}, 1007),
        (CLOSE, b"x", {}, 1002), (CLOSE, struct.pack(">H", 1005), {}, 1002), (CLOSE, b"\x03\xe8\xff", {}, 1007),
    ],
)  # fmt: skip
async def test_a_wrong_frame_closes_with_its_code(frames, opcode, payload, options, code):
    frames.send(opcode, payload, **options)
    assert await frames.close_code() == code


@pytest.mark.parametrize("payload, code", [(b"", None), (struct.pack(">H", 1000) + b"bye", 1000), (struct.pack(">H", 4000), 4000)])
async def test_a_close_is_answered(frames, payload, code):
    frames.send(CLOSE, payload)
    assert await frames.close_code() == code


@pytest.mark.parametrize(
    "change, status",
    [
        ({"Sec-WebSocket-Version": "12"}, 426), ({"Sec-WebSocket-Key": "short"}, 400), ({"Sec-WebSocket-Key": None}, 400),
        ({"Connection": "keep-alive"}, 426), ({"Upgrade": None}, 426),
    ],
)  # fmt: skip
async def test_a_bad_opening_is_refused(patient, change, status):
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} | change  # fmt: skip
    headers = {name: value for name, value in headers.items() if value is not None}
    assert (await patient.request("GET", "/ws", headers=headers))[0] == status


async def test_no_extension_and_no_ping(patient):
    async with patient.http.ws_connect(patient.address + "/ws", compress=15, protocols=["chat"], autoping=False) as ws:
        assert not ws.compress and ws.protocol is None
        await ws.send_str("x" * 1000)
        assert (await ws.receive()).data == "x" * 1000
        with pytest.raises(TimeoutError):
            await ws.receive(0.5)


async def test_cross_origin_requests(patient):
    origin = {"Origin": "http://elsewhere.example"}
    async with patient.http.get(patient.address + "/socket.io/?EIO=4&transport=polling", headers=origin) as response:
        assert response.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in response.headers
    asked = origin | {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    async with patient.http.options(patient.address + "/socket.io/?EIO=4&transport=polling", headers=asked) as response:
        assert response.status == 204 and response.headers["Access-Control-Allow-Origin"] == "*"
        assert "POST" in response.headers["Access-Control-Allow-Methods"]
        assert response.headers["Access-Control-Allow-Headers"] == "content-type"


async def test_every_answer_has_a_request_id(patient):
    async def answered(request_id: str | None, path: str) -> str:
        headers = {"X-Request-Id": request_id} if request_id is not None else {}
        async with patient.http.get(patient.address + path, headers=headers) as response:
            return response.headers["X-Request-Id"]

    for path in ["/nowhere", "/engine.io/?EIO=4&transport=polling", "/engine.io/"]:
        assert await answered("mine-1.2_3", path) == "mine-1.2_3"
        fresh = {await answered(given, path) for given in (None, "", "a b", "x" * 129, "é")}
        assert len(fresh) == 5 and all(fresh)
    async with patient.http.ws_connect(patient.address + "/ws", headers={"X-Request-Id": "ws"}) as ws:
        assert ws._response.headers["X-Request-Id"] == "ws"


async def test_an_unknown_path(patient):
    assert (await patient.request("GET", "/nowhere"))[0] == 404
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await patient.websocket("/nowhere")
