"""A service that counts a person's messages, also those from before it was added, until it is killed: tally.py URL DATABASE.

GET /api/tally returns the number of the caller's messages that were not deleted."""

from parlor_service import Refused, Service


class Tally(Service):
    manifest = {
        "service": "tally",
        "routes": [{"method": "GET", "path": "/api/tally", "subject": "tally.count", "needsLogin": True, "answer": "plain"}],
        "hasEventLog": True,
    }
    begins = "oldest"
    # `taken` shows a test which entries were taken, in which order.
    schema = """
        CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY, sender TEXT);
        CREATE INDEX IF NOT EXISTS messages_of ON messages (sender);
        CREATE TABLE IF NOT EXISTS taken (place INTEGER PRIMARY KEY, seq INTEGER);"""

    def answer(self, kind, data, caller):
        if kind != "count":
            raise Refused("malformed_request", "There is no such request.")
        [count] = self.db.execute("SELECT count(*) FROM messages WHERE sender = ?", (caller["id"],)).fetchone()
        return {"status": 200, "data": {"messages": count}}

    def take(self, entry):
        self.db.execute("INSERT INTO taken (seq) VALUES (?)", (entry["seq"],))
        fact = entry["emissions"][0] if entry["emissions"] else {}
        if fact.get("fact") == "messageSent":
            self.keep(fact)
        if fact.get("fact") == "messageDeleted":
            self.db.execute("DELETE FROM messages WHERE id = ?", (fact["id"],))

    def missed(self):
        self.db.execute("DELETE FROM messages")
        return self.snapshot()

    def keep(self, message):
        # With REPLACE, as the snapshot may have brought the message already.
        self.db.execute("INSERT OR REPLACE INTO messages VALUES (?, ?)", (message["id"], message["senderId"]))


if __name__ == "__main__":
    Tally.main()
