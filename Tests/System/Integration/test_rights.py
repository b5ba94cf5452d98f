"""What an attacker with one service's secrets can do on the bus, on NATS and in PostgreSQL, which are set up as in the containers,
by deploy/make-secrets and deploy/postgres-roles."""

import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from parlor import ROOT, SERVICES, START_DEADLINE, Process, binaries, until

NAMES = [name.removeprefix("parlor-") for name in SERVICES]
WHO = [*NAMES, "bus", "gateway", "tools", "nats", "postgres", "roles", "prometheus", "grafana"]


class Secrets:
    """The secrets that deploy/make-secrets hands to each service."""

    def __init__(self, folder: Path, *flags: str, who: list[str] = WHO):
        self.own, self.hands, self.flags = folder / "own", folder / "for", flags
        for path in [self.own, *(self.hands / name for name in who)]:
            path.mkdir(parents=True, exist_ok=True)
        self.make()

    def make(self):
        # It asks `parlor` on the PATH for the peers. Another version's `parlor` could name other peers.
        environment = {**os.environ, "PATH": f"{binaries()}:{os.environ['PATH']}"}
        command = [ROOT / "deploy/make-secrets", self.own, "--for", self.hands, *self.flags]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=START_DEADLINE)
        assert done.returncode == 0, done.stderr

    def path(self, who: str, name: str) -> Path:
        return self.hands / who / name

    def text(self, who: str, name: str) -> str:
        return self.path(who, name).read_text().strip()

    def files(self) -> dict[str, set[str]]:
        return {folder.name: {file.name for file in folder.iterdir()} for folder in self.hands.iterdir()}

    def contents(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.hands.rglob("*") if path.is_file()}


class Lines:
    """A raw peer of a bus: lines in, lines out."""

    def __init__(self, port: int):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=5)
        self.reader = self.socket.makefile("r")

    def say(self, line: str):
        self.socket.sendall(line.encode() + b"\r\n")

    def hear(self) -> str:
        return self.reader.readline().strip()

    def close(self):
        self.reader.close()
        self.socket.close()


# MARK: Who has what


def test_each_has_the_secrets_that_it_needs_and_no_other(tmp_path):
    secrets = Secrets(tmp_path, "--cluster")
    service = {"bus.token", "database.passfile", "environment"}
    assert secrets.files() == dict.fromkeys(NAMES, service) | {
        "accounts": service | {"jwt.secret"}, "prometheus": {"programs.yml", "programs-alerts.yml"},
        "gateway": {"bus.token", "jwt.secret", "environment"}, "tools": {"bus.token", "jwt.secret", "database.passfile"}, "bus": set(),
        "nats": {"nats.conf"}, "postgres": {"database.password"}, "grafana": {"grafana.password"},
        "roles": {"database.passfile", *(f"{name}.password" for name in NAMES)},
    }  # fmt: skip
    tokens = [secrets.text(who, "bus.token") for who in [*NAMES, "gateway", "tools"]]
    assert len(set(tokens)) == len(tokens)
    read_by_group = {"database.password", "grafana.password", "programs.yml", "programs-alerts.yml"}
    for path in secrets.contents():
        assert stat.S_IMODE(path.stat().st_mode) == (0o640 if path.name in read_by_group else 0o600), path


def test_secrets_stay_as_they_are_and_a_plugin_gets_a_token_of_its_own(tmp_path):
    secrets = Secrets(tmp_path)
    before = secrets.contents()
    secrets.make()
    assert secrets.contents() == before
    (tmp_path / "plugins").write_text('# one\n{"service":"polls","request":["rooms.membership"]}\n')
    secrets = Secrets(tmp_path, "--with", tmp_path / "plugins", who=[*WHO, "polls"])
    assert secrets.text("polls", "bus.token")
    peers = [json.loads(line) for line in secrets.text("bus", "bus.peers").splitlines()]
    [polls] = [peer for peer in peers if peer["name"] == "polls"]
    assert polls["serve"] == ["polls.>"] and "rooms.membership" in polls["request"]
    assert {path: secrets.contents()[path] for path in before if path.name != "bus.peers"} == {
        path: content for path, content in before.items() if path.name != "bus.peers"}  # fmt: skip


