"""People and rooms, made while nothing is limited."""

import http.client
import json
from dataclasses import dataclass, field

PASSWORD = "password123"


@dataclass
class Person:
    id: str
    username: str
    token: str
    rooms: list[str] = field(default_factory=list)


class Setup:
    """Creates people with their rooms and contents, over one connection."""

    def __init__(self, host: str, port: int):
        self.connection = http.client.HTTPConnection(host, port, timeout=30)

    def ask(self, method: str, path: str, content: dict | None = None, token: str = "", forwarded_for: str = ""):
        heads = {"Authorization": f"Bearer {token}"} if token else {}
        if forwarded_for:
            heads["X-Forwarded-For"] = forwarded_for
        self.connection.request(method, path, None if content is None else json.dumps(content), heads)
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {body[:200]!r}")
        return json.loads(body)["data"] if body else None

    def register(self, username: str, **more: str) -> Person:
        made = self.ask("POST", "/api/auth/register", {"username": username, "password": PASSWORD, **more})
        return Person(made["user"]["id"], username, made["token"])

    def make_room(self, one: Person, other: Person, name: str = "") -> str:
        room = self.ask("POST", "/api/rooms", {"otherUserId": other.id, "name": name}, one.token)["id"]
        one.rooms.append(room)
        other.rooms.append(room)
        return room


@dataclass
class Cast:
    """The people in each measurement."""

    # Two rooms of two people, as one person may not send twenty messages a second.
    victims: list[Person]
    newcomer: Person
    attacker: Person
    # Has a room with the attacker.
    friend: Person

    @staticmethod
    def make(setup: Setup) -> "Cast":
        victims = [setup.register(f"victim{number}") for number in range(4)]
        cast = Cast(victims, setup.register("newcomer"), setup.register("mallory"), setup.register("friend"))
        setup.make_room(victims[0], victims[1])
        setup.make_room(victims[2], victims[3])
        setup.make_room(cast.attacker, cast.friend)
        return cast
