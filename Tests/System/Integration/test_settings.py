"""Starting the executables by hand: settings, --help, and deploy/up."""

import json
import os
import re
import signal
import socket
import stat
import subprocess

import httpx
import pytest
from parlor import ROOT, SERVICES, START_DEADLINE, Parlor, Process, ask_readiness, binaries, until
from test_balancer import free_port

EXECUTABLES = ["parlor", "parlor-bus", "parlor-gateway", *SERVICES]


def run(*command) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=START_DEADLINE, stdin=subprocess.DEVNULL)  # fmt: skip


def settings_of(program: str) -> dict[str, dict]:
    shown = run(binaries() / program, "--settings-json")
    assert shown.returncode == 0 and shown.stderr == ""
    return {setting["name"]: setting for setting in json.loads(shown.stdout)}


def flags_in(program: str, inquiry: str) -> set[str]:
    """Returns the flags that --help or --help-all lists."""
    shown = run(binaries() / program, inquiry)
    assert shown.returncode == 0 and shown.stderr == ""
    assert max(map(len, shown.stdout.splitlines())) <= 100
    return set(re.findall(r"^  (--[a-z-]+)", shown.stdout, re.MULTILINE))


@pytest.mark.parametrize("name", EXECUTABLES)
def test_help_lists_the_settings(name):
    settings = settings_of(name)
    assert {"OPS_PORT", "LOG_LEVEL", "LOG_FORMAT"} <= settings.keys()
    assert all(setting["help"] and setting["default"] and setting["default"] != "0" for setting in settings.values())
    usual, most = flags_in(name, "--help"), flags_in(name, "--help-all")
    assert usual <= most and not any(flag.startswith("--rate-") for flag in usual)
    hidden = {name for name, setting in settings.items() if setting["flag"] not in most}
    assert hidden <= {"TESTING", "CLOCK_OFFSET_FILE", "CRASH_AT", "RATE_LIMITS", "APNS_URL", "APNS_CA_FILE"}
    assert hidden >= {"TESTING", "CLOCK_OFFSET_FILE"}


def test_help_is_short():
    assert len(flags_in("parlor", "--help")) <= 45


def test_a_setting_has_one_meaning_in_all_programs():
    settings = [settings_of(name) for name in EXECUTABLES]
    for name in set().union(*settings):
        assert len({json.dumps(known[name]) for known in settings if name in known}) == 1


@pytest.mark.parametrize("name", EXECUTABLES)
def test_the_version_is_that_of_the_latest_change(name):
    [version, *_] = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert run(binaries() / name, "--version").stdout == f"{name} {version}\n"


def test_the_version_is_in_the_log_in_readyz_and_in_metrics(tmp_path):
    version = run(binaries() / "parlor", "--version").stdout.split()[1]
    port = free_port()
    parlor = Process(binaries() / "parlor", "--port", 0, "--data", tmp_path, "--ops-port", port)
    address = parlor.wait_until_ready()
    first = json.loads(parlor.log().splitlines()[0])
    assert (first["message"], first["version"]) == ("starting", version)
    pages = [httpx.get(f"{where}/{path}").text for where in (address, f"http://127.0.0.1:{port}") for path in ("readyz", "metrics")]
    assert json.loads(pages[0])["version"] == version and pages[2] == f"ready {version}\n"
    assert all(f'\nparlor_build_info{{version="{version}"}} 1.0\n' in metrics for metrics in pages[1::2])
    assert parlor.stop() == 0


def test_settings_that_endanger_data_need_testing(tmp_path):
    for flags in (["--crash-at", "after-commit:1"], ["--clock-offset-file", tmp_path / "clock"]):
        result = run(binaries() / "parlor", "--data", tmp_path, *flags)
        assert result.returncode == 2 and result.stderr.endswith("is for tests: it needs TESTING=on\n")


def test_one_environment_serves_the_gateway_and_the_bus():
    """MAX_PENDING_BYTES is also the old name of the bus', which needs 2m at least."""
    bus = Process(binaries() / "parlor-bus", "--bus-port", 0, environment={"MAX_PENDING_BYTES": "1m"})
    bus.wait_until_ready()
    assert bus.stop() == 0


