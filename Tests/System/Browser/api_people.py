"""People as the API knows them: what a test needs done before it looks at a page."""

import uuid

import httpx

PASSWORD = "correct horse battery"


class Person:
    """Registered with a name of their own."""

    def __init__(self, address: str, first_name: str = ""):
        self.address = address
        self.username = "p" + uuid.uuid4().hex[:12]
        self.first_name = first_name or self.username.capitalize()
        made = self._ask(
            "POST", "/api/auth/register",
            {"username": self.username, "password": PASSWORD, "firstName": self.first_name})  # fmt: skip
        self.id, self.token = made["user"]["id"], made["token"]

    def _ask(self, method: str, path: str, body=None):
        headers = {"Authorization": f"Bearer {self.token}"} if hasattr(self, "token") else {}
        answer = httpx.request(method, self.address + path, json=body, headers=headers)
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()["data"] if answer.content else None

    def room_with(self, other: "Person", name: str | None = None) -> str:
        body = {"otherUserId": other.id} | ({"name": name} if name else {})
        return self._ask("POST", "/api/rooms", body)["id"]

    def send(self, room: str, *texts: str):
        for text in texts:
            self._ask("POST", f"/api/rooms/{room}/messages", {"text": text})

    def texts(self, room: str) -> list[str]:
        return [message["text"] for message in self._ask("GET", f"/api/rooms/{room}/messages?limit=200")]

    def put(self, room: str, text: str, x: int = 60, y: int = 60, type: str = "note", **content) -> dict:
        body = {"type": type, "content": {"text": text} | content, "position": {"x": x, "y": y}}
        return self._ask("POST", f"/api/rooms/{room}/elements", body)

    def edit(self, room: str, element: str, **content):
        self._ask("PATCH", f"/api/rooms/{room}/elements/{element}", {"content": content})

    def elements(self, room: str) -> list[dict]:
        return self._ask("GET", f"/api/rooms/{room}/elements")
