"""Several instances of a service: they share its work and its database."""

import asyncio
import os
import signal
from pathlib import Path

import pytest
from people import World, eventually

SENDS = 120


def instances(parlor, program: str) -> list[int]:
    children = Path(f"/proc/{parlor.process.pid}/task/{parlor.process.pid}/children").read_text().split()
    return [int(pid) for pid in children if Path(f"/proc/{pid}/cmdline").read_text().split("\0")[0].endswith(program)]


async def test_instances_share_the_work_in_one_order_and_one_that_dies_takes_nothing_along(start):
    parlor = start("separate", "--scale", "messaging=3", "--scale", "elements=2")
    assert len(instances(parlor, "parlor-messaging")) == 3
    assert len(instances(parlor, "parlor-elements")) == 2
    async with World(parlor) as world:
        alice, bob, room = await world.pair()
        phones = [await person.socket(joined=room) for person in (alice, bob)]

        async def send(number: int):
            body = {"text": f"{number}", "tempId": f"{number}"}
            while True:
                answer = await alice.request("POST", f"/api/rooms/{room['id']}/messages", body)
                if answer.status_code in (200, 201):
                    return answer.json()["data"]
                # An instance that dies takes its requests along: they may be repeated, and are stored once.
                assert answer.json()["error"]["retryable"], answer.text

        async def kill_one_midway():
            await phones[1].expect("message:new", within=20)
            os.kill(instances(parlor, "parlor-messaging")[0], signal.SIGKILL)

        sent, _ = await asyncio.gather(asyncio.gather(*map(send, range(SENDS))), kill_one_midway())
        await asyncio.gather(
            *(alice.post(f"/api/rooms/{room['id']}/elements", {"type": "note"}, 201) for _ in range(20)))  # fmt: skip
        assert sorted(message["seq"] for message in sent) == list(range(1, SENDS + 1))

        async def all_heard():
            return all(phone.order("message:new").count("message:new") >= SENDS - 1 for phone in phones)

        await eventually(all_heard)
        for phone in phones:
            heard = [data["message"]["seq"] for name, data in phone.heard if name == "message:new"]
            assert heard == list(range(SENDS + 1 - len(heard), SENDS + 1))
        view = await bob.view(room)
        assert (view["badges"]["messages"], view["elementCount"]) == (SENDS, 20)
        await eventually(lambda: asyncio.to_thread(lambda: len(instances(parlor, "parlor-messaging")) == 3))


def test_a_service_that_is_not_there_cannot_be_scaled(start):
    for wrong in ("nobody=2", "messaging=0", "messaging", "gateway=2"):
        with pytest.raises(AssertionError, match="--scale needs SERVICE=N"):
            start("separate", "--scale", wrong)