@pytest.mark.parametrize("name", EXECUTABLES)
@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (["--prot", "1"], "there is no setting --prot; --help lists all"),
        (["--log-level"], "--log-level needs a value"),
        (["--log-level", "loud"], 'LOG_LEVEL (--log-level) has to be one of debug, info, warning, error, not "loud"'),
    ],
)
def test_a_wrong_setting_stops_the_start(name, flags, line):
    result = run(binaries() / name, *flags)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"{name}: {line}\n")


@pytest.mark.parametrize("value", ["rooms,", "rooms,rooms", "Rooms", "rooms;accounts", ""])
def test_required_services_that_cannot_be_stop_the_start(value):
    result = run(binaries() / "parlor-gateway", "--required-services", value)
    line = "has to be names of services, each once, such as rooms,messaging"
    assert result.returncode == 2
    assert result.stderr == f'parlor-gateway: REQUIRED_SERVICES (--required-services) {line}, not "{value}"\n'


@pytest.mark.parametrize("name", ["parlor", "parlor-accounts"])
def test_a_data_folder_that_cannot_be_made_stops_the_start(name, tmp_path):
    (tmp_path / "file").write_text("")
    bus = Process(binaries() / "parlor-bus", "--port", 0)
    # Also waited for where it is not needed: the bus can be stopped cleanly only once it is ready.
    address = bus.wait_until_ready()
    flags = ["--bus", address] if name != "parlor" else ["--port", 0]
    result = run(binaries() / name, "--data", tmp_path / "file" / "data", *flags)
    assert bus.stop() == 0
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith(f"{name}: the folder {tmp_path}/file/data cannot be created")


def test_a_gateway_makes_its_data_folder_and_keeps_in_it_what_services_announce(tmp_path):
    """With a key from elsewhere nothing else would create the folder."""
    (tmp_path / "key").write_text("k" * 32)
    (tmp_path / "key").chmod(0o600)
    bus = Process(binaries() / "parlor-bus", "--port", 0)
    address = bus.wait_until_ready()
    data = tmp_path / "not" / "yet"
    gateway = Process(
        binaries() / "parlor-gateway", "--port", 0, "--bus", address, "--data", data, "--jwt-secret-file", tmp_path / "key")  # fmt: skip
    gateway.wait_until_ready()
    rooms = Process(binaries() / "parlor-rooms", "--bus", address, "--data", tmp_path / "rooms")
    rooms.wait_until_ready()
    until(lambda: (data / "manifests.json").exists(), what="manifests")
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert [process.stop() for process in (rooms, gateway, bus)] == [0, 0, 0]


def test_a_database_that_nobody_can_name_stops_the_start_and_shows_no_password(tmp_path):
    for url in ("mysql://x", "postgres://me:secret@host:port", "sqlite:"):
        result = run(binaries() / "parlor", "--port", 0, "--data", tmp_path, "--database-url", url)
        what = "has to be sqlite:FILE, sqlite:FOLDER/ or postgres://USER@HOST/DATABASE"
        assert result.returncode == 2 and "secret" not in result.stderr
        assert result.stderr.splitlines()[-1] == f"parlor: DATABASE_URL (--database-url) {what}"


def test_a_database_server_that_is_not_there_is_waited_for(tmp_path):
    url = "postgres://me:secret@127.0.0.1:1/rooms"
    parlor = Process(binaries() / "parlor", "--port", 0, "--data", tmp_path, "--database-url", url)
    until(lambda: "waiting for the database" in parlor.log(), what="a line")
    assert parlor.stop() == 0
    assert "secret" not in parlor.log()
    backup = run(binaries() / "parlor", "backup", "--data", tmp_path, "--database-url", url, "--to", tmp_path / "copy")
    assert backup.returncode == 2 and "copy them with pg_dump, see docs/postgres.md" in backup.stderr and "secret" not in backup.stderr


def test_a_port_that_is_taken_stops_the_start(tmp_path):
    bus = Process(binaries() / "parlor-bus", "--port", 0)
    port = bus.wait_until_ready().rsplit(":")[-1]
    for name, flags in [("parlor", ["--data", tmp_path]), ("parlor-bus", [])]:
        result = run(binaries() / name, "--port", port, *flags)
        assert result.returncode == 1
        assert result.stderr.splitlines()[-1].startswith(f"{name}: cannot listen on 127.0.0.1, port {port}: ")
    assert bus.stop() == 0


