"""A service that stores data about elements, until it is killed: pins.py URL DATABASE.

`pin:add {roomId, elementId}` pins an element. The pin is deleted with the element."""

from parlor_service import Refused, Service

AT_ONCE = 1000  # ids that `elements.existing` takes


class Pins(Service):
    manifest = {
        "service": "pins",
        "routes": [],
        "socketEvents": [{"event": "pin:add", "subject": "pins.add"}],
        "hasEventLog": True,
    }
    follows = "elements"
    schema = "CREATE TABLE IF NOT EXISTS pins (element TEXT PRIMARY KEY, person TEXT);"

    def answer(self, kind, data, caller):
        if kind != "add":
            raise Refused("malformed_request", "There is no such request.")
        self.ask("rooms.membership", {"roomId": data["roomId"]})
        self.db.execute("INSERT OR IGNORE INTO pins VALUES (?, ?)", (data["elementId"], caller["id"]))
        # First stored, then asked: if the element is deleted in between, its fact comes later and deletes the pin.
        if not self.existing([data["elementId"]]):
            raise Refused("element_not_found", "There is no such element.")
        return {"status": 201, "data": {}}

    def take(self, entry):
        fact = entry["emissions"][0] if entry["emissions"] else {}
        if fact.get("fact") == "elementDeleted":
            self.db.execute("DELETE FROM pins WHERE element = ?", (fact["id"],))
        if fact.get("fact") == "boardCleared":
            # It is not known whether an element is in the room that the client named, so all pins are checked.
            self.missed()

    def missed(self):
        kept = [id for (id,) in self.db.execute("SELECT element FROM pins").fetchall()]
        for start in range(0, len(kept), AT_ONCE):
            some = kept[start : start + AT_ONCE]
            gone = set(some) - self.existing(some)
            self.db.executemany("DELETE FROM pins WHERE element = ?", [(id,) for id in gone])

    def existing(self, elements) -> set[str]:
        return set(self.ask("elements.existing", {"elementIds": elements})["elementIds"])


if __name__ == "__main__":
    Pins.main()