def test_relative_paths_are_meant_from_where_the_command_is_given(tmp_path):
    for name in WHO:
        (tmp_path / "hands" / name).mkdir(parents=True)
    (tmp_path / "hands/polls").mkdir()
    (tmp_path / "plugins").write_text('{"request":["rooms.membership"],"service":"polls"}\n')
    environment = {**os.environ, "PATH": f"{binaries()}:{os.environ['PATH']}"}
    command = [ROOT / "deploy/make-secrets", "secrets", "--for", "hands", "--with", "plugins", "--cluster"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=START_DEADLINE)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "hands/polls/bus.token").exists() and (tmp_path / "secrets/tokens/polls.token").exists()
    shutil.rmtree(tmp_path / "secrets")
    (tmp_path / "hands/polls").rename(tmp_path / "hands/poll")
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=START_DEADLINE)  # fmt: skip
    assert done.returncode == 1 and "hands/polls does not exist" in done.stderr
    assert not list((tmp_path / "secrets").iterdir())


def test_the_image_of_the_secrets_has_a_folder_for_each_peer_however_its_line_is_written(tmp_path):
    plugins = tmp_path / "plugins"
    plugins.write_text(
        '{"service":"polls"}\n{"request":["rooms.membership"],"service":"games"}\n {"publish":["a.b"],"name":"watcher"}\n')
    [step] = re.findall(r"^RUN (cd /tmp .*(?:(?<=\\)\n.*)*)", (ROOT / "deploy/Dockerfile").read_text(), re.MULTILINE)
    here = {"/etc/parlor/bus-plugins": plugins, "/for": tmp_path / "for", "/tmp": tmp_path, "-o parlor -g parlor": ""}
    step = re.sub("|".join(here), lambda said: str(here[said[0]]), step)
    subprocess.run(
        ["sh", "-c", step], check=True, env={**os.environ, "PATH": f"{binaries()}:{os.environ['PATH']}"})  # fmt: skip
    names = {path.name for path in (tmp_path / "for").iterdir()}
    assert names >= {*WHO, "polls", "games", "watcher"}


# MARK: The bus

STRANGE_FILES = [
    (0o644, "t" * 32, "others have access to it"), (0o640, "t" * 32, "others have access to it"),
    (0o600, "t" * 15, "needs at least 16"), (0o600, "", "needs at least 16"),
    (0o600, "t" * 16 + "\n" + "u" * 16, "one line of text"),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "text", "why"), STRANGE_FILES)
@pytest.mark.parametrize("program", ["parlor-bus", "parlor-rooms"])
def test_a_token_file_that_is_no_secret_stops_the_start(tmp_path, program, mode, text, why):
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(mode)
    own = ["--port", "0"] if program == "parlor-bus" else ["--data", tmp_path, "--bus", "tcp://127.0.0.1:1"]
    result = subprocess.run(
        [binaries() / program, "--bus-token-file", file, *own], capture_output=True, text=True, timeout=START_DEADLINE)  # fmt: skip
    assert result.returncode == 2 and why in result.stderr, result.stderr


def test_a_service_with_its_own_token_cannot_be_another(start):
    parlor = start("separate")
    port = int((parlor.data / "bus.url").read_text().strip().rsplit(":")[-1])
    for path in [parlor.data / "bus.token", *(parlor.data / "bus").iterdir()]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    token = (parlor.data / "bus/push.token").read_text().strip()
    rogue = Lines(port)
    rogue.say(json.dumps({"op": "hello", "version": 1, "name": "accounts", "token": token}))
    assert json.loads(rogue.hear())["op"] == "welcome"
    for line in [
        {"op": "serve", "id": 1, "subject": "accounts.login", "queue": "accounts"},
        {"op": "sub", "id": 1, "subject": ">"},
        {"op": "req", "id": 1, "subject": "messaging.list", "caller": {"id": "alice"}, "data": {}},
        {"op": "pub", "subject": "messaging.log", "data": {}},
        {"op": "pub", "subject": "services.announce.evil", "data": {}},
    ]:
        rogue.say(json.dumps(line))
        assert json.loads(rogue.hear())["code"] == "forbidden", line
    rogue.close()
    until(lambda: '"forbidden"' in parlor.process.log(), what="a line of the log")


