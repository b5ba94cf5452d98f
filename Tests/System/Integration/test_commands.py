"""`parlor verify` and `parlor backup` work beside a Parlor that is being written to."""

import asyncio
import contextlib
import os
import resource
import signal
import sqlite3
import stat
import subprocess

import pytest
from parlor import ROOT, SERVICES, START_DEADLINE, Parlor, binaries
from people import World, eventually

MAX_FILE = 64 * 1024  # bytes, fewer than a database has


def parlor(*arguments, **options) -> subprocess.CompletedProcess:
    command = [str(part) for part in (binaries() / "parlor", *arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=START_DEADLINE, **options)


@contextlib.asynccontextmanager
async def under_load(world: World):
    """Two people who write, read, delete, create and look without a pause. Yields Alice, Bob, their room and the sent messages."""
    alice, bob, room = await world.pair()
    sent = []
    phone = await bob.socket()
    is_over = asyncio.Event()
    here = f"/api/rooms/{room['id']}"

    async def talk():
        while not is_over.is_set():
            kept, gone = [await alice.send(room, "x") for _ in range(2)]
            sent.append(kept["id"])
            await bob.post(f"{here}/messages/read", {"messageIds": [kept["id"]]})
            await alice.data("DELETE", f"{here}/messages/{gone['id']}", status=204)

    async def draw():
        while not is_over.is_set():
            kept = await alice.post(f"{here}/elements", {"type": "note"}, 201)
            gone = await alice.post(f"{here}/elements", {"type": "note"}, 201)
            await bob.data("PATCH", f"{here}/elements/{kept['id']}", {"content": {}})
            await bob.data("DELETE", f"{here}/elements/{gone['id']}", status=204)

    async def look():
        while not is_over.is_set():
            await phone.join(room)
            await phone.do("room:leave", {"roomId": room["id"]})

    lanes = [asyncio.create_task(lane()) for lane in (talk, talk, draw, draw, look)]

    async def is_busy() -> bool:
        return len(sent) >= 5

    await eventually(is_busy)
    yield alice, bob, room, sent
    is_over.set()
    await asyncio.gather(*lanes)


async def test_counts_are_right_while_they_change(own_parlor, own_world):
    async with under_load(own_world):
        for flags in [[], [], ["--repair"]]:
            result = await asyncio.to_thread(parlor, "verify", "--data", own_parlor.data, *flags)
            assert (result.returncode, result.stderr) == (0, ""), result
            assert result.stdout.splitlines()[-1] == "all counts are right"


async def test_damage_is_named_and_repaired_under_load(start):
    running = start("one")
    async with World(running) as world, under_load(world):
        carol, dave, room = await world.pair()
        for text in ("one", "two"):
            await carol.send(room, text)
        await carol.post(f"/api/rooms/{room['id']}/elements", {"type": "note"}, 201)
        for service, sql in [
            ("messaging", "UPDATE members SET settled = (SELECT shown FROM chats WHERE number = room) - 40 WHERE sent = 0 AND room = (SELECT number FROM chats WHERE room_id = ?)"),
            ("elements", "UPDATE boards SET element_count = 50 WHERE room_id = ?"),
            ("elements", "DELETE FROM unseen WHERE room_id = ?"),
            ("elements", "UPDATE people SET bytes = 7 WHERE user_id = (SELECT created_by FROM elements WHERE room_id = ?)"),
        ]:
            with contextlib.closing(sqlite3.connect(running.data / f"{service}.db", timeout=20)) as database, database:
                database.execute(sql, [room["id"]])
        assert (await dave.view(room))["badges"] == {"messages": 40, "elements": 0}
        lines = [
            f"messaging: room {room['id']}: unread messages of {dave.id}: 40 kept, 2 counted",
            f"elements: room {room['id']}: elements: 50 kept, 1 counted",
            f"elements: room {room['id']}: unseen elements of {dave.id}: nothing kept, 1 counted",
            f"elements: bytes of {carol.id}'s elements in all rooms: 7 kept, 514 counted",
        ]
        found = await asyncio.to_thread(parlor, "verify", "--data", running.data)
        assert found.returncode == 1 and [line for line in found.stdout.splitlines() if " kept, " in line] == lines
        repaired = await asyncio.to_thread(parlor, "verify", "--data", running.data, "--repair")
        assert repaired.returncode == 0 and repaired.stdout.count("; repaired") == 4, repaired
        assert (await asyncio.to_thread(parlor, "verify", "--data", running.data)).returncode == 0
        seen = await dave.view(room)
        assert (seen["badges"], seen["elementCount"]) == ({"messages": 2, "elements": 1}, 1)


@pytest.mark.parametrize("form", ["one", "separate"])
async def test_a_backup_of_a_running_parlor_is_whole(start, tmp_path, form):
    running = start(form)
    async with World(running) as world, under_load(world) as (alice, bob, room, sent):
        acknowledged = list(sent)
        result = await asyncio.to_thread(parlor, "backup", "--data", running.data, "--to", tmp_path / "backup")
        assert (result.returncode, result.stderr) == (0, ""), result
    assert running.stop() == 0

    assert stat.S_IMODE((tmp_path / "backup").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "backup/jwt.secret").stat().st_mode) == 0o600
    names = {path.name for path in (tmp_path / "backup").iterdir()}
    assert {"accounts.db", "rooms.db", "messaging.db", "elements.db", "jwt.secret"} <= names
    assert not [name for name in names if name.endswith(("-wal", "-shm", ".lock"))]

    (tmp_path / "backup").rename(tmp_path / "restored")
    assert parlor("verify", "--data", tmp_path / "restored").returncode == 0
    restored = Parlor("one", tmp_path / "restored")
    try:
        async with World(restored) as world:
            alice.world = bob.world = world
            kept = await alice.get(f"/api/rooms/{room['id']}/messages?limit=200&after=0")
            assert {message["id"] for message in kept} >= set(acknowledged[:90]), "the tokens are good still, too"
            assert (await alice.send(room, "on we go"))["seq"] > kept[-1]["seq"]
        assert identities(tmp_path / "restored").isdisjoint(identities(running.data))
    finally:
        assert restored.stop() == 0
    assert parlor("verify", "--data", tmp_path / "restored").returncode == 0


