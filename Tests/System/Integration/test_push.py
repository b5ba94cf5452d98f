"""Notifications to a fake Apple server."""

import asyncio
import re
import time
import uuid

import jwt
import pytest
from apns import KEY_ID, TEAM_ID, TOPIC, Accept, Apple, Away, Refuse, Reset, Silence
from parlor import Cluster
from people import World, eventually
from pushes import HOLD, arrivals, counted, quiet, register


@pytest.fixture
def apple(tmp_path):
    with Apple(tmp_path / "apple") as apple:
        yield apple


@pytest.fixture
def parlor_with(start, apple):
    return lambda *flags: start("one", *HOLD, *apple.settings(), *flags)


async def test_what_apple_is_sent(parlor_with, apple):
    async with World(parlor_with()) as world:
        ada, ben, room = await world.pair()
        await ada.data("PUT", f"/api/rooms/{room['id']}/name", {"name": "Kitchen"})
        other = await ada.post("/api/rooms", {"otherUserId": ben.id}, 201)
        token = await register(ben)
        await ada.send(other, "earlier")
        await arrivals(apple, token)
        message = await ada.send(room, "Tea is ready 🫖")
        sent_at = time.time()
        _, arrival = await arrivals(apple, token, 2)

        headers = arrival.headers
        assert (headers[":method"], headers[":path"]) == ("POST", f"/3/device/{token}")
        assert headers["apns-topic"] == TOPIC and headers["apns-push-type"] == "alert"
        assert headers["apns-priority"] == "10" and headers["apns-collapse-id"] == message["id"]
        assert str(uuid.UUID(headers["apns-id"])) == headers["apns-id"]
        assert 86_000 < int(headers["apns-expiration"]) - sent_at <= 86_401

        scheme, _, given = headers["authorization"].partition(" ")
        claims = jwt.decode(given, apple.public_key, algorithms=["ES256"])
        assert scheme == "bearer" and jwt.get_unverified_header(given)["kid"] == KEY_ID
        assert set(claims) == {"iss", "iat"} and claims["iss"] == TEAM_ID and abs(claims["iat"] - sent_at) < 30

        payload = arrival.json
        assert payload["aps"]["alert"]["title"] == "Ada · Kitchen".replace("Ada", ada.username.split("-")[0].title())
        assert payload["aps"]["alert"]["body"] == "Tea is ready 🫖"
        assert payload["aps"]["badge"] == 2 and payload["aps"]["thread-id"] == room["id"]
        assert payload["aps"]["mutable-content"] == 1 and payload["aps"]["category"] == "message"
        assert payload["roomId"] == room["id"] and payload["messageId"] == message["id"]
        assert payload["seq"] == message["seq"] and payload["senderId"] == ada.id
        assert payload["senderName"] == payload["aps"]["alert"]["title"].removesuffix(" · Kitchen")
        assert payload["roomName"] == "Kitchen"
        # The number alone is enough to find the message, and an extension finds it so.
        found = await ben.data("GET", f"/api/rooms/{room['id']}/messages?after={payload['seq'] - 1}&limit=1")
        assert [one["id"] for one in found] == [message["id"]]


async def test_a_long_text_is_cut_by_whole_characters(parlor_with, apple):
    async with World(parlor_with()) as world:
        ada, ben, room = await world.pair()
        token = await register(ben)
        family = "👩‍👩‍👧‍👦"  # one character, seven scalars, 25 bytes
        await ada.send(room, family * 500)
        await ada.send(room, '"\\\n' * 1300 + "x")
        first, second = await arrivals(apple, token, 2)
        for arrival in (first, second):
            assert 4000 < len(arrival.payload) <= 4096
        bodies = sorted((a.json["aps"]["alert"]["body"] for a in (first, second)), key=lambda body: family in body)
        assert re.fullmatch(f"({family})+…", bodies[1]) and len(bodies[0]) > 1500 and bodies[0].endswith("…")


async def test_a_preview_can_be_kept_out(parlor_with, apple):
    async with World(parlor_with("--push-preview", "off")) as world:
        ada, ben, room = await world.pair()
        token = await register(ben)
        await ada.send(room, "a secret")
        (arrival,) = await arrivals(apple, token)
        assert b"secret" not in arrival.payload and arrival.json["aps"]["alert"]["body"]


async def test_an_app_can_word_its_notifications(parlor_with, apple):
    flags = ["--push-preview", "off", "--push-category", "off", "--push-loc-keys", "on"]
    async with World(parlor_with(*flags)) as world:
        ada, ben, room = await world.pair()
        await ada.data("PUT", f"/api/rooms/{room['id']}/name", {"name": "Kitchen"})
        token = await register(ben)
        await ada.send(room, "a secret")
        (arrival,) = await arrivals(apple, token)
        aps, sender = arrival.json["aps"], arrival.json["senderName"]
        assert aps["alert"] == {
            "title-loc-key": "MESSAGE_FROM_IN_ROOM",
            "title-loc-args": [sender, "Kitchen"],
            "loc-key": "NEW_MESSAGE",
        }
        assert "category" not in aps and b"secret" not in arrival.payload


