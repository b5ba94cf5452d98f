#!/usr/bin/env python3
"""Dice for Parlor's rooms: a service of its own, beside a running Parlor.

    BUS_TOKEN_FILE=dice.token Examples/dice.py tcp://127.0.0.1:4150 dice.db

`dice:roll {roomId}` rolls a die, and each message rolls one for its sender: the room gets `dice:rolled`.
GET /api/rooms/:roomId/dice lists the last 500 rolls. The badge `dice` counts the others' rolls since a person's own last roll.
"""
import random

from parlor_service import Refused, Service


class Dice(Service):
    manifest = {
        "service": "dice",
        "routes": [
            {"method": "GET", "path": "/api/rooms/:roomId/dice", "subject": "dice.list",
             "needsLogin": True, "answer": "plain"}],  # fmt: skip
        "socketEvents": [{"event": "dice:roll", "subject": "dice.roll"}],
        "contribution": {
            "subject": "dice.contribute",
            "fields": [{"path": "badges.dice", "kind": "value", "role": {"badge": "dice"}, "zero": 0}],
        },
        "hasEventLog": True,
        # Each change of a badge has an entry, so gateways may cache lists of rooms until the next entry.
        "logsWhatRoomsShow": True,
    }
    description = {
        "requests": {
            "dice.list": {
                "summary": "Lists the last 500 rolls of a room, the oldest first.",
                "takes": {"type": "object", "properties": {"roomId": {"type": "string"}}, "required": ["roomId"]},
                "gives": {"type": "array", "items": {"$ref": "Roll"}}, "errors": {"room_not_found": 404}},
            "dice.roll": {
                "summary": "Rolls a die.", "statuses": [201], "gives": {"$ref": "Roll"}, "errors": {"room_not_found": 404},
                "takes": {"type": "object", "properties": {"roomId": {"type": "string"}}, "required": ["roomId"]}},
        },
        "events": [{"event": "dice:rolled", "to": "room", "summary": "A die was rolled.", "data": {"$ref": "Roll"}}],
        "schemas": {
            "Roll": {
                "type": "object", "required": ["roomId", "userId", "face", "messageId"],
                "properties": {
                    "roomId": {"type": "string"}, "userId": {"type": "string"}, "face": {"type": "integer", "minimum": 1, "maximum": 6},
                    "messageId": {"type": ["string", "null"], "description": "The message that rolled it."}}}},
    }  # fmt: skip
    schema = """
        CREATE TABLE IF NOT EXISTS rolls (id INTEGER PRIMARY KEY, room TEXT, person TEXT, face INTEGER, message TEXT);
        CREATE INDEX IF NOT EXISTS rolls_of ON rolls (room, person);
        CREATE INDEX IF NOT EXISTS rolls_in ON rolls (room, id);"""

    def answer(self, kind, data, caller):
        if kind == "contribute":  # for each room, a list with the value of each field, as this person sees it
            return {"status": 200, "data": {"rooms": [[self.badge(room, data["userId"])] for room in data["roomIds"]]}}
        if kind not in ("list", "roll"):
            raise Refused("malformed_request", "There is no such request.")
        # The gateway knows who asks, but not who is in the room. `roomId` comes from a client; the rooms service
        # checks it.
        room = self.ask("rooms.membership", {"roomId": data.get("roomId")})
        people = [person["userId"] for person in room["participants"]]
        if not caller or caller["id"] not in people:
            raise Refused("room_not_found", "There is no such room.")
        if kind == "list":
            return {"status": 200, "data": self.rolls(room["roomId"])}
        roll, seq = self.roll(room["roomId"], people, caller["id"])
        # `stream` and `seq`: the ack waits until the gateway has sent the events of that entry.
        return {"status": 201, "stream": "dice", "seq": seq, "data": roll}

    def take(self, entry):
        # The first emission is the entry's fact, if there is one; the events after it are for clients.
        fact = entry["emissions"][0] if entry["emissions"] else {}
        if fact.get("fact") == "messageSent":
            self.roll(entry["roomId"], entry["participants"], fact["senderId"], fact["id"])

    def roll(self, room, people, person, message=None):
        """Rolls a die in the caller's transaction: the roll and its log entry are stored together or not at all."""
        roll = {"roomId": room, "userId": person, "face": random.randint(1, 6), "messageId": message}
        self.db.execute("INSERT INTO rolls (room, person, face, message) VALUES (?, ?, ?, ?)", tuple(roll.values()))
        to_room = {"to": "room", "event": "dice:rolled", "data": roll}
        # Everyone's badge has changed. `compose`: the gateway adds the badges of other services.
        to_each = [
            {"to": "person", "person": each, "event": "room:badges", "compose": "badges",
             "data": {"roomId": room, "badges": {"dice": self.badge(room, each)}}} for each in people
        ]  # fmt: skip
        return roll, self.emit(room, people, [to_room, *to_each])

    def rolls(self, room):
        rows = self.db.execute("SELECT person, face, message FROM rolls WHERE room = ? ORDER BY id DESC LIMIT 500", (room,)).fetchall()
        return [{"roomId": room, "userId": person, "face": face, "messageId": message} for person, face, message in reversed(rows)]

    def badge(self, room, person):
        last = "SELECT coalesce(max(id), 0) FROM rolls WHERE room = ?1 AND person = ?2"
        return self.db.execute(f"SELECT count(*) FROM rolls WHERE room = ?1 AND id > ({last})", (room, person)).fetchone()[0]


if __name__ == "__main__":
    Dice.main()
