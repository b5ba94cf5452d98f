"""`/api/openapi.json` and `/api/asyncapi.json`: they are valid, complete, and what the server really answers is as they say.

No package of PyPI carries the official JSON Schema of AsyncAPI, so asyncapi.json is checked here for its references, keys and
schemas."""

import json
import re
import secrets
import socket
import sys
import threading

import pytest
from api_documents import AsyncAPI, OpenAPI
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from parlor import FURTHER, ROOT, Process
from people import DEADLINE, PASSWORD, Person, Socket, World, eventually

sys.path.insert(0, str(ROOT / "Examples"))
from dice import Dice  # noqa: E402
from parlor_bus import connect  # noqa: E402

PAGES = (ROOT / "docs/api.md").read_text() + (ROOT / "docs/api-sockets.md").read_text()
READMES = "".join((folder / "README.md").read_text() for folder in FURTHER)
# What a page's table names and a gateway does not answer here: the web client may not be installed.
ELSEWHERE = {"GET /"}


def references(value):
    """Yields every `$ref` in a document."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def find(document: dict, reference: str):
    value = document
    for part in reference.removeprefix("#/").split("/"):
        value = value[part]
    return value


def check_async_api(document: dict):
    """Checks the parts of AsyncAPI 3.0 that the document uses."""
    assert document["asyncapi"] == "3.0.0" and document["info"].keys() >= {"title", "version"}
    for reference in references(document):
        assert reference.startswith("#/")
        find(document, reference)
    for name, channel in document["channels"].items():
        assert re.fullmatch(r"[\w.-]+", name) and channel["address"] == "/"
        for key, message in channel["messages"].items():
            assert re.fullmatch(r"[\w.-]+", key) and message["name"]
            Draft202012Validator.check_schema(message["payload"])
    for operation in document["operations"].values():
        assert operation["action"] in ("send", "receive")
        for side in [operation, *([operation["reply"]] if "reply" in operation else [])]:
            messages = find(document, side["channel"]["$ref"])["messages"]
            assert all(find(document, each["$ref"]) in messages.values() for each in side.get("messages", []))
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


async def documents(world) -> tuple[dict, dict]:
    """Fetches both, without a token, and checks that they are valid."""
    found = []
    for name in ("openapi", "asyncapi"):
        answer = await world.http.get(f"/api/{name}.json")
        assert answer.status_code == 200 and answer.headers["Content-Type"] == "application/json"
        found.append(answer.json())
    validate(found[0])
    check_async_api(found[1])
    return tuple(found)


async def test_each_route_and_event_of_the_pages_is_there(world):
    openapi, asyncapi = await documents(world)
    routes = {method + " " + re.sub("{(.*?)}", r":\1", path) for method, path in OpenAPI(openapi).operations()}
    listed = set(re.findall(r"^\| `((?:GET|POST|PUT|PATCH|DELETE) /[^ ?`]*)", PAGES, re.MULTILINE))
    listed |= set(re.findall(r"`((?:GET|POST|PUT|PATCH|DELETE) /[^ ?`]*)`", READMES))
    assert len(listed) > 30 and "GET /api/sync" in listed
    assert listed - routes <= ELSEWHERE and routes - listed == set()
    events = set()
    for row in re.findall(r"^\| (`[a-z]+:[^|]*) \|", PAGES, re.MULTILINE):
        events |= set(re.findall(r"`([a-z-]+:[a-z:-]+)`", row))
    assert len(events) > 25
    described = AsyncAPI(asyncapi)
    names = described.names("client", *AsyncAPI.AUDIENCES)
    assert events - names == set() and all(f"`{name}`" in PAGES + READMES for name in names)
    own = [operation for item in openapi["paths"].values() for operation in item.values()]
    assert [operation["operationId"] for operation in own if not operation.get("summary")] == []
    messages = [message for channel in asyncapi["channels"].values() for message in channel["messages"].values()]
    assert [message["name"] for message in messages if not message.get("summary")] == []


@pytest.fixture
async def plugged(cluster, tmp_path):
    """A world with dice, a service in Python, beside Parlor's own."""
    dice = Process(ROOT / "Examples/dice.py", cluster.bus, tmp_path / "dice.db")
    try:
        dice.wait_until_ready()
        async with World(cluster) as world:

            async def is_there():
                document = (await world.http.get("/api/openapi.json")).json()
                return document["paths"].get("/api/rooms/{roomId}/dice", {}).get("get", {}).get("summary")

            await eventually(is_there)
            yield world
    finally:
        dice.kill()