def test_a_service_with_the_token_of_another_does_not_start(tmp_path, start):
    parlor = start("separate")
    bus = (parlor.data / "bus.url").read_text().strip()
    done = subprocess.run(
        [binaries() / "parlor-rooms", "--bus", bus, "--bus-token-file", parlor.data / "bus/push.token", "--data", tmp_path],
        capture_output=True, text=True, timeout=START_DEADLINE)  # fmt: skip
    assert done.returncode == 1 and "ready" not in done.stdout
    assert "may not serve" in done.stderr.splitlines()[-1]


def test_further_peers_come_with_a_file_and_a_table_with_its_tokens(tmp_path, start):
    def refusal(*flags) -> str:
        done = subprocess.run(
            [ROOT / "deploy/separate", "--binaries", binaries(), "--data", tmp_path / "refused", *flags],
            capture_output=True, text=True, timeout=START_DEADLINE)  # fmt: skip
        assert done.returncode == 2, done.stderr
        return done.stderr

    plugins = tmp_path / "plugins"
    plugins.write_text('{"service":"polls","request":["rooms.membership"]}\n')
    assert "--bus-token-file with {peer}" in refusal("--bus-peers-file", plugins)
    assert "--bus-token-file with {peer}" in refusal("--bus-peers-file", plugins, "--bus-token-file", plugins)
    assert "--with is for a bus of this run's own" in refusal("--with", plugins, "--bus", "tcp://127.0.0.1:1")
    assert "cannot be read" in refusal("--with", tmp_path / "nothing")
    for taken in ["rooms", "operator", "services"]:
        (tmp_path / "taken").write_text(f'{{"service":"{taken}"}}\n')
        assert f'"{taken}"' in refusal("--with", tmp_path / "taken") or f"peer {taken} " in refusal("--with", tmp_path / "taken")

    parlor = start("separate", "--with", plugins)
    polls = Lines(int((parlor.data / "bus.url").read_text().strip().rsplit(":")[-1]))
    token = (parlor.data / "bus/polls.token").read_text().strip()
    polls.say(json.dumps({"op": "hello", "version": 1, "name": "polls", "token": token}))
    assert json.loads(polls.hear())["op"] == "welcome"
    polls.say('{"op":"req","id":1,"subject":"rooms.membership","data":{"roomId":"none"}}')
    assert json.loads(polls.hear())["op"] == "res"
    polls.close()

    # The same table, given as a file, with the tokens whose digests it has.
    tokens = parlor.data / "bus"
    assert parlor.stop() == 0
    shutil.copytree(tokens, tmp_path / "bus")
    start("separate", "--bus-peers-file", tmp_path / "bus/peers", "--bus-token-file", tmp_path / "bus/{peer}.token")


def test_a_service_may_ask_whatever_its_source_asks_of_others():
    """The lack of a right that a service forgets to list shows only on a bus with rights, and in no other test."""
    shown = subprocess.run([binaries() / "parlor", "bus-peers"], capture_output=True, text=True, check=True).stdout
    peers = {peer["name"]: peer for peer in map(json.loads, shown.splitlines())}
    contracts = "".join(path.read_text() for path in (ROOT / "Shared/Kit/Contracts").rglob("*.swift"))
    subjects = dict(re.findall(r'static let (\w+) = "([a-z]+\.[a-z.-]+)"', contracts))
    asked = set()
    for name in NAMES:
        source = "".join(path.read_text() for path in (ROOT / "Services" / name.title()).rglob("*.swift"))
        code = re.sub(r"^ *//.*$", "", source, flags=re.MULTILINE)
        others = "|".join(other for other in NAMES if other != name)
        named = [subjects.get(constant, "") for constant in re.findall(r"\bSubject\.(\w+)\b", code)]
        asked |= {(name, subject) for subject in named if re.match(rf"(?:{others})\.", subject)}
        asked |= {(name, subject) for subject in re.findall(rf'"((?:{others})\.[a-z.-]+)"', code)}
    assert ("rooms", "accounts.people") in asked
    assert [pair for pair in sorted(asked) if pair[1] not in peers[pair[0]]["request"]] == []