async def test_what_was_read_or_deleted_meanwhile_is_not_sent(start, apple):
    async with World(start("one", "--push-hold", "1500ms", *apple.settings())) as world:
        ada, ben, room = await world.pair()
        token = await register(ben)
        deleted, read, kept = [await ada.send(room, text) for text in ("deleted", "read", "kept")]
        await ada.data("DELETE", f"/api/rooms/{room['id']}/messages/{deleted['id']}", status=204)
        await ben.post(f"/api/rooms/{room['id']}/messages/read", {"messageIds": [read["id"]]})
        await arrivals(apple, token, 2)
        await quiet(world)
        alerts = [a for a in apple.of(token) if a.headers["apns-priority"] == "10"]
        assert [a.headers["apns-collapse-id"] for a in alerts] == [kept["id"]]
        assert alerts[0].json["aps"]["badge"] == 1
        # Reading sends all devices a silent update of the badge, even if the badge is zero.
        await ben.post(f"/api/rooms/{room['id']}/messages/read", {"messageIds": [kept["id"]]})
        silent = next(a for a in apple.of(token) if a.headers["apns-priority"] == "5")
        assert silent.json == {"aps": {"badge": 1}} and silent.headers["apns-push-type"] == "alert"
        assert await counted(world, "parlor_push_dropped_total", reason="unneeded") == 2


async def test_who_has_the_room_open_is_told_only_if_the_socket_dies_before_it_has_it(start, apple):
    parlor = start("one", *HOLD, *apple.settings(), "--ping-interval", "2s", "--ping-timeout", "60s")
    async with World(parlor) as world:
        ada, ben, room = await world.pair()
        token = await register(ben)
        phone = await ben.socket(joined=room)
        seen = await ada.send(room, "seen")
        await phone.expect("message:new")

        async def dropped():
            return await counted(world, "parlor_push_dropped_total", reason="open") == 1

        await eventually(dropped, 20)
        assert apple.of(token) == []

        # A phone that goes to sleep: its connection stays, and nothing on it is answered any more.
        writer = phone.client.eio.ws._response.connection.transport
        writer.pause_reading()
        late = await ada.send(room, "late")

        async def watching():
            return await counted(world, "parlor_push_jobs", state="watching") == 1

        await eventually(watching, 10)
        assert apple.of(token) == []
        writer.abort()
        (arrival,) = await arrivals(apple, token)
        assert arrival.headers["apns-collapse-id"] == late["id"] != seen["id"]


async def test_what_apple_refuses(parlor_with, apple):
    """Each reason has its consequence, and every other device is still notified."""
    async with World(parlor_with()) as world:
        ada, ben, room = await world.pair()
        long_ago, to_come = int((time.time() - 3600) * 1000), int((time.time() + 3600) * 1000)
        script = {
            "gone": [Refuse(410, "Unregistered", timestamp=to_come)],
            "back": [Refuse(410, "Unregistered", timestamp=long_ago), Accept()],
            "bad": [Refuse(400, "BadDeviceToken")],
            "large": [Refuse(413, "PayloadTooLarge")],
            "throttled": [Refuse(429, "TooManyRequests", retry_after=3), Accept()],
            "failing": [Refuse(500, "InternalServerError"), Accept()],
            "away": [Refuse(503, "ServiceUnavailable", retry_after=2), Accept()],
            "reset": [Reset(), Accept()],
            "fine": [Accept()],
        }
        tokens = {name: await register(ben) for name in script}
        # Before anything was delivered a bad token is taken for a wrong topic.
        proof = await ada.send(room, "before")
        for token in tokens.values():
            await arrivals(apple, token)
        await quiet(world)
        for arrival in list(apple.arrivals):
            assert arrival.headers["apns-collapse-id"] == proof["id"]
        apple.arrivals.clear()
        for name, actions in script.items():
            apple.script[tokens[name]] = actions
        first = await ada.send(room, "first")
        for name in ("throttled", "failing", "away", "reset"):
            await arrivals(apple, tokens[name], 2)
        for name in ("gone", "back", "bad", "large", "fine"):
            await arrivals(apple, tokens[name])
        for name in ("throttled", "failing", "away", "reset"):
            one, other = apple.of(tokens[name])[:2]
            assert one.headers["apns-id"] == other.headers["apns-id"], "an attempt is known by its id"
            assert one.headers["apns-collapse-id"] == other.headers["apns-collapse-id"] == first["id"]
        assert apple.of(tokens["throttled"])[1].at - apple.of(tokens["throttled"])[0].at >= 3
        assert apple.of(tokens["away"])[1].at - apple.of(tokens["away"])[0].at >= 2
        await quiet(world)

        await ada.send(room, "second")
        for name in ("back", "large", "fine"):
            await arrivals(apple, tokens[name], 2)
        await quiet(world)
        assert len(apple.of(tokens["gone"])) == len(apple.of(tokens["bad"])) == 1
        assert len(apple.of(tokens["large"])) == 2, "a permanent reason is not retried"

        # A quarantined device is not deleted: registering it again answers 200, not 201, and ends the quarantine.
        assert (await ben.request("POST", "/api/devices", {
            "token": tokens["bad"], "platform": "ios", "environment": "production"})).status_code == 200  # fmt: skip
        assert (await ben.request("POST", "/api/devices", {
            "token": tokens["gone"], "platform": "ios", "environment": "production"})).status_code == 201  # fmt: skip
        apple.script[tokens["bad"]] = [Accept()]
        await ada.send(room, "third")
        await arrivals(apple, tokens["bad"], 2)
        await quiet(world)
        for outcome, reason, count in [
            ("gone", "Unregistered", 3), ("bad_token", "BadDeviceToken", 1), ("refused", "PayloadTooLarge", 3),
            ("later", "TooManyRequests", 1), ("later", "InternalServerError", 1), ("later", "ServiceUnavailable", 1),
            ("later", "connection", 1),
        ]:  # fmt: skip
            found = await counted(world, "parlor_push_attempts_total", outcome=outcome, reason=reason)
            assert found == count, (outcome, reason, found)
        assert apple.connections == 1