async def test_a_plugin_describes_itself(plugged):
    openapi, asyncapi = await documents(plugged)
    roll = Dice.description["schemas"]["Roll"]
    for document in (openapi, asyncapi):
        shown = document["components"]["schemas"]["dice.Roll"]
        assert {**shown, "required": set(shown["required"])} == {**roll, "required": set(roll["required"])}
    listed = openapi["paths"]["/api/rooms/{roomId}/dice"]["get"]
    assert listed["summary"] == Dice.description["requests"]["dice.list"]["summary"] and "404" in listed["responses"]
    assert openapi["components"]["schemas"]["Badges"]["properties"]["dice"] == {"type": "integer"}
    described = AsyncAPI(asyncapi)
    assert "dice:roll" in described.names("client") and "dice:rolled" in described.names("room")
    page = (ROOT / "Services/SERVICE-PROTOCOL.md").read_text()
    assert json.loads(re.search(r"```json\n(.*?)```", page, re.DOTALL)[1]) == Dice.description


class Walk:
    """Makes requests, and compares each answer with openapi.json."""

    def __init__(self, world, openapi: OpenAPI):
        self.world, self.openapi = world, openapi

    async def __call__(self, person: Person | None, method: str, path: str, json=None, status: int = 200):
        headers = {"Authorization": f"Bearer {person.token}"} if person else {}
        answer = await self.world.http.request(method, path, json=json, headers=headers)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        self.openapi.check(method, path, answer)
        return answer.json().get("data") if answer.content and answer.headers["Content-Type"] == "application/json" else None


async def walk_accounts(walk, alice, bob):
    name = f"carol-{secrets.token_hex(5)}"
    carol = {"username": name, "password": PASSWORD, "email": f"{name}@example.org", "firstName": "Carol"}
    grant = await walk(None, "POST", "/api/auth/register", carol, 201)
    for body, status in [(carol, 409), ({"username": "x"}, 422), ({"username": 7}, 400)]:
        await walk(None, "POST", "/api/auth/register", body, status)
    await walk(None, "POST", "/api/auth/login", {"username": name, "password": PASSWORD})
    await walk(None, "POST", "/api/auth/login", {"username": name, "password": "wrong wrong"}, 401)
    grant = await walk(None, "POST", "/api/auth/refresh", {"refreshToken": grant["refreshToken"], "attemptId": "1"})
    await walk(None, "POST", "/api/auth/refresh", {"refreshToken": "none"}, 401)
    carol = Person(walk.world, name, grant)
    await walk(carol, "GET", "/api/users/me")
    await walk(None, "GET", "/api/users/me", status=401)
    sessions = await walk(carol, "GET", "/api/auth/sessions")
    await walk(carol, "DELETE", f"/api/auth/sessions/{sessions[-1]['id']}", status=204)
    await walk(carol, "DELETE", "/api/auth/sessions", status=204)
    for current, status in [("wrong wrong", 401), (PASSWORD, 200)]:
        body = {"currentPassword": current, "newPassword": PASSWORD + "!"}
        changed = await walk(carol, "POST", "/api/auth/password", body, status)
    await walk(carol, "POST", "/api/auth/logout", {"refreshToken": changed["refreshToken"]}, 204)
    await walk(alice, "GET", "/api/users/without-rooms?limit=1")
    await walk(alice, "GET", f"/api/users/without-rooms?q={name[:8]}")
    await walk(alice, "GET", "/api/users/without-rooms?cursor=%25", status=400)
    device = {"token": secrets.token_hex(16), "platform": "ios", "environment": "sandbox"}
    await walk(alice, "POST", "/api/devices", device, 201)
    await walk(alice, "POST", "/api/devices", device)
    await walk(alice, "POST", "/api/devices", device | {"platform": "tin"}, 422)
    await walk(alice, "DELETE", f"/api/devices/{device['token']}", status=204)


