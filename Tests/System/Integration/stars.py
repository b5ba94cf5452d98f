"""A service that adds fields to messages and people, until it is killed: stars.py URL DATABASE.

`star:add {roomId, messageId}` gives a message a star. Messages have `stars`, and people `starsGiven`, also for the caller alone."""

import sys

from parlor_service import Refused, Service


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
    schema = "CREATE TABLE IF NOT EXISTS stars (message TEXT, person TEXT, PRIMARY KEY (message, person));"

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
        fact = {"fact": "fieldsChanged", "messageIds": [data["messageId"]], "personIds": [caller["id"]]}
        added = {"to": "room", "event": "star:added", "data": {"messageId": data["messageId"]}}
        seq = self.emit(room["roomId"], people, [fact, added])
        return {"status": 201, "stream": "stars", "seq": seq, "data": {}}

    def take(self, entry):
        pass

    def count(self, column, value):
        return self.db.execute(f"SELECT count(*) FROM stars WHERE {column} = ?", (value,)).fetchone()[0]

    def has(self, message, person):
        return self.db.execute("SELECT count(*) FROM stars WHERE message = ? AND person = ?", (message, person)).fetchone()[0]


if __name__ == "__main__":
    url, database = sys.argv[1:]
    Stars(database).run(url)
