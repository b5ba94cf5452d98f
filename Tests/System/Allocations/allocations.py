"""Counts the allocations of a send in the whole server, from the socket to the ack and the events of two sockets.

    .venv/bin/python Tests/System/Allocations/allocations.py [PROGRAM]    .build/release/parlor, unless named

count.c is preloaded into the server. What the server allocates while nothing happens is subtracted. Sends follow one another,
so each is a commit of its own. The count varies by one or two."""

import asyncio
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "Tests/System/Integration"))

from parlor import Process  # noqa: E402
from people import World  # noqa: E402

SENDS = 2000


class Server(Process):
    """A server whose allocations are counted."""

    def __init__(self, program: str, folder: Path):
        counter, self.count = folder / "count.so", folder / "count"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", counter, Path(__file__).parent / "count.c"], check=True)
        super().__init__(
            program, "--port", 0, "--data", folder / "data", "--rate-limits", "off",
            environment={"LD_PRELOAD": str(counter), "ALLOCATIONS_FILE": str(self.count)})  # fmt: skip
        self.address = self.wait_until_ready()

    def allocations(self) -> int:
        return struct.unpack("l", self.count.read_bytes())[0]


async def measure(server: Server) -> float:
    async with World(server) as world:
        alice, bob, room = await world.pair()
        phone, _ = await alice.socket(joined=room), await bob.socket(joined=room)

        async def send(count: int):
            for number in range(count):
                await phone.do("message:send", {"roomId": room["id"], "text": f"hello {number}", "tempId": str(time.time_ns())})

        await send(SENDS // 4)  # caches are filled, and pools grow
        await asyncio.sleep(1)
        began, before = time.monotonic(), server.allocations()
        await asyncio.sleep(2)
        idle = (server.allocations() - before) / (time.monotonic() - began)
        began, before = time.monotonic(), server.allocations()
        await send(SENDS)
        return (server.allocations() - before - idle * (time.monotonic() - began)) / SENDS


def main(program: str = str(ROOT / ".build/release/parlor")):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, Path(folder))
        try:
            print(f"{asyncio.run(measure(server)):.0f} allocations per send")
        finally:
            server.kill()


if __name__ == "__main__":
    os.environ.setdefault("LOG_LEVEL", "error")
    main(*sys.argv[1:])