async def walk_rooms(walk, alice, bob, room: dict):
    one = f"/api/rooms/{room['id']}"
    new = {"otherUserId": bob.id, "clientRequestId": "1"}
    await walk(alice, "POST", "/api/rooms", new, 201)
    await walk(alice, "POST", "/api/rooms", new)
    await walk(alice, "POST", "/api/rooms", {"otherUserId": "nobody"}, 404)
    await walk(alice, "POST", "/api/rooms", {"otherUserId": alice.id}, 422)
    for sort in ("activity", "messages", "content"):
        await walk(alice, "GET", f"/api/rooms/my-rooms?sort={sort}")
    await walk(alice, "GET", "/api/rooms/my-rooms?sort=colour", status=422)
    assert (await walk(alice, "GET", "/api/rooms/grouped-by-person"))[0]["rooms"]
    await walk(alice, "GET", one)
    await walk(alice, "GET", "/api/rooms/none", status=404)
    for name, status in [("Attic", 200), ("", 200), ("x" * 101, 422)]:
        await walk(alice, "PUT", f"{one}/name", {"name": name}, status)
    group = await walk(alice, "POST", "/api/rooms", {"participantIds": [bob.id]}, 201)
    people = f"/api/rooms/{group['id']}/participants"
    assert len(await walk(alice, "GET", people)) == 2
    await walk(alice, "POST", people, {"userIds": [bob.id]})
    await walk(alice, "POST", people, {"userIds": ["nobody"]}, 404)
    await walk(alice, "POST", f"{one}/participants", {"userIds": [bob.id]}, 409)
    await walk(alice, "PUT", f"{people}/{bob.id}/role", {"role": "owner"})
    await walk(alice, "PUT", f"{people}/{bob.id}/role", {"role": "king"}, 422)
    await walk(alice, "DELETE", f"{people}/{bob.id}", status=204)
    for path, status in [("", 200), ("?since=none", 422)]:
        cursor = (await walk(alice, "GET", f"/api/sync{path}", status=status) or {}).get("cursor")
        if cursor:
            await walk(bob, "PUT", f"{one}/name", {"name": "Cellar"})
            assert (await walk(alice, "GET", f"/api/sync?since={cursor}"))["events"]


async def walk_contents(walk, alice, bob, room: dict):
    messages, elements = f"/api/rooms/{room['id']}/messages", f"/api/rooms/{room['id']}/elements"
    sent = await walk(alice, "POST", messages, {"text": "hello", "tempId": "1"}, 201)
    await walk(alice, "POST", messages, {"text": "hello", "tempId": "1"})
    await walk(alice, "POST", messages, {"text": ""}, 422)
    await walk(alice, "POST", "/api/rooms/none/messages", {"text": "x"}, 404)
    await walk(bob, "POST", f"{messages}/read", {"messageIds": [sent["id"]]})
    await walk(bob, "POST", f"{messages}/read", {"messageIds": []}, 422)
    await walk(alice, "GET", f"{messages}?limit=1")
    await walk(alice, "GET", f"{messages}?before=x", status=400)
    await walk(alice, "GET", f"/api/users/{bob.id}/messages")
    await walk(alice, "GET", "/api/users/nobody/messages", status=404)
    await walk(bob, "DELETE", f"{messages}/{sent['id']}", status=403)
    await walk(alice, "GET", f"/api/rooms/{room['id']}")  # with a last message
    await walk(alice, "DELETE", f"{messages}/{sent['id']}", status=204)
    await walk(alice, "DELETE", f"{messages}/{sent['id']}", status=404)
    note = {"type": "note", "content": {"a": [1]}, "position": {"x": 1, "y": 2.5}, "tempId": "1"}
    made = await walk(alice, "POST", elements, note, 201)
    await walk(alice, "POST", elements, note)
    await walk(alice, "POST", elements, {"type": "NOTE"}, 422)
    await walk(alice, "POST", elements, {"type": "note", "content": {"a": "x" * 70_000}}, 413)
    one = f"{elements}/{made['id']}"
    for body, status in [({"position": None}, 200), ({"version": 1, "content": {}}, 409), ({}, 422)]:
        await walk(bob, "PATCH", one, body, status)
    await walk(alice, "GET", f"{elements}?limit=1")
    await walk(alice, "DELETE", one, status=204)
    await walk(alice, "DELETE", one, status=404)
    await walk(alice, "DELETE", elements)


