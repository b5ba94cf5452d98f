"""Other ways in: IPv6, a balancer, polling with an account, the operations port, few descriptors, and unusual HTTP."""

import base64
import contextlib
import itertools
import json
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import before_connect
import holding
import polling
import unread
import wire
from attack import Attack, Fate, Target
from holding import SLOWLY, half_head, open_socket
from logged_in import elements
from server import CLIENTS_CORE, core, end_with_parent, free_port, prefer, run_to_the_end_of
from swarm import Script, Swarm

BALANCER = Path(__file__).parents[3] / "deploy/balancer/haproxy.cfg"


class OverIPv6(Attack):
    """Connections from many addresses of IPv6, which hold what they can.

    A /64 is the least that one subscriber has, and it counts as one address. More networks are bound by the total
    limit: the connection that has waited longest is evicted, and newcomers get in.
    """

    host = "::1"
    victims_address = "fd00:2::1"
    newcomers_addresses = [f"fd00:3:0:{number:x}::1" for number in range(1, 200)]

    def __init__(self, name: str, source, count: int, script: Script):
        self.name, self.source, self.count, self.script = name, source, count, script

    def reason_to_skip(self) -> str | None:
        try:
            with socket.socket(socket.AF_INET6) as tried:
                tried.bind((self.victims_address, 0))
        except OSError:
            return "addresses of fd00::/16 are not this machine's, as deploy/attacks makes them in a network namespace"
        return None

    def run(self, target: Target, fate: Fate):
        Swarm(target, fate).run(
            (Script(**{**vars(self.script), "source": self.source(number)}) for number in itertools.count()), self.count)  # fmt: skip


class ThroughBalancer(Attack):
    """Another attack through HAProxy, as `deploy/compose.balanced.yml` has it; bystanders come through it too.

    The gateway takes addresses from `X-Forwarded-For`, because it trusts the balancer.
    """

    flags = flags_to_prepare = ("--trusted-proxies", "127.0.0.1")

    def __init__(self, attacks: list[Attack], name: str = ""):
        self.name = name or f"balancer-{attacks[0].name}"
        self.attack = attacks[0] if len(attacks) == 1 else None
        self.parts = () if self.attack else tuple(f"balancer-{attack.name}" for attack in attacks)
        self.seconds = max(attack.seconds for attack in attacks)

    def reason_to_skip(self) -> str | None:
        return None if shutil.which("haproxy") else "haproxy is not installed"

    def prepare(self, setup, cast) -> dict:
        return self.attack.prepare(setup, cast) if self.attack else {}

    def run(self, target: Target, fate: Fate):
        self.attack.run(target, fate)

    @contextlib.contextmanager
    def in_front_of(self, server, folder: Path):
        port = free_port()
        file = folder / "haproxy.cfg"
        file.write_text(configuration(server.port, port, free_port()))
        with open(folder / "haproxy.log", "w+") as log:
            process = subprocess.Popen(
                [*core(CLIENTS_CORE), "haproxy", "-db", "-f", file], stdout=log, stderr=log, start_new_session=True,
                preexec_fn=end_with_parent)  # fmt: skip
            try:
                # Its processor time is not measured, and it shares its core with attackers.
                prefer(process.pid, -10)
                wait_for(process, port, log)
                yield "127.0.0.1", port
            finally:
                process.terminate()
                run_to_the_end_of(process, 3)


def configuration(gateway: int, port: int, operations: int) -> str:
    """Returns the balancer's own configuration, in front of one gateway on this machine."""
    text = BALANCER.read_text()
    for there, here in (
        ("bind :8080", f"bind 127.0.0.1:{port}"), ("bind :9000", f"bind 127.0.0.1:{operations}"), (" init-addr none", ""),
        ("server-template gateway 20 gateway:8080 resolvers docker resolve-prefer ipv4", f"server gateway 127.0.0.1:{gateway}"),
    ):  # fmt: skip
        if text.count(there) != 1:
            raise RuntimeError(f"{BALANCER} has not one line with {there!r}")
        text = text.replace(there, here)
    return text


def wait_for(process: subprocess.Popen, port: int, log):
    end = time.monotonic() + 10
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1):
            return
        time.sleep(0.1)
    log.seek(0)
    raise RuntimeError(f"haproxy did not become ready: {log.read()[-500:]}")


class PollingWithAccount(Attack):
    """Polling sockets of an account that connect, and then do as the attack says; their room is busy.

    What waits for a socket that nobody polls is bounded, as for a WebSocket. The socket counts against
    its person's limits.
    """

    sessions = 100

    def __init__(self, name: str, then):
        self.name, self.then = name, then

    def run(self, target: Target, fate: Fate):
        connect = "40" + json.dumps({"token": target.token})
        join = "42" + json.dumps(["room:join", {"roomId": target.given["room"]}])
        ids = []
        with target.open() as opened:
            for _ in range(self.sessions):
                status, _, body = target.ask(wire.request("GET", wire.POLLING), opened)
                fate.answered(str(status))
                if status != 200:
                    break
                id = json.loads(body[1:])["sid"]
                status, _, _ = target.ask(wire.request("POST", f"{wire.POLLING}&sid={id}", body=f"{connect}\x1e{join}".encode()), opened)
                fate.answered(str(status))
                ids.append(id)
        fate.notes.append(f"{len(ids)} sockets")
        writer = open_socket(wire.connect(target.token), repeat=elements(target.given["room"]), pause=0.05, answer=b'"success":')
        scripts = [writer, writer, *[self.then(target, f"{wire.POLLING}&sid={id}") for id in ids]]
        Swarm(target, fate, openings=200).run(itertools.cycle(scripts), len(scripts))


