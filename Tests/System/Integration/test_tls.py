"""TLS in front of Parlor as docs/tls.md has it: the files in deploy/tls with the real Caddy and nginx, and the balancer."""

import re
import shutil
import ssl
import subprocess

import httpx
import pytest
from parlor import ROOT, Process, Remote, binaries, until
from people import World
from test_balancer import Balancer, free_port

CADDYFILE, NGINX = ((ROOT / "deploy/tls" / name).read_text() for name in ("Caddyfile", "nginx.conf"))
DEFAULTS = dict(re.findall(r"^\| `([A-Z_]+)` \| `(\d+)s`", (ROOT / "docs/settings.md").read_text(), re.M))


def changed(text: str, *changes: tuple[str, str]) -> str:
    """Returns a file for a test's ports and certificate. What is replaced has to be there."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


class Front:
    """A proxy with TLS at `https`, and with a redirect to there at `http`, if it has one."""

    def __init__(self, name: str, folder, parlor: str):
        self.http, self.tls = free_port(), free_port()
        self.https = f"https://localhost:{self.tls}"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "key", "-out", folder / "crt"],
            check=True, capture_output=True)  # fmt: skip
        self.context = ssl.create_default_context(cafile=folder / "crt")
        getattr(self, f"start_{name}")(folder, parlor.removeprefix("http://"))
        until(lambda: self.answers(), what=name)

    def answers(self) -> bool:
        try:
            return httpx.get(f"{self.https}/healthz", verify=self.context, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def start_caddy(self, folder, parlor: str):
        own = f"{{\n\tadmin off\n\thttp_port {self.http}\n\thttps_port {self.tls}\n\tstorage file_system {folder}\n}}\n"
        (folder / "Caddyfile").write_text(own + changed(
            CADDYFILE, ("127.0.0.1:8080", parlor),
            ("\nchat.example {\n", f"\nlocalhost {{\n\tbind 127.0.0.1\n\ttls {folder}/crt {folder}/key\n")))  # fmt: skip
        self.run("caddy", "run", "--config", folder / "Caddyfile", folder=folder)

    def start_nginx(self, folder, parlor: str):
        letsencrypt = "/etc/letsencrypt/live/chat.example"
        text = re.sub(r"listen \[::\].*;\n", "", changed(
            NGINX, ("user www-data;", ""), ("/run/nginx.pid", f"{folder}/pid"), ("/var/log/nginx", f"{folder}"),
            ("listen 80;", f"listen 127.0.0.1:{self.http};"), ("listen 443 ", f"listen 127.0.0.1:{self.tls} "),
            (f"{letsencrypt}/fullchain.pem", f"{folder}/crt"), (f"{letsencrypt}/privkey.pem", f"{folder}/key"),
            ("server_name chat.example", "server_name localhost"), ("127.0.0.1:8080", parlor)))  # fmt: skip
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"):
            text = changed(text, ("http {\n", f"http {{\n    {name}_temp_path {folder}/{name};\n"))
        (folder / "nginx.conf").write_text(text)
        self.run("nginx", "-e", folder / "error.log", "-c", folder / "nginx.conf", "-g", "daemon off;", folder=folder)

    def start_balancer(self, folder, parlor: str):
        (folder / "pem").write_text((folder / "crt").read_text() + (folder / "key").read_text())
        balancer = Balancer(folder, f"http://{parlor}", TLS_CERTIFICATE=str(folder / "pem"), RATE_LIMITS="off")
        self.process, self.https = balancer.process, f"https://localhost:{balancer.tls_port}"

    def run(self, *command, folder):
        environment = {"HOME": str(folder), "PATH": "/usr/sbin:/usr/bin:/bin"}
        self.process = subprocess.Popen(
            [str(part) for part in command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


FRONTS = [
    pytest.param(name, marks=pytest.mark.skipif(not shutil.which(program, path="/usr/sbin:/usr/bin"), reason=f"there is no {program}"))
    for name, program in [("caddy", "caddy"), ("nginx", "nginx"), ("balancer", "haproxy")]
]  # fmt: skip


@pytest.fixture(params=FRONTS)
def front(request, tmp_path):
    """A proxy with TLS in front of a Parlor that trusts it."""
    parlor = Process(
        binaries() / "parlor", "--port", 0, "--data", tmp_path / "data", "--trusted-proxies", "127.0.0.1",
        "--rate-register", "1000/10s,4/60s", "--allowed-origins", "https://app.example")  # fmt: skip
    front = Front(request.param, tmp_path, parlor.wait_until_ready())
    yield front
    front.stop()
    assert parlor.stop() == 0, parlor.log()


async def test_people_meet_over_tls(front):
    async with World(Remote(front.https), verify=False) as world:
        alice, bob, room = await world.pair()
        for transport in ("websocket", "polling", "upgrade"):
            phone = await bob.socket(joined=room, transport=transport)
            laptop = await alice.socket(joined=room, transport=transport)
            sent = await laptop.do("message:send", {"roomId": room["id"], "text": transport})
            assert (await phone.expect("message:new"))["message"]["id"] == sent["message"]["id"]
            await phone.close()
            await laptop.close()


def test_parlor_sees_the_client_as_it_is(front):
    # From another address than the proxy's, which is trusted.
    transport = httpx.HTTPTransport(verify=front.context, local_address="127.0.0.2")
    with httpx.Client(base_url=front.https, transport=transport, trust_env=False) as client:
        registered = [
            client.post(
                "/api/auth/register", json={"username": f"person{number}", "password": "correct horse"},
                headers={"X-Forwarded-For": f"10.0.0.{number}"}).status_code
            for number in range(5)
        ]  # fmt: skip
        assert registered == [201] * 4 + [429], "what a client writes into X-Forwarded-For counts for nothing"
        # The page's own origin is known by the Host.
        handshake = "/socket.io/?EIO=4&transport=polling"
        for origin, status in [(front.https, 200), ("https://app.example", 200), ("https://evil.example", 403)]:
            assert client.get(handshake, headers={"Origin": origin}).status_code == status, origin
        # Parlor says so, not the proxy.
        refused = client.post("/api/rooms", content=b" " * 2_000_000)
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "payload_too_large")


@pytest.mark.parametrize("front", FRONTS[:2], indirect=True)
def test_http_leads_to_https(front):
    answer = httpx.get(f"http://localhost:{front.http}/api/rooms?a=b", trust_env=False)
    assert (answer.status_code, answer.headers["Location"]) == (308, "https://localhost/api/rooms?a=b")


def test_the_proxies_wait_longer_than_parlor_pings_and_keep_connections_for_less_than_parlor():
    balancer = (ROOT / "deploy/balancer/haproxy.cfg").read_text()
    waits = re.findall(r"proxy_read_timeout (\d+)s", NGINX) + re.findall(r"timeout server (\d+)s", balancer)
    assert len(waits) == 2 and all(int(seconds) > int(DEFAULTS["PING_INTERVAL"]) for seconds in waits)
    kept = re.findall(r"keepalive_timeout (\d+)s", NGINX) + re.findall(r"\bkeepalive (\d+)s", CADDYFILE)
    assert len(kept) == 2 and all(int(seconds) < int(DEFAULTS["IDLE_TIMEOUT"]) for seconds in kept)