# MARK: NATS


@pytest.fixture
def nats(tmp_path):
    """Starts a NATS server with a configuration."""
    started = []

    def start(configuration: Path) -> int:
        program = shutil.which("nats-server") or "/usr/sbin/nats-server"
        ports = tmp_path / "ports"
        ports.mkdir()
        process = subprocess.Popen(
            [program, "--config", configuration, "--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir", ports],
            stderr=subprocess.DEVNULL)  # fmt: skip
        started.append(process)
        file = ports / f"nats-server_{process.pid}.ports"
        until(lambda: file.exists() and file.read_text().strip().endswith("}"), what="nats-server")
        return int(re.search(r"nats://[^\"]*:(\d+)", file.read_text())[1])

    yield start
    for process in started:
        process.terminate()
        process.wait(5)


class NATSPeer(Lines):
    """A raw client with a user's password."""

    def __init__(self, port: int, user: str, password: str):
        super().__init__(port)
        assert self.hear().startswith("INFO")
        self.say("CONNECT " + json.dumps({"user": user, "pass": password, "verbose": False, "pedantic": False}))

    def refusal(self, *lines: str) -> str:
        """Returns the server's refusal; nothing if it accepts."""
        for line in [*lines, "PING"]:
            self.say(line)
        said = ""
        while (line := self.hear()) != "PONG":
            assert line, "the connection has ended"
            said = line if line.startswith("-ERR") else said
        return said


def publish(subject: str, reply: str = "") -> tuple[str, str]:
    return f"PUB {subject} {reply} 2".replace("  ", " "), "{}"


def test_a_user_of_nats_may_do_what_its_service_does_and_nothing_else(tmp_path, nats):
    secrets = Secrets(tmp_path / "secrets", "--cluster")
    port = nats(secrets.path("nats", "nats.conf"))
    stranger = NATSPeer(port, "push", "guess")
    stranger.say("PING")
    assert "Authorization Violation" in stranger.hear()
    rogue = NATSPeer(port, "push", secrets.text("push", "bus.token"))
    forbidden = [
        ["SUB parlor.request.accounts.login responders 1"], ["SUB parlor.request.> 1"], ["SUB parlor.> 1"], ["SUB > 1"],
        ["SUB parlor.inbox.> 1"], ["SUB parlor.inbox.gateway.> 1"], ["SUB parlor.event.> 1"], ["SUB parlor.event.rooms.log 1"],
        publish("parlor.request.messaging.list", "parlor.inbox.push.1"), publish("parlor.request.accounts.login"),
        publish("parlor.event.messaging.log"), publish("parlor.event.services.announce.messaging"),
        publish("parlor.event.services.announce.evil"), publish("parlor.event.services.forget"),
        publish("parlor.event.services.list"), publish("parlor.event.gateways.forgotten"), publish("parlor.inbox.gateway.x.1"), publish("other.request.x"),
    ]  # fmt: skip
    for lines in forbidden:
        assert "Permissions Violation" in rogue.refusal(*lines), lines
    allowed = [
        ["SUB parlor.request.push.> responders 1"], ["SUB parlor.inbox.push.x.* 2"], ["SUB parlor.event.messaging.log 3"],
        publish("parlor.event.services.announce.push"), publish("parlor.request.messaging.unread", "parlor.inbox.push.x.1"),
    ]  # fmt: skip
    for lines in allowed:
        assert rogue.refusal(*lines) == "", lines
    person = NATSPeer(port, "operator", secrets.text("tools", "bus.token"))
    for peer, own in [(rogue, "push"), (person, "operator")]:
        # An event goes to one member of a queue group: a peer in another's group would take events away from the other.
        assert peer.refusal(f"SUB parlor.event.messaging.log {own} 4") == ""
        assert "Permissions Violation" in peer.refusal("SUB parlor.event.messaging.log other 5")
    assert "Permissions Violation" in person.refusal("SUB parlor.event.messaging.> push 6")
    assert person.refusal("SUB parlor.event.> 7") == ""
    gateway = NATSPeer(port, "gateway", secrets.text("gateway", "bus.token"))
    assert "Permissions Violation" in gateway.refusal(*publish("parlor.event.services.forget"))
    assert gateway.refusal(*publish("parlor.event.gateways.forgotten")) == ""
    for subject in ["services.list", "services.forget", "status.wanted"]:
        assert person.refusal(*publish(f"parlor.event.{subject}")) == "", subject
    assert "Permissions Violation" in person.refusal(*publish("parlor.event.services.discover"))
    for peer in (rogue, person, gateway, stranger):
        peer.close()


