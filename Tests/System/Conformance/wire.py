"""Engine.IO packet by packet, over both transports."""

import asyncio
import json

import aiohttp
from yarl import URL

SEPARATOR = "\x1e"


class Server:
    def __init__(self, http: aiohttp.ClientSession, address: str):
        self.http, self.address = http, address

    async def request(self, method: str, path: str, **options) -> tuple[int, str]:
        async with self.http.request(method, URL(self.address + path, encoded=True), **options) as response:
            return response.status, await response.text()

    async def polling(self, path: str = "/engine.io/") -> "Polling":
        status, text = await self.request("GET", f"{path}?EIO=4&transport=polling")
        assert status == 200 and text[0] == "0", text
        return Polling(self, path, json.loads(text[1:])["sid"])

    async def websocket(self, target: str = "/engine.io/?EIO=4&transport=websocket", **options) -> "WebSocket":
        return WebSocket(await self.http.ws_connect(self.address + target, max_msg_size=0, **options))

    async def opened(self, path: str = "/engine.io/") -> "WebSocket":
        """Returns a WebSocket after the handshake."""
        ws = await self.websocket(f"{path}?EIO=4&transport=websocket")
        assert (await ws.receive()).startswith("0{")
        return ws

    async def connected(self) -> "WebSocket":
        """Returns a WebSocket that is connected to Socket.IO's main namespace."""
        ws = await self.opened("/socket.io/")
        await ws.send("40")
        assert (await ws.receive()).startswith("40{")
        assert await ws.receive() == '42["auth",{}]'
        return ws


class Polling:
    def __init__(self, server: Server, path: str, sid: str):
        self.server, self.path, self.sid = server, path, sid
        self.target = f"{path}?EIO=4&transport=polling&sid={sid}"

    async def get(self) -> tuple[int, str]:
        return await self.server.request("GET", self.target)

    async def held(self) -> asyncio.Task:
        """Starts a GET that the server holds. Nothing on the wire shows when it is held, so this waits a moment."""
        get = asyncio.create_task(self.get())
        await asyncio.sleep(0.01)
        return get

    async def post(self, *packets: str) -> tuple[int, str]:
        return await self.server.request("POST", self.target, data=SEPARATOR.join(packets).encode())

    async def probe(self) -> "WebSocket":
        """Returns a WebSocket that names this session."""
        return await self.server.websocket(f"{self.path}?EIO=4&transport=websocket&sid={self.sid}")

    async def upgraded(self) -> "WebSocket":
        ws = await self.probe()
        await ws.send("2probe")
        assert await ws.receive() == "3probe"
        await ws.send("5")
        return ws


class WebSocket:
    """Wraps a WebSocket: `receive` skips pings, and returns None when the server has closed."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse):
        self.ws = ws

    async def send(self, *packets: str | bytes):
        for packet in packets:
            await (self.ws.send_bytes(packet) if isinstance(packet, bytes) else self.ws.send_str(packet))

    async def receive(self, pings: bool = False, within: float = 5):
        async with asyncio.timeout(within):
            while True:
                message = await self.ws.receive()
                if message.type not in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
                    return None
                if message.data != "2" or pings:
                    return message.data

    async def is_closed(self) -> bool:
        while (packet := await self.receive()) is not None:
            raise AssertionError(f"not closed, but: {packet!r}")
        return True
