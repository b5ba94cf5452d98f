"""`parlor --demo` has sample rooms in a folder of its own, and never uses real data."""

import os
import re
import subprocess

import httpx
import pytest
from parlor import Process, binaries


@pytest.fixture
def demo(tmp_path):
    process = Process(binaries() / "parlor", "--demo", "--port", 0, environment={"TMPDIR": str(tmp_path)})
    lines = [process.process.stdout.readline() for _ in range(3)]
    yield process, lines, tmp_path
    process.kill()


def test_links_sign_in_as_two_people_with_a_dozen_rooms(demo):
    process, lines, folder = demo
    links = dict(re.fullmatch(r"(\w+): (http://\S+)\n", line).groups() for line in lines[:2])
    assert re.fullmatch(r"parlor ready http://127.0.0.1:\d+\n", lines[2]), process.log()
    assert links["ada"].startswith("http://127.0.0.1:") and links["ben"].startswith("http://localhost:")
    address = lines[2].split()[-1]
    for name, link in links.items():
        username, password = link.split("/")[-2:]
        assert username == name
        session = httpx.post(f"{address}/api/auth/login", json={"username": name, "password": password}).json()["data"]
        headers = {"Authorization": f"Bearer {session['token']}"}
        rooms = httpx.get(f"{address}/api/rooms/my-rooms", headers=headers).json()["data"]
        assert len(rooms) >= 12 and rooms[0]["name"] == "Kitchen plans" and rooms[0]["elementCount"] >= 6
        assert [room["participantCount"] for room in rooms if room["kind"] == "group"] == [4]
        assert [room for room in rooms if not room["name"]] and [room for room in rooms if room["hasUnread"]]
        days = {room["lastActivityAt"][:10] for room in rooms}
        assert len(days) > 3, "they were not all made this minute"
    assert len(list(folder.iterdir())) == 1
    assert process.stop() == 0, process.log()
    assert list(folder.iterdir()) == [], "nothing is left of it"


@pytest.mark.parametrize(
    "flags, environment",
    [
        (["--data", "DATA"], {}), (["--data=DATA"], {}), ([], {"DATA_DIR": "DATA"}),
        ([], {"DATABASE_URL": "postgres://somebody@somewhere/real"}), (["--jwt-secret-file", "DATA/secret"], {}),
    ],
)  # fmt: skip
def test_it_refuses_to_run_beside_real_data(tmp_path, flags, environment):
    data = tmp_path / "data"
    data.mkdir()
    (data / "rooms.db").write_text("real")
    done = subprocess.run(
        [binaries() / "parlor", "--demo", "--port", "0", *(flag.replace("DATA", str(data)) for flag in flags)],
        env=os.environ | {name: value.replace("DATA", str(data)) for name, value in environment.items()},
        capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert done.returncode == 2 and done.stderr.startswith("parlor: --demo has data of its own: leave out ")
    assert done.stdout == "" and [file.name for file in data.iterdir()] == ["rooms.db"]
    assert (data / "rooms.db").read_text() == "real"


@pytest.mark.parametrize(
    "flags, environment, status",
    [
        (["--demo", "--help"], {}, 0), (["--demo", "--nonsense"], {}, 2), (["--demo", "--port", "0", "--ops-port=x"], {}, 2),
        (["--demo", "--demo=off", "--help"], {}, 0), (["--help"], {"DEMO": "on"}, 0), (["--demo", "--version"], {}, 0),
    ],
)  # fmt: skip
def test_a_program_that_does_not_start_leaves_no_folder_behind(tmp_path, flags, environment, status):
    done = subprocess.run(
        [binaries() / "parlor", *flags],
        env=os.environ | {"TMPDIR": str(tmp_path)} | environment, capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_flag_that_says_off_wins_over_the_environment(tmp_path):
    folder, data = tmp_path / "temporary", tmp_path / "data"
    folder.mkdir()
    process = Process(
        binaries() / "parlor", "--demo=off", "--port", 0, "--data", data,
        environment={"TMPDIR": str(folder), "DEMO": "on"},
    )  # fmt: skip
    try:
        assert process.process.stdout.readline().startswith("parlor ready "), process.log()
        assert list(folder.iterdir()) == [] and data.exists()
    finally:
        process.kill()