def test_whoever_is_asked_may_answer_and_nobody_else(tmp_path, nats):
    secrets = Secrets(tmp_path / "secrets", "--cluster")
    port = nats(secrets.path("nats", "nats.conf"))
    peers = {name: NATSPeer(port, name, secrets.text(name, "bus.token")) for name in ("gateway", "rooms", "push")}
    assert peers["rooms"].refusal("SUB parlor.request.rooms.> responders 1") == ""
    assert peers["gateway"].refusal("SUB parlor.inbox.gateway.x.* 1") == ""
    assert peers["gateway"].refusal(*publish("parlor.request.rooms.list", "parlor.inbox.gateway.x.7")) == ""
    assert "parlor.inbox.gateway.x.7" in peers["rooms"].hear() and peers["rooms"].hear() == "{}"
    assert "Permissions Violation" in peers["push"].refusal(*publish("parlor.inbox.gateway.x.7"))
    assert peers["rooms"].refusal(*publish("parlor.inbox.gateway.x.7")) == ""
    assert peers["gateway"].hear().startswith("MSG parlor.inbox.gateway.x.7")
    for peer in peers.values():
        peer.close()


# MARK: PostgreSQL


@pytest.fixture
def postgres():
    """The address of a PostgreSQL server of the test's own, as its owner."""
    # A shell that stays until it is stopped; its servers go with it.
    holder = subprocess.Popen(
        [ROOT / "deploy/with-servers", "--postgres", "sh", "-c", "echo $DATABASE_URL; exec sleep infinity"],
        stdout=subprocess.PIPE, text=True)  # fmt: skip
    address = holder.stdout.readline().strip()
    assert address.startswith("postgres://")
    yield address
    holder.terminate()
    holder.wait(30)


def sql(address: str, statement: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", address, "-c", statement], capture_output=True, text=True,
        timeout=START_DEADLINE, env={**os.environ, "PGPASSFILE": "/dev/null"})  # fmt: skip


def give_roles(address: str, secrets: Secrets):
    """Runs deploy/postgres-roles like the container `roles`."""
    parts = urlsplit(address)
    environment = {
        **os.environ, "PGHOST": parts.query.removeprefix("host="), "PGUSER": parts.username, "PGDATABASE": parts.path[1:]}  # fmt: skip
    done = subprocess.run(
        [ROOT / "deploy/postgres-roles", secrets.hands / "roles"], capture_output=True, text=True, env=environment,
        timeout=START_DEADLINE)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_owner_of_a_database_gives_roles_and_counts_again_without_being_a_superuser(tmp_path, postgres):
    secrets = Secrets(tmp_path / "secrets", "--cluster")
    for statement in ["CREATE ROLE owner LOGIN CREATEROLE", "CREATE DATABASE managed OWNER owner"]:
        assert sql(postgres, statement).returncode == 0
    owner = postgres.replace("parlor@/postgres", "owner@/managed")
    earlier = Process(binaries() / "parlor", "--port", 0, "--data", tmp_path / "earlier", "--database-url", owner)
    earlier.wait_until_ready()
    assert earlier.stop() == 0, earlier.log()
    give_roles(owner, secrets)
    give_roles(owner, secrets)
    for name in NAMES:
        role = owner.replace("owner@", f"parlor_{name}@")
        assert sql(role, f"UPDATE {name}.database_identity SET id = id").returncode == 0
        for statement in [*(f"SELECT * FROM {other}.database_identity" for other in NAMES if other != name), "SET ROLE owner"]:
            assert "permission denied" in sql(role, statement).stderr, (name, statement)
    # As the container of the tools does.
    counted = subprocess.run(
        [ROOT / "deploy/on-volumes", "verify"], capture_output=True, text=True, timeout=START_DEADLINE,
        env={**os.environ, "PATH": f"{binaries()}:{os.environ['PATH']}", "DATA_DIR": str(tmp_path), "DATABASE_URL": owner})  # fmt: skip
    assert counted.returncode == 0 and "all counts are right" in counted.stdout, counted.stderr
    for name in ["rooms", "messaging", "elements"]:
        assert f"{name}: 0 rooms counted" in counted.stdout
    # A role with more rights than it should have loses them. Only a superuser may take them away.
    assert sql(postgres, "ALTER ROLE parlor_push CREATEDB").returncode == 0
    give_roles(postgres.replace("/postgres?", "/managed?"), secrets)
    may = sql(postgres, "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'parlor_%' AND (rolcreatedb OR rolsuper OR rolcreaterole)")
    assert may.stdout.strip() == "0"