def identities(data) -> set[str]:
    found = set()
    for path in data.glob("*.db"):
        with contextlib.closing(sqlite3.connect(path)) as database:
            found |= {row[0] for row in database.execute("SELECT id FROM database_identity")}
    assert len(found) == len(SERVICES)
    return found


def test_a_backup_over_the_containers_volumes_has_the_files_of_one_data_folder(start, tmp_path):
    running = start("separate", "--push-provider", "webhook", "--push-webhook-url", "http://127.0.0.1:1/hook")
    assert running.stop() == 0
    assert parlor("backup", "--data", running.data, "--to", tmp_path / "one").returncode == 0
    wanted = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    del wanted["bus.url"], wanted["bus.token"]  # of the bus that deploy/separate ran

    volumes, secrets = tmp_path / "volumes", tmp_path / "secrets"
    places = {"jwt.secret": secrets, "manifests.json": volumes / "gateway", "webhook.secret": volumes / "push"}
    for name in wanted:
        place = places.get(name) or volumes / name.removesuffix(".db")
        place.mkdir(parents=True, exist_ok=True)
        for path in running.data.glob(f"{name}*"):
            path.rename(place / path.name)
    script = (ROOT / "deploy/on-volumes").read_text().replace("/volumes/", f"{volumes}/").replace("/secrets/", f"{secrets}/")
    (tmp_path / "data").mkdir()
    result = subprocess.run(
        ["bash", "-c", script, "on-volumes", "backup", "--to", tmp_path / "volumes-backup"], capture_output=True, text=True,
        timeout=START_DEADLINE,
        env={**os.environ, "PATH": f"{binaries()}:{os.environ['PATH']}", "DATA_DIR": str(tmp_path / "data")})  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")
    found = {path.name: path.read_bytes() for path in (tmp_path / "volumes-backup").iterdir()}
    assert found.keys() == wanted.keys() >= places.keys()
    assert all(found[name] == wanted[name] for name in places)


async def test_a_backup_without_space_says_so_and_leaves_nothing(start, tmp_path):
    running = start("one")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, MAX_FILE))

    (tmp_path / "there").mkdir()
    result = parlor("backup", "--data", running.data, "--to", tmp_path / "there/new", preexec_fn=limit, restore_signals=False)
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.startswith("parlor backup: ") and ".db cannot be copied: " in result.stderr
    assert list((tmp_path / "there").iterdir()) == []


@pytest.mark.parametrize("command", ["verify", "backup"])
def test_what_cannot_be_done_is_said(command, tmp_path):
    flags = ["--to", tmp_path / "new"] if command == "backup" else []
    for data, reason in [(tmp_path / "none", "No such file or directory"), (tmp_path, "No such file or directory")]:
        result = parlor(command, "--data", data, *flags)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.startswith(f"parlor {command}: {data}") and result.stderr.endswith(f"{reason}\n")
    result = parlor(command, "--dta", tmp_path)
    assert (result.returncode, result.stderr) == (2, f"parlor {command}: there is no setting --dta; --help lists all\n")
    assert list(tmp_path.iterdir()) == []


def test_help_tells_of_the_commands():
    shown = parlor("--help").stdout
    for command, flag in [("verify", "--repair"), ("backup", "--to")]:
        assert f"  parlor {command} " in shown
        result = parlor(command, "--help")
        assert result.returncode == 0 and flag in result.stdout and "--data (DATA_DIR)" in result.stdout
