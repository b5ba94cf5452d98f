"""SIGTERM and SIGKILL: open requests finish, acknowledged changes are kept, and clients reconnect."""

import asyncio
import json
import os
import signal
import time
from urllib.parse import urlsplit

import aiohttp
import httpx
import pytest
from parlor import SERVICES, STOP_DEADLINE, Process, binaries, until
from people import World, eventually
from test_settings import run

EXECUTABLES = ["parlor", "parlor-bus", "parlor-gateway", *SERVICES]


async def test_data_outlives_a_restart(own_parlor, own_world):
    alice, bob, room = await own_world.pair()
    sent = [await alice.send(room, f"{number}") for number in range(5)]
    before = await bob.get("/api/rooms/my-rooms")
    assert own_parlor.stop() == 0
    own_parlor.start_again()
    assert await bob.get("/api/rooms/my-rooms") == before, "also the tokens are good still"
    assert await bob.get(f"/api/rooms/{room['id']}/messages") == sent
    assert (await alice.send(room, "again"))["seq"] == 6


async def test_what_was_acknowledged_is_there_after_a_kill(own_parlor, own_world):
    alice, _, room = await own_world.pair()
    acknowledged = []

    async def talk():
        for number in range(10_000):
            acknowledged.append(await alice.send(room, f"{number}"))

    talking = asyncio.create_task(talk())
    await eventually(lambda: at_least(acknowledged, 20))
    own_parlor.process.kill()
    await asyncio.wait([talking])
    assert talking.exception() is not None
    own_parlor.start_again()
    kept = await alice.get(f"/api/rooms/{room['id']}/messages?after=0&limit=200")
    assert [message["id"] for message in kept][: len(acknowledged)] == [m["id"] for m in acknowledged][:200]
    assert [message["seq"] for message in kept] == list(range(1, len(kept) + 1))


@pytest.mark.parametrize("service", ["messaging", "accounts"])
async def test_a_start_without_what_was_acknowledged_is_refused(start, service):
    parlor = start("one")
    async with World(parlor) as world:
        alice, _, room = await world.pair()
        message = await alice.send(room, "kept")
        parlor.process.kill()
        log = parlor.data / f"{service}.db-wal"
        aside = log.rename(log.with_suffix(".aside"))
        for _ in range(2):
            refused = run(binaries() / "parlor", "--port", 0, "--data", parlor.data)
            assert refused.returncode != 0 and f"{service}.db lacks acknowledged changes" in refused.stderr, refused.stderr
            assert f"delete {parlor.data}/{service}.db-acknowledged" in refused.stderr
        aside.rename(log)
        parlor.run(parlor.port)
        assert await alice.get(f"/api/rooms/{room['id']}/messages") == [message]


async def at_least(gathered: list, count: int) -> bool:
    return len(gathered) >= count


async def test_an_open_request_is_answered_before_the_end(own_parlor, own_world):
    body = json.dumps({"username": "late-comer", "password": "correct horse 1"})
    where = urlsplit(own_parlor.address)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(
        f"POST /api/auth/register HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body[:10]}".encode())
    await writer.drain()
    await own_world.http.get("/healthz")  # a loop that answers this has most likely read the other half, too
    own_parlor.process.signal()
    await eventually(lambda: is_closed(where))
    writer.write(body[10:].encode())
    answer = await asyncio.wait_for(reader.read(), STOP_DEADLINE)
    assert answer.startswith(b"HTTP/1.1 201 "), answer
    assert own_parlor.process.process.wait(STOP_DEADLINE) == 0


