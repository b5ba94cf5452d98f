"""A service that checks what people write (`moderator.py`), through the real gateway: it denies, and is killed."""

import json

import pytest
from added_service import AddedService
from people import PASSWORD, World, eventually


class Moderator(AddedService):
    def __init__(self, parlor, when_away: str):
        self.when_away = when_away
        super().__init__(parlor, "moderator", when_away)

    async def known(self, person):
        await eventually(lambda: self.answers(person))

    async def answers(self, person) -> bool:
        return (await person.request("GET", "/api/moderator")).status_code == 200


@pytest.fixture
async def moderated(request, start_with):
    """A Parlor with a moderator, and two people with a room."""
    parlor = start_with({"service": "moderator"})
    moderator = Moderator(parlor, request.param)
    async with World(parlor) as world:
        alice, bob, room = await world.pair()
        await moderator.known(alice)
        yield moderator, alice, bob, room
    moderator.process.kill()


async def texts(person, room: dict) -> list[str]:
    return [message["text"] for message in await person.get(f"/api/rooms/{room['id']}/messages")]


@pytest.mark.parametrize("moderated", ["deny"], indirect=True)
async def test_what_a_check_denies_reaches_nobody_whichever_way_it_is_sent(moderated):
    moderator, alice, bob, room = moderated
    phone, other = await alice.socket(joined=room), await bob.socket(joined=room)
    denied = await phone.ask("message:send", {"roomId": room["id"], "text": "pox"})
    assert denied["error"] == {"code": "rude_words", "message": "That is not said here.", "retryable": False}
    answer = await alice.request("POST", f"/api/rooms/{room['id']}/messages", {"text": "pox too"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "rude_words")
    await phone.do("message:send", {"roomId": room["id"], "text": "fox"})
    assert (await other.expect("message:new"))["message"]["text"] == "fox"
    assert await texts(bob, room) == ["fox"]
    assert await alice.get("/api/moderator") == [{"by": alice.id, "text": text} for text in ("pox", "pox too", "fox")]
    # It never sees a password, whatever it announces.
    login = await alice.request("POST", "/api/auth/login", {"username": alice.username, "password": PASSWORD})
    assert login.status_code == 200
    assert len(await alice.get("/api/moderator")) == 3
    assert '"before":"accounts.login"' in moderator.parlor.process.log()


async def asked(person, text: str) -> bool:
    return any(check["text"] == text for check in await person.get("/api/moderator"))


@pytest.mark.parametrize("moderated", ["allow", "deny"], indirect=True)
async def test_while_the_service_is_away_its_declaration_decides(moderated):
    moderator, alice, bob, room = moderated
    phone = await alice.socket(joined=room)
    for _ in range(3):
        moderator.process.kill()
        answer = await phone.ask("message:send", {"roomId": room["id"], "text": "pox"})
        if moderator.when_away == "allow":
            assert answer["success"]
        else:
            assert answer["error"]["code"] == "service_unavailable" and answer["error"]["retryable"]
        moderator.start()
        await moderator.known(alice)
        assert (await phone.ask("message:send", {"roomId": room["id"], "text": "pox"}))["error"]["code"] == "rude_words"
    assert await texts(bob, room) == (["pox"] * 3 if moderator.when_away == "allow" else [])
    lines = [line for line in moderator.parlor.process.log().splitlines() if "a check is not answered" in line]
    reasons = [json.loads(line)["reason"] for line in lines]
    assert reasons and len(reasons) == len(set(reasons)), lines
    assert all(json.loads(line)["outcome"] == moderator.when_away for line in lines)