async def test_real_answers_of_every_route_are_as_openapi_says(plugged):
    openapi = OpenAPI((await documents(plugged))[0])
    walk = Walk(plugged, openapi)
    alice, bob, room = await plugged.pair()
    await walk_accounts(walk, alice, bob)
    await walk_rooms(walk, alice, bob, room)
    await walk_contents(walk, alice, bob, room)
    dice = f"/api/rooms/{room['id']}/dice"
    await eventually(lambda: has_items(alice, dice))
    assert (await walk(alice, "GET", dice))[0]["userId"] == alice.id
    await walk(alice, "GET", "/api/rooms/none/dice", status=404)
    for path in ["/healthz", "/readyz", "/metrics", "/api/openapi.json", "/api/asyncapi.json"]:
        await walk(None, "GET", path)
    for path in ["/api/openapi.json", "/api/asyncapi.json"]:
        tag = (await plugged.http.get(path)).headers["ETag"]
        unchanged = await plugged.http.get(path, headers={"If-None-Match": tag})
        assert unchanged.status_code == 304
        openapi.check("GET", path, unchanged)
    if "/" in openapi.document["paths"]:
        await walk(None, "GET", "/")
    assert openapi.successes() - openapi.seen == set(), "these were not tried"


async def has_items(person, path: str) -> bool:
    return bool(await person.get(path))


async def test_real_acks_and_events_are_as_asyncapi_says(plugged):
    described = AsyncAPI((await documents(plugged))[1])
    alice, bob, room = await plugged.pair()
    cursor = (await alice.get("/api/sync"))["cursor"]
    laptop = Socket(alice)
    plugged.sockets.append(laptop)
    await laptop.client.connect(
        plugged.parlor.address, auth={"token": alice.token, "since": cursor}, transports=["websocket"], wait_timeout=DEADLINE)
    phone = await bob.socket()

    async def ask(client, event: str, data: dict, is_good: bool = True) -> dict:
        answer = await client.ask(event, data if "roomId" in data else {"roomId": room["id"], **data})
        assert answer["success"] is is_good, answer
        described.check_ack(event, answer)
        return answer

    for client in (laptop, phone):
        await ask(client, "room:join", {"keepOthers": True})
    await ask(laptop, "room:join", {"roomId": "none"}, is_good=False)
    await ask(laptop, "message:typing", {"isTyping": True})
    sent = await ask(laptop, "message:send", {"text": "hello", "tempId": "1"})
    assert (await ask(laptop, "message:send", {"text": "hello", "tempId": "1"}))["duplicate"] is True
    await ask(laptop, "message:send", {"text": ""}, is_good=False)
    await ask(phone, "messages:mark-read", {"messageIds": [sent["messageId"]]})
    await ask(laptop, "message:delete", {"messageId": sent["messageId"]})
    made = (await ask(laptop, "element:create", {"type": "note"}))["element"]
    await ask(phone, "element:update", {"elementId": made["id"], "position": {"x": 1, "y": 2}})
    await ask(phone, "element:delete", {"elementId": made["id"]})
    await ask(laptop, "element:create", {"type": "note"})
    await ask(laptop, "room:clear", {})
    await ask(laptop, "dice:roll", {})
    group = (await ask(laptop, "room:create", {"participantIds": [bob.id]}))["room"]
    await ask(laptop, "room:join", {"roomId": group["id"], "keepOthers": True})
    carol = await plugged.person("carol")
    await ask(laptop, "participants:add", {"roomId": group["id"], "userIds": [carol.id]})
    await ask(laptop, "participant:role", {"roomId": group["id"], "userId": carol.id, "role": "owner"})
    await ask(laptop, "participant:remove", {"roomId": group["id"], "userId": bob.id})
    await alice.data("PUT", f"/api/rooms/{room['id']}/name", {"name": "Attic"})
    await alice.post("/api/rooms", {"otherUserId": bob.id}, 201)
    await laptop.client.emit("room:join", {"roomId": "none"})  # without an ack
    await ask(phone, "room:leave", {})
    assert described.acked == described.names("client")

    wanted = described.names(*AsyncAPI.AUDIENCES)

    async def heard_all():
        heard = {name for client in (laptop, phone) for name, _ in client.heard}
        return wanted <= heard

    await eventually(heard_all)
    for name, data in [*laptop.heard, *phone.heard]:
        if name not in ("connect", "disconnect"):
            described.check_event(name, data)
    assert described.heard == wanted


