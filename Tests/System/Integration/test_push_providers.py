"""Notifications to a webhook and to a log, and wrong settings of each provider."""

import asyncio
import hashlib
import hmac
import http.server
import json
import threading
import time

import pytest
from parlor import binaries
from people import World, eventually
from pushes import HOLD, register
from test_settings import run


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((dict(self.headers), body))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


async def test_a_webhook_is_signed(start, tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    server.requests, server.statuses = [], [503]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/hook"
    parlor = start("one", *HOLD, "--push-provider", "webhook", "--push-webhook-url", url)
    async with World(parlor) as world:
        ada, ben, room = await world.pair()
        token = await register(ben)
        message = await ada.send(room, "hello")

        async def came_twice():
            return len(server.requests) == 2

        await eventually(came_twice)
    server.shutdown()
    secret = (parlor.data / "webhook.secret").read_bytes().strip()
    for headers, body in server.requests:
        fields = dict(part.split("=") for part in headers["Parlor-Signature"].split(","))
        assert fields["v1"] == hmac.new(secret, fields["t"].encode() + b"." + body, hashlib.sha256).hexdigest()
        assert abs(int(fields["t"]) - time.time()) < 60
        said = json.loads(body)
        assert said["device"] == {
            "token": token, "platform": "ios", "environment": "production", "userId": ben.id}  # fmt: skip
        assert said["collapseId"] == message["id"] and said["payload"]["aps"]["alert"]["body"] == "hello"
    assert len({headers["Idempotency-Key"] for headers, _ in server.requests}) == 1


@pytest.mark.parametrize("form", ["one", "separate"])
async def test_without_an_account_it_is_written_down(start, tmp_path, form):
    path = tmp_path / "pushes.log"
    async with World(start(form, *HOLD, "--push-log-file", str(path))) as world:
        ada, ben, room = await world.pair()
        token = await register(ben)
        message = await ada.send(room, "hello")

        async def lines():
            return path.exists() and path.read_text().splitlines()

        (line,) = await eventually(lines)
        assert json.loads(line)["device"]["token"] == token and json.loads(line)["collapseId"] == message["id"]


async def test_standard_output_gets_neither_text_nor_token(start):
    parlor = start("one", *HOLD)
    async with World(parlor) as world:
        ada, ben, room = await world.pair()
        token = await register(ben)
        message = await ada.send(room, "for Ben alone")
        line = await asyncio.to_thread(parlor.process.process.stdout.readline)
        assert json.loads(line)["collapseId"] == message["id"]
        assert token not in line and "for Ben alone" not in line and ben.id not in line


async def test_wrong_settings_stop_the_start(tmp_path):
    (tmp_path / "no.p8").write_text("nothing")
    for flags, line in [
        (["--push-provider", "apns"], "APNS_KEY_FILE (--apns-key-file) is needed for the provider apns"),
        (["--push-provider", "apns", "--apns-key-file", tmp_path / "no.p8"], "it is no private key on the curve P-256"),
        (["--push-provider", "webhook"], "PUSH_WEBHOOK_URL (--push-webhook-url) has to be"),
        (["--push-log-file", tmp_path / "no" / "file"], "PUSH_LOG_FILE (--push-log-file)"),
    ]:
        result = run(binaries() / "parlor", "--data", tmp_path / "data", "--port", 0, *flags)
        assert result.returncode == 2 and line in result.stderr.splitlines()[-1], result.stderr
