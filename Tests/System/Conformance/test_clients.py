"""The stock Python client, by every transport."""

import asyncio

import pytest
import socketio

TRANSPORTS = {"polling": ["polling"], "websocket": ["websocket"], "upgrade": ["polling", "websocket"]}


class Client:
    def __init__(self):
        self.io = socketio.AsyncClient(reconnection=False)
        self.heard: asyncio.Queue = asyncio.Queue()
        for namespace in ("/", "/custom"):
            self.io.on("*", lambda event, *data: self.heard.put_nowait((event, *data)), namespace=namespace)

    async def next(self):
        return await asyncio.wait_for(self.heard.get(), 5)


@pytest.fixture
async def client(patient_address, request):
    client = Client()
    await client.io.connect(
        patient_address, transports=TRANSPORTS[request.param], namespaces=["/", "/custom"], auth={"token": "x"}
    )
    yield client
    await client.io.disconnect()


@pytest.mark.parametrize("client", TRANSPORTS, indirect=True)
async def test_a_client_is_served(client):
    assert [await client.next() for _ in range(2)] == [("auth", {"token": "x"})] * 2
    await client.io.emit("message", (1, "zwei", {"drei": [True, None]}))
    assert await client.next() == ("message-back", 1, "zwei", {"drei": [True, None]})
    await client.io.emit("message", (b"\0\1\2", {"in": [b""]}), namespace="/custom")
    assert await client.next() == ("message-back", b"\0\1\2", {"in": [b""]})
    assert await client.io.call("message-with-ack", ("a", b"b"), timeout=5) == ("a", b"b")


@pytest.mark.parametrize("client", TRANSPORTS, indirect=True)
async def test_a_burst_arrives_in_order(client):
    for _ in range(2):
        await client.next()
    for n in range(200):
        await client.io.emit("message", n)
    assert [await client.next() for _ in range(200)] == [("message-back", n) for n in range(200)]


async def test_a_namespace_that_is_not_there(patient_address):
    client = Client()
    with pytest.raises(socketio.exceptions.ConnectionError):
        await client.io.connect(patient_address, namespaces=["/nowhere"], wait_timeout=2)
    await client.io.disconnect()