GARBAGE = [
    [], 7, "x", {"requests": 7, "events": {}, "schemas": [], "fields": None}, {"requests": {"bad.get": {"takes": {"type": "no"}}}},
    {"requests": {"bad.get": {
        "summary": 5, "takes": {"type": "object", "properties": {"": {"$ref": "#/paths"}, "a": {"$ref": "none"}, "id": {"pattern": "(("}}},
        "gives": {"anyOf": [{"enum": []}], "const": {"$ref": "none"}, "default": {}, "minLength": -1, "required": "x"}, "statuses": [99, "200"], "isPaged": "x",
        "errors": {"HTTP": 99, "teapot": 418}}},
     "events": [
         {"event": "bad:ly\u0000/~ \U0001f600", "to": "room", "data": {"type": []}}, {"event": "", "to": "room"}, {"event": "x", "to": "us"}],
     "schemas": {"A": {"$ref": "A"}, "B/C": {}, "D": {"items": {"items": {"$ref": "D"}}}}, "fields": {"odd": {"type": 9}}},
    {"schemas": {"A": {"description": "x" * 200_000}}},
]  # fmt: skip
ODD = {
    "service": "bad",
    "routes": [
        {"method": method, "path": path, "subject": "bad.get", "needsLogin": False, "answer": answer}
        for method, path, answer in [
            ("GET", "/api/bad/:id/:id", "plain"), ("PUT", "/api/bad/:x/:y", "room"), ("BREW", "/api/bad/coffee", "plain"),
            ("GET", "bad{/}?#%", "rooms"), ("POST", "/api/bad/é \u0001", "plain"), ("DELETE", "/:$ref", "roomsByPerson")]],
    "socketEvents": [{"event": f"bad:{name}", "subject": "bad.get", "ackName": "success"} for name in ("", "ly/~", "ly.~", "\u0000")],
    "contribution": {"subject": "bad.contribute", "fields": [{"path": "odd", "kind": "value", "zero": [], "role": {}}]},
}  # fmt: skip


class Odd:
    """A service that announces itself with this description, and answers it, until it is closed."""

    def __init__(self, url: str, description, version: str):
        self.description, self.is_asked = description, threading.Event()
        self.bus = connect(url, "bad")
        self.bus.send(op="serve", id=1, subject="bad.>", queue="bad")
        manifest = ODD | {"description": version}
        data = {"manifest": manifest, "head": {"databaseId": "b", "seq": 0, "digest": 0}}
        self.bus.send(op="pub", subject="services.announce.bad", data=data)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        try:
            while line := self.bus.read():
                if "reply" in line:
                    is_it = line["subject"] == "bad.describe"
                    self.bus.send(op="res", id=line["reply"], data={"status": 200, "data": self.description if is_it else {}})
                    if is_it:
                        self.is_asked.set()
        except OSError:
            pass  # closed

    def close(self):
        self.bus.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()


async def test_a_plugin_that_announces_nonsense_is_shown_as_far_as_it_can_be(cluster):
    async with World(cluster) as world:
        for number, description in enumerate(GARBAGE):
            odd = Odd(cluster.bus, description, f"v{number}")

            async def is_asked(odd=odd):
                await world.http.get("/api/openapi.json")
                return odd.is_asked.is_set()

            await eventually(is_asked)
            openapi, _ = await documents(world)
            odd.close()
            assert openapi["paths"].keys() >= {"/api/rooms/my-rooms", "/api/auth/login", "/api/bad/{id}/{id_2}"}
        alice, bob, room = await world.pair()
        assert (await alice.send(room, "hello"))["seq"] == 1
    log = cluster.programs["parlor-gateway"].log()
    assert log.count("a service's description is ignored") == sum(not isinstance(each, dict) for each in GARBAGE) + 1
