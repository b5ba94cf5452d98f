"""The balancer's configuration, with a real HAProxy in front of a gateway."""

import json
import os
import re
import shlex
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from parlor import ROOT, Process, binaries, until

LIMITS = {
    "MAX_CONNECTIONS_PER_ADDRESS": "5", "MAX_CONNECTS_PER_ADDRESS": "40", "MAX_REQUESTS_PER_ADDRESS": "60",
}  # fmt: skip


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Balancer:
    """HAProxy with the containers' configuration, but with other addresses of the balancer and the gateways."""

    def __init__(self, folder, gateway: str, **settings: str):
        self.port, self.tls_port = free_port(), free_port()
        text = (ROOT / "deploy/balancer/haproxy.cfg").read_text()
        text = text.replace("bind :8080", f"bind 127.0.0.1:{self.port}").replace("bind :9000", f"bind 127.0.0.1:{free_port()}")
        text = text.replace("bind :8443", f"bind 127.0.0.1:{self.tls_port}")
        text, count = re.subn(r"server-template .*", f"server gateway1 {gateway.removeprefix('http://')} check", text)
        assert count == 1
        file = folder / f"haproxy-{self.port}.cfg"
        file.write_text(text)
        # MAX_DESCRIPTORS suits the process that runs the tests, not a container.
        environment = {
            **os.environ, "PUBLIC_OPERATIONS": "off", "RATE_LIMITS": "on", "TRUSTED_PROXIES": "", "MAX_DESCRIPTORS": "2000",
            **LIMITS, **settings}  # fmt: skip
        # The container's command, but as one process and with this file.
        [line] = re.findall(r"- bash\n +- -c\n +- (.*) haproxy .*", (ROOT / "deploy/compose.balanced.yml").read_text())
        command = f"{line.replace('$$', '$')} haproxy -q -f {shlex.quote(str(file))}"
        self.process = subprocess.Popen(
            ["bash", "-c", command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    def ask(self, path: str, **headers: str) -> tuple[int, str]:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (OSError, ConnectionError) as error:
            return 0, str(error)

    def register(self, name: str, forwarded_for: str) -> int:
        body = f'{{"username":"{name}","password":"password123"}}'.encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/auth/register", body, {"X-Forwarded-For": forwarded_for})  # fmt: skip
        try:
            return urllib.request.urlopen(request, timeout=5).status
        except urllib.error.HTTPError as error:
            return error.code

    def memory(self) -> int:
        """Returns the memory in bytes, without the kernel's."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) * 1024

    def stop(self):
        self.process.terminate()
        self.process.wait(5)


@pytest.fixture
def balance(tmp_path):
    """Balancers in front of one Parlor."""
    parlor = Process(
        binaries() / "parlor", "--port", 0, "--data", tmp_path / "data", "--trusted-proxies", "127.0.0.1",
        "--rate-register", "1000/10s,2/60s")  # fmt: skip
    address = parlor.wait_until_ready()
    started = []

    def start(**settings: str) -> Balancer:
        balancer = Balancer(tmp_path, address, **settings)
        started.append(balancer)
        until(lambda: balancer.ask("/healthz")[0] == 200, what="the balancer")
        return balancer

    yield start
    for balancer in started:
        balancer.stop()
    assert parlor.stop() == 0, parlor.log()


def test_operations_are_not_shown_outside(balance):
    balancer = balance()
    for path in ("/metrics", "/readyz", "/READYZ", "/metrics?x=1"):
        status, body = balancer.ask(path)
        assert status == 404 and '"route_not_found"' in body, path
    assert balancer.ask("/healthz")[0] == 200
    assert balance(PUBLIC_OPERATIONS="on").ask("/readyz")[0] == 200


def test_an_address_has_so_many_connections_at_once_and_no_more(balance):
    balancer = balance()
    held = [socket.create_connection(("127.0.0.1", balancer.port)) for _ in range(5)]
    for connection in held:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 200"
    assert balancer.ask("/healthz")[0] == 0
    for connection in held:
        connection.close()
    until(lambda: balancer.ask("/healthz")[0] == 200, what="room for another")


def test_an_address_connects_so_often_and_no_more(balance):
    balancer = balance()
    answers = [balancer.ask("/healthz")[0] for _ in range(50)]
    assert answers[:30] == [200] * 30 and answers[-5:] == [0] * 5


def test_an_address_asks_so_often_and_is_told_when_to_come_back(balance):
    balancer = balance()
    with socket.create_connection(("127.0.0.1", balancer.port)) as connection:
        connection.settimeout(5)
        reader = connection.makefile("rb")
        statuses = []
        for _ in range(70):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            statuses.append(int(reader.readline().split()[1]))
            head = b"".join(iter(reader.readline, b"\r\n")).lower()
            reader.read(int(re.search(rb"content-length: (\d+)", head)[1]))
        assert statuses[0] == 200 and statuses[-1] == 429
        assert b"retry-after: 10" in head and b"x-request-id: " in head


@pytest.mark.parametrize("ids", [['ok,a"b'], ["ok", 'a"b'], ['a"b', "ok"]])
def test_a_request_id_that_gateways_refuse_is_in_no_answer_of_the_balancer(balance, ids):
    fields = "".join(f"X-Request-Id: {text}\r\n" for text in ids)
    with socket.create_connection(("127.0.0.1", balance().port)) as connection:
        connection.settimeout(5)
        connection.sendall(f"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{fields}\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    error = json.loads(answer.split("\r\n\r\n", 1)[1])["error"]
    assert error["code"] == "route_not_found" and error["requestId"] not in ("ok", *ids)


def test_as_many_connections_as_it_takes_fit_its_memory_whatever_they_hold(balance):
    balanced = (ROOT / "deploy/compose.balanced.yml").read_text()
    connections = int(re.search(r"MAX_DESCRIPTORS: \${BALANCER_DESCRIPTORS:-(\d+)}", balanced)[1]) // 2
    limit = int(re.search(r"mem_limit: \${BALANCER_MEMORY:-(\d+)g}", balanced)[1]) << 30
    assert f'fd-hard-limit "${{MAX_DESCRIPTORS-{connections * 2}}}"' in (ROOT / "deploy/balancer/haproxy.cfg").read_text()
    balancer = balance(RATE_LIMITS="off")
    before, count = balancer.memory(), 600
    held = [socket.create_connection(("127.0.0.1", balancer.port)) for _ in range(count)]
    for connection in held:
        connection.sendall(b"GET /healthz?" + b"x" * 15_000)
    time.sleep(1)
    head = (balancer.memory() - before) / count
    assert head > 8 * 1024, "the heads have come"
    # Each connection has a head, an unread answer to an earlier request, and what the kernel keeps for two sockets.
    assert before + connections * (2 * head + 8 * 1024) < limit
    assert balancer.ask("/healthz")[0] == 200
    for connection in held:
        connection.close()


def test_suites_that_come_from_one_address_lift_the_limits(balance):
    balancer = balance(RATE_LIMITS="off")
    assert [balancer.ask("/healthz")[0] for _ in range(80)] == [200] * 80


def test_limits_of_the_gateway_count_the_client_and_not_what_it_says_of_itself(balance):
    balancer = balance(RATE_LIMITS="off")
    assert [balancer.register(name, f"10.0.0.{len(name)}") for name in ("ada", "benn", "carla")] == [201, 201, 429]


class StoppingGateway(BaseHTTPRequestHandler):
    """A gateway that gets SIGTERM during a request: it closes its port, and answers when nearly all of its time is over."""

    def do_GET(self):
        if self.path == "/slow":
            self.server.socket.close()
            time.sleep(2.8)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


def test_a_gateway_that_stops_can_finish_its_requests(tmp_path):
    gateway = ThreadingHTTPServer(("127.0.0.1", 0), StoppingGateway)
    thread = threading.Thread(target=gateway.serve_forever, daemon=True)
    thread.start()
    balancer = Balancer(tmp_path, f"127.0.0.1:{gateway.server_port}")
    try:
        until(lambda: balancer.ask("/healthz")[0] == 200, what="the balancer")
        assert balancer.ask("/slow") == (200, "ok")
    finally:
        balancer.stop()
        gateway.shutdown()


# MARK: Behind another proxy

# The test is the proxy. The other one is in front of it.
PROXIES = " 127.0.0.1, 10.1.0.0/16"


def test_behind_a_trusted_proxy_the_gateway_counts_the_address_that_the_proxy_saw(balance):
    balancer = balance(RATE_LIMITS="off", TRUSTED_PROXIES=PROXIES)
    assert [balancer.register(name, f"10.0.0.{len(name)}") for name in ("ada", "benn", "carla")] == [201, 201, 201]
    # What the client wrote itself stands first, and the second proxy's address last.
    claims = ["10.9.0.1, 10.0.0.9", "10.9.0.2, 10.0.0.9", "10.9.0.3, 10.0.0.9, 10.1.2.3"]
    assert [balancer.register(name, claim) for name, claim in zip(("dora", "emil", "fred"), claims)] == [201, 201, 429]


def test_behind_a_trusted_proxy_each_address_has_limits_of_its_own_and_the_proxy_none(balance):
    balancer = balance(TRUSTED_PROXIES=PROXIES, MAX_CONNECTS_PER_ADDRESS="5")
    asked = {"X-Forwarded-For": "10.0.0.1"}
    statuses = [balancer.ask("/healthz", **asked)[0] for _ in range(70)]
    assert statuses[:60] == [200] * 60 and statuses[-1] == 429
    assert balancer.ask("/healthz", **{"X-Forwarded-For": "10.0.0.2"})[0] == 200


def test_behind_a_trusted_proxy_an_address_has_so_many_sockets_at_once_and_no_more(balance):
    balancer = balance(TRUSTED_PROXIES=PROXIES)
    held = []

    def upgrade(address: str) -> bytes:
        held.append(socket.create_connection(("127.0.0.1", balancer.port), timeout=5))
        held[-1].sendall(
            b"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            b"X-Forwarded-For: " + address.encode() + b"\r\n\r\n")  # fmt: skip
        return held[-1].recv(12)[-3:]

    assert [upgrade("10.0.0.1") for _ in range(6)] == [b"101"] * 5 + [b"429"]
    assert upgrade("10.0.0.2") == b"101"
    for connection in held:
        connection.close()
