"""Examples/Bookmarks, a service that follows another one's log, in a whole Parlor: within its process, and beside separate
ones. deploy/test-example builds it, and names this file. It is not a test_*.py, because its tests need a build of their own."""

import subprocess
from contextlib import contextmanager

import pytest
from parlor import Process, binaries
from people import World, eventually

PROGRAM = binaries() / "parlor-bookmarks"


@contextmanager
def bookmarks(parlor):
    """The service as a process of its own, which ends by a kill."""
    process = Process(
        PROGRAM, "--data", parlor.data, "--bus", (parlor.data / "bus.url").read_text().strip(),
        environment={"BUS_TOKEN_FILE": str(parlor.data / "bus/bookmarks.token")})  # fmt: skip
    process.wait_until_ready()
    try:
        yield
    finally:
        process.kill()


async def count(person, room) -> int | None:
    return (await person.view(room)).get("bookmarkCount")


async def path_of_bookmark(person, room, message) -> str:
    """Returns the path of a message's bookmark, once the gateway knows the service."""

    async def is_known():
        return (await person.request("GET", f"/api/rooms/{room['id']}/bookmarks")).status_code == 200

    await eventually(is_known)
    return f"/api/rooms/{room['id']}/messages/{message['id']}/bookmark"


async def test_a_deleted_message_takes_its_bookmarks_along_and_lists_show_it(start):
    async with World(start("one")) as world:
        alice, bob, room = await world.pair()
        phone, other = await alice.socket(), await bob.socket()
        message, kept = await bob.send(room, "Remember this"), await bob.send(room, "And this")
        await alice.data("PUT", await path_of_bookmark(alice, room, message), status=201)
        await alice.data("PUT", await path_of_bookmark(alice, room, kept), status=201)
        for number in (1, 2):
            assert await phone.expect("bookmarks:changed") == {"roomId": room["id"], "bookmarkCount": number}
        assert (await count(alice, room), await count(bob, room)) == (2, 0)

        await bob.data("DELETE", f"/api/rooms/{room['id']}/messages/{message['id']}", status=204)
        assert await phone.expect("bookmarks:changed") == {"roomId": room["id"], "bookmarkCount": 1}
        assert await count(alice, room) == 1
        listed = await alice.get(f"/api/rooms/{room['id']}/bookmarks")
        assert [bookmark["messageId"] for bookmark in listed] == [kept["id"]]
        refused = await alice.request("PUT", await path_of_bookmark(alice, room, message))
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "message_not_found")
        assert other.order("bookmarks:changed") == []


async def test_a_message_that_is_deleted_while_the_service_is_away_takes_its_bookmarks_along(start, tmp_path):
    plugins = tmp_path / "plugins"
    plugins.write_text(subprocess.run([PROGRAM, "bus-peers"], capture_output=True, text=True, check=True).stdout)
    parlor = start("separate", "--with", plugins)
    async with World(parlor) as world:
        alice, bob, room = await world.pair()
        message = await bob.send(room, "Remember this")
        with bookmarks(parlor):
            await alice.data("PUT", await path_of_bookmark(alice, room, message), status=201)
            assert await count(alice, room) == 1
        await bob.data("DELETE", f"/api/rooms/{room['id']}/messages/{message['id']}", status=204)
        with bookmarks(parlor):

            async def is_gone():
                return await count(alice, room) == 0

            await eventually(is_gone)
