"""Apple's push service as far as tests need it: a real HTTP/2 server with TLS, with a set behaviour for each device.

In a test: `with Apple(folder) as apple`, then `apple.script[token] = [Refuse(410, "Unregistered"), Accept()]`; the last of a
device's list is for all later requests.
"""

import asyncio
import dataclasses
import json
import ssl
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from ipaddress import ip_address

KEY_ID, TEAM_ID, TOPIC = "KEY4567890", "TEAM567890", "com.example.parlor"


@dataclasses.dataclass
class Accept:
    after: float = 0.0  # seconds


@dataclasses.dataclass
class Refuse:
    status: int
    reason: str
    timestamp: int | None = None  # milliseconds
    retry_after: int | None = None  # seconds


class Reset:
    """Resets the stream."""


class Away:
    """Sends GOAWAY without an answer to this stream, and closes the connection."""


class Silence:
    """Never answers."""


@dataclasses.dataclass
class Arrival:
    at: float
    connection: int
    path: str
    headers: dict
    payload: bytes

    @property
    def token(self) -> str:
        return self.path.removeprefix("/3/device/")

    @property
    def json(self) -> dict:
        return json.loads(self.payload)


def make_keys(folder: Path):
    """Makes a new certificate for 127.0.0.1, and a new key like those that Apple gives to a team."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "apns.test")])
    now = datetime.now(timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    (folder / "apns.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    for path, made in [("apns.key", key), ("team.p8", ec.generate_private_key(ec.SECP256R1()))]:
        (folder / path).write_bytes(
            made.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )


class Connection(asyncio.Protocol):
    def __init__(self, apple: "Apple"):
        self.apple = apple
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.bodies, self.headers = {}, {}

    def connection_made(self, transport):
        self.transport = transport
        self.apple.connections += 1
        self.number = self.apple.connections
        self.h2.initiate_connection()
        self.h2.update_settings({h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: self.apple.max_streams})
        self.flush()

    def flush(self):
        self.transport.write(self.h2.data_to_send())

    def data_received(self, data: bytes):
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.transport.close()
            return
        for event in events:
            if isinstance(event, h2.events.RequestReceived):
                self.headers[event.stream_id], self.bodies[event.stream_id] = dict(event.headers), bytearray()
            elif isinstance(event, h2.events.DataReceived):
                self.bodies[event.stream_id] += event.data
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                self.serve(event.stream_id)
        self.flush()

    def serve(self, stream: int):
        headers, body = self.headers.pop(stream), bytes(self.bodies.pop(stream))
        arrival = Arrival(time.time(), self.number, headers[":path"], headers, body)
        action = self.apple.take(arrival)
        if isinstance(action, Accept) and action.after:
            asyncio.get_running_loop().call_later(action.after, self.act, stream, action, arrival)
        else:
            self.act(stream, action, arrival)

    def act(self, stream: int, action, arrival: Arrival):
        if self.transport.is_closing():
            return
        try:
            if isinstance(action, Accept):
                fields = [(":status", "200"), ("apns-id", arrival.headers.get("apns-id", ""))]
                self.h2.send_headers(stream, fields, end_stream=True)
            elif isinstance(action, Refuse):
                said = {"reason": action.reason}
                if action.timestamp is not None:
                    said["timestamp"] = action.timestamp
                fields = [(":status", str(action.status)), ("content-type", "application/json")]
                if action.retry_after is not None:
                    fields.append(("retry-after", str(action.retry_after)))
                self.h2.send_headers(stream, fields)
                self.h2.send_data(stream, json.dumps(said).encode(), end_stream=True)
            elif isinstance(action, Reset):
                self.h2.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
            elif isinstance(action, Away):
                self.h2.close_connection(h2.errors.ErrorCodes.NO_ERROR, last_stream_id=stream - 2 if stream > 1 else 0)
                self.flush()
                self.transport.close()
                return
        except h2.exceptions.ProtocolError:
            return  # the client has given the stream up
        self.flush()


class Apple:
    """Runs on a thread of its own, with a port of its own."""

    def __init__(self, folder: Path, latency: float = 0.0, max_streams: int = 1000):
        self.folder, self.standard, self.max_streams = folder, Accept(latency), max_streams
        self.script, self.arrivals, self.tokens = {}, [], {}
        self.connections = self.count = 0
        folder.mkdir(parents=True, exist_ok=True)
        make_keys(folder)
        self.public_key = serialization.load_pem_private_key((folder / "team.p8").read_bytes(), None).public_key()
        self.changed = threading.Condition()

    def take(self, arrival: Arrival):
        """Records a request, and returns its outcome. A request that Apple would refuse is refused in the same way."""
        with self.changed:
            self.count += 1
            given = arrival.headers.get("authorization", "")
            known = self.tokens.setdefault(given, 0)
            self.tokens[given] = known + 1
            self.arrivals.append(arrival)
            self.changed.notify_all()
        actions = self.script.get(arrival.token)
        action = self.standard if not actions else actions.pop(0) if len(actions) > 1 else actions[0]
        if known == 0 and isinstance(action, Accept) and not self.believes(given):
            return Refuse(403, "InvalidProviderToken")
        if len(arrival.payload) > 4096:
            return Refuse(413, "PayloadTooLarge")
        return action

    def believes(self, authorization: str) -> bool:
        scheme, _, token = authorization.partition(" ")
        try:
            claims = jwt.decode(token, self.public_key, algorithms=["ES256"], options={"verify_iat": True})
        except jwt.InvalidTokenError:
            return False
        fits = claims["iss"] == TEAM_ID and abs(time.time() - claims["iat"]) < 3600
        return scheme.lower() == "bearer" and fits and jwt.get_unverified_header(token)["kid"] == KEY_ID

    def of(self, token: str) -> list[Arrival]:
        with self.changed:
            return [arrival for arrival in self.arrivals if arrival.token == token]

    def wait(self, token: str, count: int = 1, within: float = 15.0) -> list[Arrival]:
        """Waits until there are so many requests for a device, and returns them."""
        with self.changed:
            enough = self.changed.wait_for(lambda: sum(a.token == token for a in self.arrivals) >= count, within)
        found = self.of(token)
        assert enough, f"{len(found)} of {count} requests for {token} within {within} s"
        return found

    def settings(self) -> list[str]:
        """The flags of a Parlor that uses this server as Apple's."""
        return [
            "--push-provider", "apns", "--apns-url", self.address, "--apns-ca-file", str(self.folder / "apns.crt"),
            "--apns-key-file", str(self.folder / "team.p8"), "--apns-key-id", KEY_ID, "--apns-team-id", TEAM_ID,
            "--apns-topic", TOPIC,
        ]  # fmt: skip

    async def serve(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "apns.crt", self.folder / "apns.key")
        context.set_alpn_protocols(["h2"])
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Connection(self), "127.0.0.1", 0, ssl=context, backlog=128)
        self.address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return server

    def __enter__(self) -> "Apple":
        ready = threading.Event()

        async def run():
            self.loop, self.over = asyncio.get_running_loop(), asyncio.Event()
            server = await self.serve()
            ready.set()
            await self.over.wait()
            server.close()

        self.thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
        self.thread.start()
        assert ready.wait(10)
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.over.set)
        self.thread.join(10)