async def test_an_expired_token_is_made_again_once(parlor_with, apple):
    async with World(parlor_with()) as world:
        ada, ben, room = await world.pair()
        token = await register(ben)
        apple.script[token] = [Refuse(403, "ExpiredProviderToken"), Accept()]
        await ada.send(room, "hello")
        one, other = await arrivals(apple, token, 2)
        assert one.headers["authorization"] != other.headers["authorization"]
        assert one.headers["apns-id"] == other.headers["apns-id"]
        assert await counted(world, "parlor_push_provider_tokens_total") == 2
        # Where the clock is wrong no token helps, and making more would only make it worse.
        apple.script[token] = [Refuse(403, "ExpiredProviderToken")]
        await ada.send(room, "again")
        await arrivals(apple, token, 3)

        async def paused():
            return await counted(world, "parlor_push_paused") == 1

        await eventually(paused, 15)
        assert await counted(world, "parlor_push_provider_tokens_total") == 2 and len(apple.of(token)) == 3


async def test_a_connection_that_goes_away_is_followed_by_another(parlor_with, apple):
    async with World(parlor_with()) as world:
        ada, ben, room = await world.pair()
        tokens = [await register(ben) for _ in range(20)]
        apple.script[tokens[7]] = [Away(), Accept()]
        message = await ada.send(room, "hello")
        for token in tokens:
            found = await arrivals(apple, token)
            assert {a.headers["apns-collapse-id"] for a in found} == {message["id"]}
        await arrivals(apple, tokens[7], 2)
        assert apple.connections == 2


async def test_silence_ends_and_the_connection_with_it(parlor_with, apple):
    async with World(parlor_with()) as world:
        ada, ben, room = await world.pair()
        token = await register(ben)
        apple.script[token] = [Silence(), Accept()]
        await ada.send(room, "hello")
        one, other = await asyncio.to_thread(apple.wait, token, 2, 25)
        assert 10 <= other.at - one.at < 20 and other.connection == one.connection + 1
        assert await counted(world, "parlor_push_attempts_total", reason="timeout") == 1


async def test_what_was_sent_while_push_was_away_is_told_when_it_is_back(tmp_path, apple):
    cluster = Cluster(tmp_path / "data")
    try:
        cluster.programs["parlor-push"].kill()
        cluster.start("parlor-push", *HOLD, *apple.settings())
        async with World(cluster) as world:
            ada, ben, room = await world.pair()
            token = await register(ben)
            cluster.programs["parlor-push"].kill()
            refused = await ben.request("POST", "/api/devices", {
                "token": token, "platform": "ios", "environment": "production"})  # fmt: skip
            assert refused.status_code == 503
            message = await ada.send(room, "are you there?")
            cluster.start("parlor-push", *HOLD, *apple.settings())
            one = cluster.programs["parlor-push"]
            cluster.start("parlor-push", *HOLD, *apple.settings())
            (arrival,) = await arrivals(apple, token)
            assert arrival.headers["apns-collapse-id"] == message["id"]
            assert one.stop() == 0, one.log()
    finally:
        cluster.stop()
