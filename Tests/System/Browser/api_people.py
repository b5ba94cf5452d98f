"""People created through the API, as a test's preparation."""

import ssl
import uuid

import httpx

PASSWORD = "correct horse battery"
# Made once, because a request would make its own, which takes longer than the request.
TLS = ssl.create_default_context()


class Person:
    """Registers a person with a unique name."""

    def __init__(self, address: str, first_name: str = ""):
        self.address = address
        self.username = "p" + uuid.uuid4().hex[:12]
        self.password = PASSWORD
        self.token = None
        # As the page keeps it.
        self.session = self._ask(
            "POST", "/api/auth/register",
            {"username": self.username, "password": PASSWORD, "firstName": first_name or self.username.capitalize()})  # fmt: skip
        self.id, self.token = self.session["user"]["id"], self.session["token"]

    def _ask(self, method: str, path: str, body=None, **headers: str):
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        answer = httpx.request(method, self.address + path, json=body, headers=headers, timeout=30, verify=TLS)
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()["data"] if answer.content else None

    def sign_in(self, device: str = "another device"):
        """Signs in, as from another device, which calls itself so."""
        body = {"username": self.username, "password": self.password}
        self.token = self._ask("POST", "/api/auth/login", body, **{"User-Agent": device})["token"]

    def end_other_sessions(self):
        """Ends the sessions of the person's windows, as from another device."""
        self.sign_in()
        self._ask("DELETE", "/api/auth/sessions")

    def room_with(self, other: "Person", name: str | None = None) -> str:
        body = {"otherUserId": other.id} | ({"name": name} if name else {})
        return self._ask("POST", "/api/rooms", body)["id"]

    def group_with(self, *others: "Person", name: str | None = None) -> str:
        body = {"participantIds": [other.id for other in others]} | ({"name": name} if name else {})
        return self._ask("POST", "/api/rooms", body)["id"]

    def add(self, room: str, *others: "Person"):
        self._ask("POST", f"/api/rooms/{room}/participants", {"userIds": [other.id for other in others]})

    def remove(self, room: str, other: "Person"):
        self._ask("DELETE", f"/api/rooms/{room}/participants/{other.id}")

    def set_role(self, room: str, other: "Person", role: str):
        self._ask("PUT", f"/api/rooms/{room}/participants/{other.id}/role", {"role": role})

    def roles(self, room: str) -> dict[str, str]:
        """Returns the role of each person in a room, by first name."""
        people = self._ask("GET", f"/api/rooms/{room}/participants?limit=200")
        return {person["firstName"]: person["role"] for person in people}

    def sees(self, other: "Person", room: str) -> bool:
        """Returns whether the other person has the room open."""
        people = self._ask("GET", f"/api/rooms/{room}")["participants"]
        return next(person["isPresent"] for person in people if person["userId"] == other.id)

    def send(self, room: str, *texts: str):
        for text in texts:
            self._ask("POST", f"/api/rooms/{room}/messages", {"text": text})

    def delete(self, room: str, text: str):
        id = next(message["id"] for message in self.messages(room) if message["text"] == text)
        self._ask("DELETE", f"/api/rooms/{room}/messages/{id}")

    def read(self, room: str, *ids: str):
        self._ask("POST", f"/api/rooms/{room}/messages/read", {"messageIds": ids})

    def badges(self, room: str) -> dict[str, int]:
        return self._ask("GET", f"/api/rooms/{room}")["badges"]

    def messages(self, room: str) -> list[dict]:
        return self._ask("GET", f"/api/rooms/{room}/messages?limit=200")

    def texts(self, room: str) -> list[str]:
        return [message["text"] for message in self.messages(room)]

    def put(self, room: str, text: str, x: int = 60, y: int = 60, type: str = "note", **content) -> dict:
        body = {"type": type, "content": {"text": text} | content, "position": {"x": x, "y": y}}
        return self._ask("POST", f"/api/rooms/{room}/elements", body)

    def edit(self, room: str, element: dict, **content):
        self._ask("PATCH", f"/api/rooms/{room}/elements/{element['id']}", {"content": content})

    def take_away(self, room: str, element: dict):
        self._ask("DELETE", f"/api/rooms/{room}/elements/{element['id']}")

    def clear(self, room: str):
        self._ask("DELETE", f"/api/rooms/{room}/elements")

    def elements(self, room: str) -> list[dict]:
        return self._ask("GET", f"/api/rooms/{room}/elements")