async def is_closed(where) -> bool:
    try:
        _, writer = await asyncio.open_connection(where.hostname, where.port)
    except ConnectionError:
        return True
    writer.close()
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_sockets_are_closed_so_that_clients_come_back(own_parlor, own_world, number):
    alice, _, room = await own_world.pair()
    path = f"{own_parlor.address}/socket.io/?EIO=4&transport=websocket"
    async with aiohttp.ClientSession() as http, http.ws_connect(path, autoping=False) as ws:
        assert (await ws.receive_str()).startswith("0{")
        await ws.send_str(f"40{json.dumps({'token': alice.token})}")
        assert (await ws.receive_str()).startswith("40{")
        began = time.monotonic()
        own_parlor.process.signal(number)
        heard = [message.data async for message in ws]
        assert not [data for data in heard if isinstance(data, str) and data.startswith(("1", "41"))], heard
        assert own_parlor.process.process.wait(STOP_DEADLINE) == 0
        assert time.monotonic() - began < STOP_DEADLINE


async def test_clients_come_back_by_themselves(own_parlor, own_world):
    alice, bob, room = await own_world.pair()
    phone = await bob.socket(joined=room)
    assert own_parlor.stop() == 0
    await phone.expect("disconnect")
    own_parlor.start_again()
    await phone.expect("connect", within=15)
    await phone.join(room)
    await alice.send(room, "still there?")
    assert (await phone.expect("message:new"))["message"]["text"] == "still there?"


@pytest.mark.parametrize("name", EXECUTABLES)
def test_an_executable_stops_in_order(name, tmp_path):
    bus = Process(binaries() / "parlor-bus", "--port", 0)
    flags = {"parlor": ["--port", 0], "parlor-bus": ["--port", 0], "parlor-gateway": ["--port", 0]}.get(name, [])
    if name != "parlor-bus":
        flags += ["--data", tmp_path]
    try:
        bus_address = bus.wait_until_ready()
        if name not in ("parlor", "parlor-bus"):
            flags += ["--bus", bus_address]
        program = Process(binaries() / name, *flags)
        program.wait_until_ready()
        assert program.stop() == 0, program.log()
    finally:
        assert bus.stop() == 0, bus.log()


@pytest.mark.parametrize("name", ["parlor-gateway", *SERVICES])
def test_an_executable_that_waits_for_its_bus_stops_as_well(name, tmp_path):
    bus = Process(binaries() / "parlor-bus", "--port", 0)
    address = bus.wait_until_ready()
    assert bus.stop() == 0
    program = Process(binaries() / name, "--data", tmp_path, "--bus", address)
    until(lambda: "waiting for the bus" in program.log(), what="the line that says so")
    assert program.stop() == 0, program.log()


@pytest.mark.parametrize("name", ["parlor-bus", "parlor-gateway", *SERVICES])
async def test_a_deploy_of_one_process_loses_nothing(start, name):
    """Open requests during the stop are done or refused as retryable; completed changes are kept."""
    parlor = start("separate")
    async with World(parlor) as world:
        alice, bob, room = await world.pair()
        done = []
        is_over = asyncio.Event()

        async def talk(lane: int):
            number = 0
            while not is_over.is_set():
                number += 1
                body = {"text": "x", "tempId": f"{lane}-{number}"}
                try:
                    answer = await alice.request("POST", f"/api/rooms/{room['id']}/messages", body)
                except httpx.ConnectError:
                    assert name == "parlor-gateway", "only the edge itself may be down"
                    await asyncio.sleep(0.02)
                    continue
                if answer.status_code == 503:
                    assert answer.json()["error"]["code"] == "service_unavailable" and "Retry-After" in answer.headers
                else:
                    assert answer.status_code == 201, answer.text
                    done.append(answer.json()["data"]["id"])

        lanes = [asyncio.create_task(talk(lane)) for lane in range(4)]
        await eventually(lambda: at_least(done, 20))
        pid = parlor.pid(name)
        os.kill(pid, signal.SIGTERM)
        await asyncio.to_thread(parlor.wait_for_successor, name, pid)
        count = len(done)
        await eventually(lambda: at_least(done, count + 20))
        is_over.set()
        await asyncio.gather(*lanes)
        assert f"{name} ended with status 0;" in parlor.process.log()
        kept, after = set(), 0
        while page := await bob.get(f"/api/rooms/{room['id']}/messages?after={after}&limit=200"):
            kept |= {message["id"] for message in page}
            after = page[-1]["seq"]
        assert set(done) <= kept
