"""Bytes of the protocols, as attackers and bystanders send them."""

import base64
import json
import os
import re
import struct
from urllib.parse import quote

STATUS = re.compile(rb"HTTP/1\.1 (\d\d\d) ")
HEAD_END = b"\r\n\r\n"
POLLING = "/socket.io/?EIO=4&transport=polling"
WEBSOCKET = "/socket.io/?EIO=4&transport=websocket"

TEXT, BINARY, CLOSE, PING = 1, 2, 8, 9


def request(method: str, path: str, *, token: str = "", body: bytes = b"", length: int | None = None, version: str = "1.1", **headers: str) -> bytes:
    """Makes a request. `length` replaces the Content-Length, if given; `X_Forwarded_For` becomes `X-Forwarded-For`."""
    lines = [f"{method} {path} HTTP/{version}", "Host: parlor"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    if body or length is not None:
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def upgrade(path: str = WEBSOCKET) -> bytes:
    return request(
        "GET", path, Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Version="13",
        Sec_WebSocket_Key=base64.b64encode(os.urandom(16)).decode(),
    )  # fmt: skip


def frame(payload: bytes | str, opcode: int = TEXT, *, final: bool = True, length: int | None = None) -> bytes:
    """Makes a client's frame, masked with zeros. `length` replaces the header's length, if the payload is only its beginning."""
    if isinstance(payload, str):
        payload = payload.encode()
    size = len(payload) if length is None else length
    first = bytes([(0x80 if final else 0) | opcode])
    if size < 126:
        head = first + bytes([0x80 | size])
    elif size < 65536:
        head = first + b"\xfe" + struct.pack(">H", size)
    else:
        head = first + b"\xff" + struct.pack(">Q", size)
    return head + bytes(4) + payload


def connect(token: str, **auth: str) -> bytes:
    """The frame of a Socket.IO CONNECT."""
    return frame("40" + json.dumps({"token": token, **auth}))


def event(name: str, content: dict, ack: int | None = None) -> bytes:
    """The frame of a Socket.IO EVENT."""
    return frame(f"42{'' if ack is None else ack}" + json.dumps([name, content]))


def take_frame(received: bytearray) -> tuple[int, bytes] | None:
    """Removes a whole server frame from the front, and returns its opcode and payload; None if it is incomplete."""
    if len(received) < 2:
        return None
    size, begin = received[1] & 0x7F, 2
    if size == 126:
        if len(received) < 4:
            return None
        size, begin = struct.unpack(">H", received[2:4])[0], 4
    elif size == 127:
        if len(received) < 10:
            return None
        size, begin = struct.unpack(">Q", received[2:10])[0], 10
    if len(received) < begin + size:
        return None
    taken = received[0] & 0x0F, bytes(received[begin : begin + size])
    del received[: begin + size]
    return taken


def close_code(payload: bytes) -> int | None:
    return struct.unpack(">H", payload[:2])[0] if len(payload) >= 2 else None


def query(**fields: str) -> str:
    return "&".join(f"{name}={quote(value)}" for name, value in fields.items())
