import os
import signal
import subprocess
from pathlib import Path

import aiohttp
import pytest
from wire import Server

ROOT = Path(__file__).parents[3]
PING_INTERVAL, PING_TIMEOUT, CONNECT_TIMEOUT = 300, 200, 400


def executable() -> str:
    if named := os.environ.get("PROTOCOL_ECHO"):
        return named
    shown = subprocess.run(
        ["swift", "build", "--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return str(Path(shown.stdout.strip()) / "protocol-echo")


def start(*options: str) -> tuple[subprocess.Popen, str]:
    """A server of the test's own, and its address."""
    process = subprocess.Popen([executable(), "--port", "0", *options], stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    assert line.startswith("protocol-echo ready http://127.0.0.1:"), line
    return process, line.split()[-1]


def stop(process: subprocess.Popen) -> int:
    process.send_signal(signal.SIGTERM)
    return process.wait(5)


@pytest.fixture(scope="session")
def address():
    """A server with the short time-outs of the official suites. It has to survive all tests."""
    process, address = start(
        "--ping-interval", str(PING_INTERVAL), "--ping-timeout", str(PING_TIMEOUT),
        "--connect-timeout", str(CONNECT_TIMEOUT),
    )  # fmt: skip
    yield address
    assert process.poll() is None, "the server has ended"
    assert stop(process) == 0


@pytest.fixture(scope="session")
def patient_address():
    """A server with a heartbeat too slow to interfere."""
    process, address = start("--ping-interval", "60000")
    yield address
    assert process.poll() is None, "the server has ended"
    assert stop(process) == 0


@pytest.fixture
async def server(address):
    async with aiohttp.ClientSession() as http:
        yield Server(http, address)


@pytest.fixture
async def patient(patient_address):
    async with aiohttp.ClientSession() as http:
        yield Server(http, patient_address)