@pytest.mark.timeout(240)
def test_journeys_are_as_ever_where_each_has_its_own_rights_and_no_role_reads_what_is_anothers(tmp_path, nats, postgres):
    secrets = Secrets(tmp_path / "secrets", "--cluster")
    # Each service's role becomes the owner of what one role for all has made so far.
    earlier = Process(binaries() / "parlor", "--port", 0, "--data", tmp_path / "earlier", "--database-url", postgres)
    earlier.wait_until_ready()
    assert earlier.stop() == 0, earlier.log()
    give_roles(postgres, secrets)
    give_roles(postgres, secrets)

    port = nats(secrets.path("nats", "nats.conf"))
    parlor = Process(
        ROOT / "deploy/separate", "--binaries", binaries(), "--port", 0, "--data", tmp_path / "data", "--rate-limits", "off",
        "--jwt-secret-file", secrets.path("gateway", "jwt.secret"), "--bus", f"nats://{{peer}}@127.0.0.1:{port}",
        "--bus-token-file", f"{secrets.hands}/{{peer}}/bus.token",
        "--database-url", postgres.replace("parlor@", "parlor_{peer}@"))  # fmt: skip
    address = parlor.wait_until_ready()
    journeys = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_journeys.py"], cwd=Path(__file__).parent,
        env={**os.environ, "PARLOR_URL": address}, capture_output=True, text=True, timeout=240)  # fmt: skip
    assert journeys.returncode == 0, journeys.stdout
    shown = subprocess.run(
        [binaries() / "parlor", "status", "--bus", f"nats://operator@127.0.0.1:{port}", "--bus-token-file",
         secrets.path("tools", "bus.token"), "--wait", "1s"], capture_output=True, text=True, timeout=START_DEADLINE)  # fmt: skip
    assert shown.returncode == 0 and all(name in shown.stdout for name in [*NAMES, "gateway"]), shown.stderr
    assert parlor.stop() == 0, parlor.log()
    assert "iolation" not in parlor.log()

    for name in NAMES:
        role = postgres.replace("parlor@", f"parlor_{name}@")
        own = sql(role, f"SELECT count(*) FROM {name}.database_identity")
        assert (own.returncode, own.stdout.strip()) == (0, "1"), own.stderr
        for statement in [
            *(f"SELECT * FROM {other}.database_identity" for other in NAMES if other != name),
            "SELECT password_hash FROM accounts.users" if name != "accounts" else "SELECT * FROM rooms.rooms",
            "CREATE SCHEMA another", "CREATE TABLE public.x (n int)", "SET ROLE parlor", "CREATE ROLE another",
            "SELECT pg_read_file('/etc/passwd')", "SELECT * FROM pg_authid",
        ]:  # fmt: skip
            refused = sql(role, statement)
            assert refused.returncode != 0 and "permission denied" in refused.stderr, (name, statement, refused.stderr)
