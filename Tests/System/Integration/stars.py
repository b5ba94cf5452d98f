"""A service that adds fields to messages and people, until it is killed: stars.py URL DATABASE.

`star:add {roomId, messageId}` gives a message a star. Messages have `stars` and, for the caller, `isStarred`. People have
`starsGiven`, also the caller in `/api/users/me`. The stars of a message are deleted with it."""

from parlor_service import Refused, Service

AT_ONCE = 1000  # ids that `messaging.existing` takes, and ids in an entry of the log


class Stars(Service):
    manifest = {
        "service": "stars",
        "routes": [],
        "socketEvents": [{"event": "star:add", "subject": "stars.add"}],
        "messageContribution": {"subject": "stars.messages", "fields": [
            {"path": "stars", "kind": "value", "zero": 0}, {"path": "isStarred", "kind": "value", "zero": False}]},
        "personContribution": {"subject": "stars.people", "fields": [{"path": "starsGiven", "kind": "value", "zero": 0}]},
        "hasEventLog": True,
        "logsWhatRoomsShow": True,
    }  # fmt: skip
    schema = """
        CREATE TABLE IF NOT EXISTS stars (message TEXT, person TEXT, PRIMARY KEY (message, person));
        CREATE INDEX IF NOT EXISTS stars_of ON stars (person);"""

    def answer(self, kind, data, caller):
        if kind == "messages":
            values = [[self.count("message", id), bool(self.has(id, data["userId"]))] for id in data["messageIds"]]
            return {"status": 200, "data": {"messages": values}}
        if kind == "people":
            return {"status": 200, "data": {"people": [[self.count("person", id)] for id in data["personIds"]]}}
        if kind != "add":
            raise Refused("malformed_request", "There is no such request.")
        room = self.ask("rooms.membership", {"roomId": data["roomId"]})
        people = [person["userId"] for person in room["participants"]]
        self.db.execute("INSERT OR IGNORE INTO stars VALUES (?, ?)", (data["messageId"], caller["id"]))
        # First stored, then asked: if the message is deleted in between, its fact comes later and deletes the star.
        if not self.existing([data["messageId"]], roomId=room["roomId"]):
            raise Refused("message_not_found", "There is no such message.")
        fact = {"fact": "fieldsChanged", "messageIds": [data["messageId"]], "personIds": [caller["id"]]}
        added = {"to": "room", "event": "star:added", "data": {"messageId": data["messageId"]}}
        seq = self.emit(room["roomId"], people, [fact, added])
        return {"status": 201, "stream": "stars", "seq": seq, "data": {}}

    def take(self, entry):
        fact = entry["emissions"][0] if entry["emissions"] else {}
        if fact.get("fact") == "messageDeleted":
            self.delete([fact["id"]], entry["roomId"], entry["participants"])

    def missed(self):
        kept = [id for (id,) in self.db.execute("SELECT DISTINCT message FROM stars").fetchall()]
        for start in range(0, len(kept), AT_ONCE):
            some = kept[start : start + AT_ONCE]
            self.delete(sorted(set(some) - self.existing(some)))

    def existing(self, messages, **room) -> set[str]:
        return set(self.ask("messaging.existing", {"messageIds": messages, **room})["messageIds"])

    def delete(self, messages, room="", people=()):
        """Deletes the stars of deleted messages. Those who gave them have fewer, so gateways must ask again."""
        givers = set()
        for message in messages:
            givers |= {id for (id,) in self.db.execute("DELETE FROM stars WHERE message = ? RETURNING person", (message,)).fetchall()}
        givers = sorted(givers)
        # One entry with everyone who gave a star could be too long for the log.
        for start in range(0, len(givers), AT_ONCE):
            self.emit(room, list(people), [{"fact": "fieldsChanged", "personIds": givers[start : start + AT_ONCE]}])

    def count(self, column, value):
        return self.db.execute(f"SELECT count(*) FROM stars WHERE {column} = ?", (value,)).fetchone()[0]

    def has(self, message, person):
        return self.db.execute("SELECT count(*) FROM stars WHERE message = ? AND person = ?", (message, person)).fetchone()[0]


if __name__ == "__main__":
    Stars.main()