@pytest.mark.parametrize("form", ["one", "separate"])
def test_secrets_are_their_owners_alone(start, form):
    parlor = start(form)
    secrets = ["jwt.secret"] + (["bus.token"] if form == "separate" else [])
    for name in secrets:
        assert stat.S_IMODE((parlor.data / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(parlor.data.stat().st_mode) == 0o700


def test_several_run_side_by_side(start):
    addresses = {start(form).address for form in ("one", "separate", "separate")}
    assert len(addresses) == 3 and all(ask_readiness(address)[0] == 200 for address in addresses)


@pytest.mark.parametrize("first", ["one", "separate"])
@pytest.mark.parametrize("second", ["one", "separate"])
def test_a_data_folder_serves_one_at_a_time(start, first, second):
    """A second one on a bus of its own would not reach the first one's clients. After kill -9, the next just starts."""
    parlor = start(first)
    command = [binaries() / "parlor"] if second == "one" else [ROOT / "deploy/separate", "--binaries", binaries()]
    result = run(*command, "--port", 0, "--data", parlor.data)
    assert (result.returncode, result.stdout) == (1, "")
    assert f"{parlor.data}" in result.stderr and "is in use by another Parlor" in result.stderr
    assert ask_readiness(parlor.address)[0] == 200
    parlor.process.kill()
    parlor.form = second
    parlor.run(0)
    parlor.wait_until_ready()


def test_several_of_a_service_share_its_data(tmp_path):
    """Programs on one bus share the data: that is how a service is replaced without a gap."""
    bus = Process(binaries() / "parlor-bus", "--port", 0)
    flags = ["--data", tmp_path, "--bus", bus.wait_until_ready()]
    rooms = [Process(binaries() / "parlor-rooms", *flags) for _ in range(2)]
    for process in rooms:
        process.wait_until_ready()
    for process in [*rooms, bus]:
        assert process.stop() == 0, process.log()


def test_the_parent_refuses_what_no_program_knows(tmp_path):
    for flags, line in [
        (["--prot", "1"], "parlor: there is no setting --prot; --help lists all"),
        (["--port"], "parlor: --port needs a value"),
        (["--ping-interval", "soon"], "parlor: parlor-gateway did not start: it ended with status 2"),
    ]:
        result = run(ROOT / "deploy/separate", "--binaries", binaries(), "--data", tmp_path / "data", *flags)
        assert result.returncode == 2 and result.stdout == ""
        assert line in result.stderr.splitlines()


def test_the_parent_writes_each_line_at_once_as_its_programs_log_to_the_same_file():
    # Each read from such a socket returns what one write sent.
    reader, writer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with reader, writer:
        status = subprocess.call(
            [ROOT / "deploy/separate", "--binaries", binaries(), "--prot", "1"],
            stderr=writer, timeout=START_DEADLINE, env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        assert status == 2
        assert reader.recv(1000) == b"parlor: there is no setting --prot; --help lists all\n"


def test_no_child_outlives_its_parent(tmp_path):
    parlor = Parlor("separate", tmp_path / "data")
    children = parlor.children().values()
    assert len(children) == len(EXECUTABLES) - 1
    parlor.process.process.kill()
    until(lambda: not any(is_alive(pid) for pid in children), what="the end of all children")
    parlor.process.process.wait()


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.timeout(600)
@pytest.mark.parametrize("form", [[], ["--separate"]], ids=["one", "separate"])
def test_up_builds_starts_and_says_what_is_next(form, tmp_path):
    up = Process(ROOT / "deploy/up", *form, "--port", 0, "--data", "data", cwd=tmp_path)
    address = up.wait_until_ready()
    assert ask_readiness(address)[0] == 200
    assert (tmp_path / "data" / "accounts.db").exists(), "a relative folder is meant from where one stands"
    until(lambda: f"next: curl -s {address}/readyz" in up.log(), what="the next step")
    up.signal(signal.SIGINT)
    assert up.process.wait(5) == 0, up.log()
