"""Several instances of a service: they share its work and its database."""

import asyncio
import os
import signal

import pytest
from people import World, eventually

INSTANCES = 3
WAVE, WAVES = 24, 5


class Sender:
    """A client that numbers its messages, and retries temporary refusals."""

    def __init__(self, person, room: dict):
        self.person, self.path = person, f"/api/rooms/{room['id']}/messages"
        self.count = 0
        self.seqs = []
        self.has_repeated = asyncio.Event()

    def send_wave(self) -> asyncio.Future:
        numbers = range(self.count, self.count + WAVE)
        self.count += WAVE
        return asyncio.gather(*map(self.send, numbers))

    async def send(self, number: int):
        body = {"text": f"{number}", "tempId": f"{number}"}
        while (answer := await self.person.request("POST", self.path, body)).status_code not in (200, 201):
            assert answer.json()["error"]["code"] == "service_unavailable", answer.text
            self.has_repeated.set()
            await asyncio.sleep(float(answer.headers["Retry-After"]))
        self.seqs.append(answer.json()["data"]["seq"])


async def kill_one_midway(sender: Sender, pids: list[int]):
    """All requests of a room may go to one instance. So each instance is halted in turn, until one has a request that it does not answer."""
    sender.has_repeated.clear()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
        wave = sender.send_wave()
        repeating = asyncio.create_task(sender.has_repeated.wait())
        await asyncio.wait([wave, repeating], return_when=asyncio.FIRST_COMPLETED)
        if sender.has_repeated.is_set():
            os.kill(pid, signal.SIGKILL)
            return await wave
        repeating.cancel()
        os.kill(pid, signal.SIGCONT)
        await wave
    raise AssertionError("none of the instances had work")


async def test_instances_share_the_work_in_one_order_and_one_that_dies_takes_nothing_along(start):
    parlor = start("separate", "--scale", f"messaging={INSTANCES}", "--scale", "elements=2")
    assert len(parlor.pids("parlor-messaging")) == INSTANCES
    assert len(parlor.pids("parlor-elements")) == 2
    async with World(parlor) as world:
        alice, bob, room = await world.pair()
        phones = [await person.socket(joined=room) for person in (alice, bob)]
        sender = Sender(alice, room)
        await sender.send_wave()
        await kill_one_midway(sender, parlor.pids("parlor-messaging"))
        while sender.count < WAVE * WAVES:
            await sender.send_wave()
        await asyncio.gather(
            *(alice.post(f"/api/rooms/{room['id']}/elements", {"type": "note"}, 201) for _ in range(20)))  # fmt: skip
        in_order = list(range(1, sender.count + 1))
        assert sorted(sender.seqs) == in_order

        async def all_heard():
            return all(len(phone.order("message:new")) >= sender.count for phone in phones)

        await eventually(all_heard)
        for phone in phones:
            assert [data["message"]["seq"] for name, data in phone.heard if name == "message:new"] == in_order
        view = await bob.view(room)
        assert (view["badges"]["messages"], view["elementCount"]) == (sender.count, 20)

        async def all_there():
            return len(parlor.pids("parlor-messaging")) == INSTANCES

        await eventually(all_there)


def test_a_service_that_is_not_there_cannot_be_scaled(start):
    for wrong in ("nobody=2", "messaging=0", "messaging", "gateway=2"):
        with pytest.raises(AssertionError, match="--scale needs SERVICE=N"):
            start("separate", "--scale", wrong)
