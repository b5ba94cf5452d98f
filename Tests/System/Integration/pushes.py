"""What tests of notifications have in common: devices, and the jobs and metrics of parlor-push."""

import asyncio
import contextlib
import re
import secrets
import sqlite3

from people import eventually

HOLD = ["--push-hold", "300ms"]


def new_token() -> str:
    return secrets.token_hex(32)


async def register(person, token: str | None = None, environment: str = "production") -> str:
    token = token or new_token()
    body = {"token": token, "platform": "ios", "environment": environment}
    assert (await person.request("POST", "/api/devices", body)).status_code in (200, 201)
    return token


async def counted(world, name: str, **labels) -> float:
    """Returns the sum of a metric's series with these labels."""
    text = (await world.http.get("/metrics")).text
    found = 0.0
    for line in text.splitlines():
        match = re.fullmatch(rf"{name}(?:\{{(.*)\}})? (\S+)", line)
        if match and all(f'{key}="{value}"' in (match[1] or "") for key, value in labels.items()):
            found += float(match[2])
    return found


async def arrivals(apple, token: str, count: int = 1):
    return await asyncio.to_thread(apple.wait, token, count)


def jobs(parlor) -> int:
    """Returns how many jobs are left, in any state."""
    with contextlib.closing(sqlite3.connect(f"file:{parlor.data}/push.db?mode=ro", uri=True)) as database:
        return database.execute("SELECT count(*) FROM jobs").fetchone()[0]


async def quiet(world):
    async def is_quiet():
        return jobs(world.parlor) == 0

    await eventually(is_quiet, 30)