def polls_unread(target: Target, path: str) -> Script:
    return Script(repeat=wire.request("GET", path), pause=0, reads=0, receive_buffer=4096)


def packets(target: Target, path: str, count: int) -> Script:
    typing = "42" + json.dumps(["message:typing", {"roomId": target.given["room"], "isTyping": True}])
    return Script(repeat=wire.request("POST", path, body="\x1e".join([typing] * count).encode()), pause=0)


class Operations(Attack):
    """Attacks the operations port, which is for internal use only.

    The port has connections of its own. Its health check answers, whatever else the port is asked, and nobody else
    notices.
    """

    def __init__(self, name: str, count: int, make):
        self.name, self.count, self.make = name, count, make

    def run(self, target: Target, fate: Fate):
        script = Script(**{**vars(self.make()), "port": target.ops_port})
        Swarm(target, fate).run(itertools.repeat(script), self.count)


class FewDescriptors(Attack):
    """400 connections to a server that may open 300 descriptors.

    Some are kept for the operations port and for those who are in; those who wait longest make room for newcomers.
    """

    descriptors = 300

    def __init__(self, name: str, script, addresses: int = 1):
        self.name, self.script, self.addresses = name, script, addresses

    def run(self, target: Target, fate: Fate):
        Swarm(target, fate).run(
            (
                Script(**{**vars(self.script()), "source": f"127.0.1.{number + 1}" if self.addresses > 1 else ""})
                for number in itertools.cycle(range(self.addresses))
            ), 400)  # fmt: skip


class OddHTTP(Attack):
    """Unusual or malformed HTTP over many connections; closed ones are reopened.

    It is refused, or it ends when the time for a head or a body is over. It holds no more than one address may hold.
    """

    def __init__(self, name: str, count: int, make):
        self.name, self.count, self.make = name, count, make

    def run(self, target: Target, fate: Fate):
        made = self.make(target)
        Swarm(target, fate).run(itertools.cycle(made if isinstance(made, list) else [made]), self.count)


class BehindProxy(OddHTTP):
    """Long lists of addresses in `X-Forwarded-For`, from a client behind a trusted proxy that appends to what the client sends.

    Only the list's end is read. The client's address, which the proxy wrote there, has the limits of any other.
    """

    flags = ("--trusted-proxies", "127.0.0.1")


LOGIN = "/api/auth/login"
CHUNKED = wire.request("POST", LOGIN, Transfer_Encoding="chunked")
# A token that takes long to parse, in a head that makes the server ask who sent it before the body has come.
LONG_TOKEN = wire.request(
    "POST", LOGIN, length=1,
    token=base64.urlsafe_b64encode(json.dumps({f"\u20ac{n}": n for n in range(600)}).encode()).decode().rstrip("=") + ".e30.x")
ONE_BYTE = b"1\r\nx\r\n"


def many_heads(count: int, size: int) -> bytes:
    return wire.request("GET", "/healthz", **{f"X{number}": "x" * size for number in range(count)})


