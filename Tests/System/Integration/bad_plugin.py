"""A service that behaves badly on the bus: bad_plugin.py URL KIND. It does so until it is killed, and reconnects if the bus closes."""

import itertools
import sys
import time

from parlor_bus import connect

NAME = "bad"
ROUTE = {"method": "GET", "path": "/api/rooms/:roomId/bad", "subject": "bad.list", "needsLogin": True, "answer": "plain"}
MANIFEST = {
    "service": NAME, "routes": [ROUTE], "socketEvents": [{"event": "bad:do", "subject": "bad.do"}],
    "contribution": {"subject": "bad.contribute", "fields": [
        {"path": "badges.bad", "kind": "value", "role": {"badge": "bad"}, "zero": 0}]},
    "hasEventLog": True, "logsWhatRoomsShow": True}  # fmt: skip
HEAD = {"databaseId": "bad", "seq": 0, "digest": 0}
NONSENSE = [
    "?", None, 1e308, {"service": 5}, {"service": "accounts"}, MANIFEST | {"routes": 7},
    MANIFEST | {"routes": [ROUTE | {"subject": "accounts.login"}]}, MANIFEST | {"routes": [ROUTE] * 300},
    MANIFEST | {"routes": [ROUTE | {"path": "/:a" * 5000}]}, {"service": "x" * 5000}]  # fmt: skip
CLAIMS = MANIFEST | {"routes": [ROUTE | {"method": "POST", "path": "/api/auth/login", "needsLogin": False}]}
GARBAGE = [
    42, None, [], {"status": "x"}, {"status": 200, "data": {"rooms": "?"}}, {"error": 5}, {"status": 99},
    {"error": {"code": "x" * 5000, "message": 7}}, {"status": 200, "data": {"rooms": [[None, 1, 2]] * 500}}]  # fmt: skip


class BadPlugin:
    def __init__(self, url: str, kind: str):
        self.bus, self.kind, self.numbers = connect(url, NAME), kind, itertools.count()
        self.bus.send(op="serve", id=1, subject=f"{NAME}.>", queue=NAME)
        self.announce(MANIFEST)

    def announce(self, manifest, head=HEAD):
        self.bus.send(op="pub", subject=f"services.announce.{NAME}", data={"manifest": manifest, "head": head})

    def run(self):
        if self.kind in ("floods", "announces nonsense", "claims others' routes"):
            while True:
                self.misbehave(next(self.numbers))
        while True:
            line = self.bus.read()
            if "reply" in line and self.kind != "hangs":
                # The largest of them is longer than any line that the bus takes.
                data = GARBAGE[line["reply"] % len(GARBAGE)] if self.kind == "answers garbage" else "x" * 10_000_000
                self.bus.send(op="res", id=line["reply"], data=data)

    def misbehave(self, number: int):
        if self.kind == "announces nonsense":
            self.announce(NONSENSE[number % len(NONSENSE)], HEAD if number % 3 else {"seq": "?"})
        elif self.kind == "claims others' routes":
            self.announce(CLAIMS)
        else:
            self.announce(MANIFEST | {"routes": [ROUTE | {"path": f"/api/rooms/:roomId/bad{number % 2}"}]})
            self.bus.send(op="pub", subject="bad.log", data={"seq": number, "at": 0, "participants": [], "emissions": []})
        # Some thousands a second: Python could hardly send more.
        if number % 10 == 0:
            time.sleep(0.001)


if __name__ == "__main__":
    url, kind = sys.argv[1:]
    print(f"{NAME} ready {url}", flush=True)
    while True:
        try:
            BadPlugin(url, kind).run()
        except OSError as error:
            print(error, file=sys.stderr)
            time.sleep(0.2)