def absurd_heads(target: Target) -> list[Script]:
    return [
        Script(repeat=many_heads(95, 300) * 20),
        Script(repeat=many_heads(98, 1) * 100),
        Script(then=b"GET /healthz HTTP/1.1\r\nX: ", repeat=b"x" * 1000),
        Script(then=b"GET /" + b"x" * 8000, drip=b"x", every=0.1),
        Script(then=b"GET /healthz HTTP/1.1\r\n", repeat=b"X: x\r\n" * 200),
        Script(repeat=b"\r\n" * 2000),
        Script(repeat=b"\0" * 2000),
        Script(then=b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", repeat=b"\0\0\0\4\0\0\0\0\0" * 100),
        Script(then=b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", repeat=bytes(1000)),
        Script(repeat=wire.request("GET", "/" + "%41" * 2600) * 20),
        Script(repeat=wire.request("GET", "/" * 7800) * 20),
        Script(repeat=wire.request("GET", f"{wire.POLLING}{'&a' * 3800}") * 20),
        Script(repeat=wire.request("GET", "/api/users/me", Authorization="Bearer " + "." * 15_000) * 20),
    ]


def page(**headers: str) -> Script:
    return Script(repeat=wire.request("GET", "/", **headers), pause=0)


LONG = 31_000  # bytes of a header that still fits a head
FORWARDED = page(X_Forwarded_For="1.2.3.4," * (LONG // 8) + "10.1.1.1")

IDLE = Script()
HEADS = Script(then=half_head(), drip=b"x", every=SLOWLY)

ALL = [
    OverIPv6("ipv6-64-idle", lambda number: f"fd00:1::{number % 65_000 + 1:x}", 3000, IDLE),
    OverIPv6("ipv6-64-heads", lambda number: f"fd00:1::{number % 65_000 + 1:x}", 1000, HEADS),
    OverIPv6("ipv6-64-sockets", lambda number: f"fd00:1::{number % 65_000 + 1:x}", 1000, open_socket()),
    OverIPv6("ipv6-48-sockets", lambda number: f"fd00:1:0:{number % 4096:x}::1", 6000, open_socket()),
    OverIPv6("ipv6-48-idle", lambda number: f"fd00:1:0:{number % 4096:x}::1", 10_000, IDLE),
    *[
        ThroughBalancer([attack])
        for attack in (*unread.ALL, *holding.ALL, *before_connect.ALL, *polling.ALL)
        if attack.name in (
            "unread-metrics", "unread-handshakes", "idle-3000", "slow-heads", "half-bodies", "sockets-without-connect", "half-messages-60k",
            "placeholders", "pings-20-unread", "handshakes-31k", "tiny-packets")
    ],
    PollingWithAccount("polling-never", lambda target, path: Script()),
    PollingWithAccount("polling-unread", polls_unread),
    PollingWithAccount("polling-packets", lambda target, path: packets(target, path, 5000)),
    PollingWithAccount("polling-packets-4096", lambda target, path: packets(target, path, 4096)),
    PollingWithAccount("polling-posts-unfinished", lambda target, path: Script(
        then=wire.request("POST", path, length=990_000) + b"4" + b"x" * 980_000, drip=b"x", every=SLOWLY)),
    Operations("operations-idle", 3000, lambda: IDLE),
    Operations("operations-heads", 1000, lambda: HEADS),
    Operations("operations-flood", 8, lambda: Script(repeat=wire.request("GET", "/metrics") * 100)),
    Operations("operations-anew", 50, lambda: Script(then=wire.request("GET", "/healthz"), leaves_after=0.05)),
    Operations("operations-bodies", 300, lambda: Script(then=wire.request("POST", "/metrics", length=1 << 20) + b"x" * 1_000_000)),
    FewDescriptors("descriptors-idle", lambda: IDLE),
    FewDescriptors("descriptors-heads", lambda: HEADS),
    FewDescriptors("descriptors-sockets-of-50", open_socket, addresses=50),
    OddHTTP("chunks-of-1", 20, lambda target: Script(then=CHUNKED, repeat=ONE_BYTE * 2000)),
    OddHTTP("chunks-dripped", 500, lambda target: Script(then=CHUNKED, drip=ONE_BYTE, every=SLOWLY)),
    OddHTTP("chunks-with-extensions", 20, lambda target: Script(then=CHUNKED, repeat=(b"1;" + b"a" * 4000 + b"\r\nx\r\n") * 20)),
    OddHTTP("chunks-with-trailers", 20, lambda target: Script(then=CHUNKED + b"0\r\n", repeat=b"X: x\r\n" * 500)),
    OddHTTP("http-1.0", 20, lambda target: [
        Script(repeat=wire.request("GET", "/healthz", version="1.0", Connection="keep-alive") * 100),
        Script(then=wire.request("GET", "/healthz", version="1.0"))]),
    OddHTTP("expect-continue", 500, lambda target: Script(then=wire.request("POST", LOGIN, length=1000, Expect="100-continue"))),
    OddHTTP("expect-continue-large", 500, lambda target: Script(
        then=wire.request("POST", LOGIN, length=1 << 20, Expect="100-continue"), repeat=b"x" * 10_000)),
    OddHTTP("absurd-heads", 130, absurd_heads),
    OddHTTP("long-tokens", 300, lambda target: Script(then=LONG_TOKEN, leaves_after=0.05)),
    OddHTTP("long-accept-encoding-8k", 900, lambda target: page(Accept_Encoding="x," * 4000)),
    OddHTTP("long-accept-encoding-31k", 500, lambda target: page(Accept_Encoding="x," * (LONG // 2))),
    OddHTTP("long-if-none-match", 900, lambda target: page(If_None_Match='"x",' * (LONG // 4))),
    BehindProxy("long-forwarded-200", 200, lambda target: FORWARDED),
    BehindProxy("long-forwarded-800", 800, lambda target: FORWARDED),
    OddHTTP("comma-lists", 20, lambda target: Script(then=wire.request("POST", LOGIN, Transfer_Encoding="," * 30_000))),
    OddHTTP("connects-anew", 200, lambda target: Script(leaves_after=0.02)),
    OddHTTP("readyz-flood", 20, lambda target: Script(repeat=wire.request("GET", "/readyz") * 200)),
    OddHTTP("metrics-flood", 20, lambda target: Script(repeat=wire.request("GET", "/metrics") * 200)),
    OddHTTP("requests-flood", 20, lambda target: Script(repeat=wire.request("GET", "/healthz") * 200)),
]  # fmt: skip
ALL.append(ThroughBalancer([attack.attack for attack in ALL if isinstance(attack, ThroughBalancer)], "balancer-everything"))
