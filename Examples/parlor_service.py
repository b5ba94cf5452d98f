"""The base of a Parlor service in Python: the bus, an event log of its own, and a position in another service's logs.

Copy it beside a service of your own. Examples/dice.py is one; Services/SERVICE-PROTOCOL.md has each line that is sent.

The process may be killed at any time. In one transaction a service writes its data, its log entry and its position in
the log that it follows. After a restart all of these are there, or none. Gateways fetch entries that were not
published. Entries older than a day are deleted, because no follower requests them. That happens at the start, and then
at most once a minute, when an entry is appended."""
import argparse
import collections
import hashlib
import itertools
import json
import math
import re
import sqlite3
import struct
import sys
import time
import traceback

import parlor_manifest
from parlor_bus import BusGone, connect, encode

PAGE = 200  # entries
PAGE_BYTES = 512 * 1024  # a page ends before the entry that would exceed this
LONGEST = 1_000_000  # bytes of a reply or an entry; the bus closes the connection if a line exceeds 1 MiB
DAY, MINUTE = 86_400_000, 60_000  # milliseconds
# Parlor's error codes (docs/api.md, "Errors").
CODES = """malformed_request unauthenticated invalid_credentials invalid_token forbidden room_not_found message_not_found
    element_not_found user_not_found route_not_found method_not_allowed username_taken email_taken version_conflict
    payload_too_large invalid_field rate_limited internal_error service_unavailable""".split()


class Refused(Exception):
    """A refusal: one of Parlor's error codes, or one of the service's own with a status; and a text for a person."""

    def __init__(self, code: str, message: str, status: int | None = None, retry_after: int | None = None):
        super().__init__(code, message)
        if code not in CODES and not re.fullmatch("[a-z][a-z0-9_]{0,63}", code):
            raise ValueError(f"a code has 1 to 64 of a-z, 0-9 and _, a letter first; {code!r} does not")
        if code not in CODES and (status not in range(400, 500) or status in (401, 429)):
            raise ValueError(f"{code} is not a code of Parlor's: its status is 400 to 499, not 401 or 429, and not {status}")
        given = {"code": code, "message": message, "status": status, "retryAfter": retry_after}
        self.error = {key: value for key, value in given.items() if value is not None}

    @classmethod
    def by_another(cls, error: dict):
        """Passes on what another service refused, as it is: a newer Parlor may have more codes."""
        refused = cls.__new__(cls, error["code"], error["message"])
        refused.error = error
        return refused


def every(seconds: float):
    """Marks a method of a service that is called this often, for the first time as soon as the bus is connected. It runs like
    the answer to a request: in a transaction, and never two at once. Calls that are missed are not made up."""

    def mark(method):
        method.seconds = seconds
        return method

    return mark


def digest(at: int, emissions: bytes) -> int:
    """Returns an entry's digest, which gateways compute as well. After a restored backup a number is used again, with another digest."""
    whole = len(emissions) // 8 * 8
    words = struct.unpack(f"<{whole // 8}Q", emissions[:whole])
    for word in (*words, int.from_bytes(emissions[whole:], "big"), len(emissions)):
        at = (at ^ word) * 0x9E3779B97F4A7C15 % 2**64
        at = (at ^ at >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        at ^= at >> 27
    return at >> 12


class Service:
    """One instance with one thread: each line is handled completely before the next one is read."""

    manifest: dict
    description: dict | None = None  # describes what is in the manifest, for openapi.json and asyncapi.json
    schema = ""  # creates the service's own tables
    follows: str | None = "messaging"  # whose log it follows; None for nobody's
    begins = "end"  # where the first run begins in that log: at its "end", or at the "oldest" entry that is kept

    def __init__(self, database: str):
        self.name = self.manifest.get("service", "")
        if mistakes := list(parlor_manifest.mistakes(self.manifest, parlor_manifest.form(self.name))):
            sys.exit("\n".join(mistakes))
        self.db = sqlite3.connect(database)
        self.db.executescript(f"""
            CREATE TABLE IF NOT EXISTS log (seq INTEGER PRIMARY KEY, at INTEGER, room TEXT, digest INTEGER, entry TEXT);
            CREATE TABLE IF NOT EXISTS own (id INTEGER PRIMARY KEY, log_name TEXT, place TEXT);
            INSERT OR IGNORE INTO own VALUES (1, hex(randomblob(16)), 'null');
            {self.schema}""")
        with self.db:
            self.prune(self.now())
        self.made = []  # entries that are not published yet
        self.followed, self.behind, self.pinged, self.failure = {}, False, False, ""
        self.numbers = itertools.count(1)
        # When each method that is marked with `every` is called next, in the time of time.monotonic().
        self.due = dict.fromkeys((name for name in dir(self) if hasattr(getattr(type(self), name, None), "seconds")), 0.0)

    # Overridden by the service

    def answer(self, kind: str, data: dict, caller: dict | None) -> dict:
        """Returns the reply to `NAME.kind`. Raises Refused. `data` has what a client sent: of any type, or missing."""

    def take(self, entry: dict):
        """Handles an entry of the followed log, in the transaction that moves the position: each once, a room's in order.
        If it raises, nothing of it is stored, and the entry comes again and again. So split what `emit` might refuse."""

    def missed(self) -> bool | None:
        """Called if entries of the followed log are lost. Either the service was down for more than a day, or the log
        was replaced, or the service begins at the oldest entry and that is not the log's first. A service that deletes
        its data because of facts in that log asks here what still exists. One that needs the content of lost entries
        returns `snapshot()`, which calls `keep` for everything.
        If it returns nothing, the service takes the entries that are kept. In a log that replaced another one, it then
        takes only those to come."""

    def keep(self, item: dict):
        """Handles one thing that the followed service has, in the transaction that moves on in the snapshot. The entry
        that made or changed it may come as well, later."""

    # Its own log

    def emit(self, room: str, people: list[str], emissions: list[dict]) -> int:
        """Appends an entry, in the caller's transaction. Events to people outside of the room need an entry without a room.
        Raises ValueError if an emission has not its form, or if the entry is longer than LONGEST. So spread emissions that
        may grow, such as lists of ids, over several entries."""
        for emission in emissions:
            if wrong := parlor_manifest.mistake_of_emission(emission):
                raise ValueError(wrong)
        entry = {"seq": self.head()["seq"] + 1, "at": self.now(), "roomId": room, "participants": people}
        # The entry is stored exactly as it is sent, because the digest covers the bytes of its emissions.
        check = digest(entry["at"], encode(emissions))
        row = (entry["seq"], entry["at"], room, check, encode({**entry, "emissions": emissions}))
        if len(row[-1]) > LONGEST:
            raise ValueError("the entry is too long")
        self.db.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?)", row)
        self.made.append(row)
        if abs(entry["at"] - self.pruned) >= MINUTE:  # `abs`: the clock may be set back
            self.prune(entry["at"])
        return entry["seq"]

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def prune(self, now: int):
        """Deletes entries older than a day, but not the last of them: a follower that was up to date has its position there.
        The search ends at the first entry of the last day. An `at` after `now` is from a clock that was ahead."""
        self.db.execute(
            """DELETE FROM log WHERE seq < coalesce(
                (SELECT seq FROM log WHERE at BETWEEN ? AND ? ORDER BY seq LIMIT 1) - 1, (SELECT max(seq) FROM log))""",
            (now - DAY, now))  # fmt: skip
        self.pruned = now

    def head(self) -> dict:
        """Returns the position of the log's head."""
        [name] = self.db.execute("SELECT log_name FROM own").fetchone()
        seq, of_entry = self.db.execute("SELECT seq, digest FROM log ORDER BY seq DESC LIMIT 1").fetchone() or (0, 0)
        return {"databaseId": name, "seq": seq, "digest": of_entry}

    def page(self, since=0, digest=None, through=None, roomIds=None, limit=PAGE, **_) -> dict:
        """Returns entries that a follower missed. `isKnown`: the follower's last entry is in this log. If a newer
        gateway adds members to the request, they are ignored."""
        head, oldest = self.head(), self.db.execute("SELECT coalesce(min(seq), 1) FROM log").fetchone()[0]
        at = self.db.execute("SELECT digest FROM log WHERE seq = ?", (since,)).fetchone()
        # The log's start is known while no entry is pruned.
        at = at or ((0,) if since == 0 and oldest == 1 else None)
        known = digest is None or at == (digest,)
        last = head["seq"] if through is None else min(through, head["seq"])
        limit = min(limit, PAGE) if known or since < oldest else 0
        rows = self.db.execute(
            """SELECT seq, entry FROM log WHERE seq > ? AND seq <= ? AND (? OR room IN (SELECT value FROM json_each(?)))
            ORDER BY seq LIMIT ?""", (since, last, roomIds is None, encode(roomIds or []), limit))  # fmt: skip
        entries, size, end = [], 0, max(since, last) if limit else since
        for _, entry in rows:
            size += len(entry)
            if entries and size > PAGE_BYTES:
                end = entries[-1]["seq"]
                break
            entries.append(json.loads(entry))
            if len(entries) == limit:
                end = entries[-1]["seq"]
        rows.close()
        return {"head": head, "oldest": oldest, "isKnown": known, "through": end, "entries": entries}

    def publish(self):
        """Publishes entries after the commit. Followers fetch what the bus or a crash loses, once they learn the log's head."""
        for *_, entry in self.made:
            self.bus.send(op="pub", subject=f"{self.name}.log", data=json.loads(entry))
        self.made.clear()

    def announce(self):
        # Announcements are frequent, so they have only a digest of the description. A gateway requests the
        # description when the digest is new.
        digest_of_it = {"description": hashlib.sha256(encode(self.description)).hexdigest()[:16]} if self.description else {}
        data = {"manifest": self.manifest | digest_of_it, "head": self.head()}
        self.bus.send(op="pub", subject=f"services.announce.{self.name}", data=data)

    # Others

    def ask(self, subject: str, data: dict):
        """Asks another service, and returns its reply; None for the status 204. Lines that arrive before it wait in their order."""
        return self.reply_of(subject, data).get("data")

    def reply_of(self, subject: str, data: dict) -> dict:
        """Like `ask`, but returns the whole reply. For a list in pages it also has `page`, the next page's cursor."""
        number = next(self.numbers)
        self.bus.send(op="req", id=number, subject=subject, data=data)
        while (line := self.bus.read())["op"] not in ("res", "err") or line.get("id") != number:
            if line["op"] == "pong":
                self.pinged = False
            elif line["op"] != "ping":
                self.later.append(line)
        if "data" not in line:  # no right to it, no responder, or it took too long. The request may have been executed
            print(f"{subject}: {line.get('code', 'the reply is malformed')}", file=sys.stderr)
            raise Refused("service_unavailable", "Try again in a moment.")
        if error := line["data"].get("error"):
            raise Refused.by_another(error)
        return line["data"]

    def snapshot(self) -> bool:
        """What `missed` returns to have `keep` called for all that the followed service has. The entries that have
        all changes since the beginning of that follow. Until then the service answers with what it has so far."""
        return True

    def follow(self) -> bool:
        """Handles a page of each followed log, or of their owner's snapshot. An entry on the bus is only a signal: entries
        are requested from the stored position on, so each is handled once. Returns true if there is more."""
        place = json.loads(self.db.execute("SELECT place FROM own").fetchone()[0])
        if place and "after" not in place:  # a version before stored the position in the only log
            place = {"after": {"0": {"databaseId": None, "seq": 0, "digest": None, **place}}}
        found = self.ask(f"{self.follows}.events", {"limit": 0})
        # The owner may spread its rooms over several logs. A log belongs to a generation: the hundreds of its number.
        heads = {str(head.pop("log", 0)): head for head in found.get("heads", [found["head"]])}
        numbers = sorted([*found.get("earlier", []), *map(int, heads)])
        if not place and self.begins == "end":
            place = {"after": heads}
            with self.db:
                self.go_to(place)
        if not place:
            more = self.follow_next(-1, heads, numbers)
        elif "cursor" in place:
            more = self.follow_snapshot(place, heads)
        else:
            more = self.follow_logs(place, heads, numbers)
        self.publish()
        return more

    def follow_logs(self, place: dict, heads: dict, numbers: list[int]) -> bool:
        more = False
        for log in list(place["after"]):
            if place["after"].get(log) != heads.get(log) and "cursor" not in place:
                more |= self.follow_log(log, place, heads)
        after = place["after"]
        if not more and after.keys() != heads.keys():
            return self.follow_next(int(max(after)) // 100, heads, numbers)
        if not more:
            self.followed = {int(log): position["seq"] for log, position in after.items()}
        return more

    def follow_log(self, log: str, place: dict, heads: dict) -> bool:
        position = place["after"][log]
        query = {"since": position["seq"], "digest": position["digest"]}
        found = self.ask(f"{self.follows}.events", query if log == "0" else {"log": int(log), **query})
        end = found["head"]
        known = found["isKnown"] or position["seq"] < found["oldest"]  # a pruned entry is no sign of another log
        replaced = position["databaseId"] != end["databaseId"]
        same = known and not replaced
        whole = not same or found["through"] >= end["seq"]
        with self.db:
            if (not same or position["seq"] + 1 < found["oldest"]) and self.lost(place, heads):
                return True
            for entry in found["entries"] if same else []:
                self.take(entry)
            # Only the digest of the log's head is known. Without a digest, a replaced log is not noticed.
            place["after"][log] = end if whole else {**end, "seq": found["through"], "digest": None}
            if replaced:  # and with it all logs of that database
                place["after"] = heads
            self.go_to(place)
        self.publish()  # now: if the next log cannot be followed, this is committed all the same
        return not whole

    def follow_next(self, generation: int, heads: dict, numbers: list[int]) -> bool:
        """Follows the logs after a generation of them, which is read to its end, from their beginning."""
        later = [number for number in numbers if number // 100 > generation]
        if not later:  # the reply is of an instance that still writes to the logs before
            raise Refused("service_unavailable", "Try again in a moment.")
        name = next(iter(heads.values()))["databaseId"]
        next_ones = [number for number in later if number // 100 == later[0] // 100]
        place = {"after": {str(number): {"databaseId": name, "seq": 0, "digest": 0} for number in next_ones}}
        with self.db:
            # If a generation is deleted completely, so are its entries.
            if later[0] // 100 == generation + 1 or not self.lost(place, heads):
                self.go_to(place)
        return True

    def lost(self, place: dict, heads: dict) -> bool:
        """Notifies the service that entries are lost. Returns whether it reads a snapshot: later changes are after the heads."""
        if self.missed():
            place.update(after=heads, cursor=None)
            self.go_to(place)
        return "cursor" in place

    def follow_snapshot(self, place: dict, heads: dict) -> bool:
        reply = self.reply_of(f"{self.follows}.snapshot", {"cursor": place["cursor"]} if place["cursor"] else {})
        name = next(iter(place["after"].values()))["databaseId"]
        with self.db:
            if reply["data"]["position"]["databaseId"] != name:  # the log was replaced meanwhile
                del place["cursor"]
                if not self.lost(place, heads):
                    self.go_to({"after": heads})
                return True
            for item in reply["data"]["items"]:
                self.keep(item)
            place["cursor"] = reply.get("page")
            self.go_to(place if place["cursor"] else {"after": place["after"]})
        return True

    def go_to(self, place: dict):
        self.db.execute("UPDATE own SET place = ?", (encode(place),))

    # Running

    @classmethod
    def main(cls):
        """Runs the service with the arguments of the command line."""
        arguments = argparse.ArgumentParser(description=cls.__doc__)
        where = "tcp://HOST:PORT, nats://HOST:PORT, or a file that has it"
        arguments.add_argument("bus", help=f"the bus's address: {where}. BUS_TOKEN_FILE has its token")
        arguments.add_argument("database", help="the file with the service's data, created if it is missing")
        given = arguments.parse_args()
        cls(given.database).run(given.bus)

    def run(self, address: str):
        """Runs for ever, and reconnects to the bus."""
        said, wait = "", 0.05
        while True:
            began = time.monotonic()
            try:
                self.bus, self.later = connect(address, self.name), collections.deque()
                said = ""
                self.followed, self.behind, self.pinged = {}, False, False
                self.serve()
            except OSError as error:
                if str(error) != said:  # not at each attempt
                    print(error, file=sys.stderr)
                said = str(error)
            self.made.clear()
            time.sleep(wait)
            wait = 0.05 if time.monotonic() - began > 5 else min(2 * wait, 1)

    def serve(self):
        self.bus.send(op="serve", id=1, subject=f"{self.name}.>", queue=self.name)
        events = ["services.discover"]
        if self.follows:
            events += [f"services.announce.{self.follows}", f"{self.follows}.log", f"{self.follows}.log.>"]
        for number, subject in enumerate(events, 2):
            self.bus.send(op="sub", id=number, subject=subject)
        self.announce()  # after `serve`, as receivers may send requests at once
        print(f"{self.name} ready {self.bus.url}", flush=True)
        line = {"op": "begin"}
        while True:
            self.do(line)
            self.call_what_is_due()
            # The answer is behind the requests that have come meanwhile. So these do not wait for a long log.
            if self.behind and not self.pinged:
                self.bus.send(op="ping")
                self.pinged = True
            line = self.later.popleft() if self.later else self.bus.read(min(self.due.values(), default=math.inf))
            if line["op"] == "pong":
                self.pinged = False

    def call_what_is_due(self):
        for name, due in self.due.items():
            if due <= time.monotonic():
                method = getattr(self, name)
                try:
                    self.attempt(name, method)
                except Refused as refused:
                    print(f"{name}: {refused}", file=sys.stderr)
                self.due[name] = time.monotonic() + method.seconds

    def do(self, line: dict):
        subject = line.get("subject", "")
        if line["op"] == "msg" and "data" not in line:
            print(f"{subject}: its data is not JSON", file=sys.stderr)
        if "reply" in line:
            if time.monotonic() < line.get("late", math.inf):  # later, nobody waits for the reply
                reply = self.reply(subject.removeprefix(f"{self.name}."), line.get("data"), line.get("caller"))
                self.bus.send(op="res", id=line["reply"], data=reply)
        elif line["op"] == "err":  # such as a subscription to which the service has no right
            print(f"{line.get('code')}: {line.get('message')}", file=sys.stderr)
        elif subject == "services.discover":
            self.announce()
        elif self.follows and self.is_signal(line):
            self.behind = False  # if this fails, a later line tries again
            try:
                self.behind = self.follow()
                self.failure = ""
            except BusGone:  # `run` connects again
                raise
            # The other service is down, the disk is full, or `take` has failed. A later line, or the bus's ping, tries again.
            except Exception as error:
                self.made.clear()  # the entries of a `take` that was undone
                if repr(error) != self.failure:  # not at each line that tries again
                    self.failure = repr(error)
                    detail = repr(error) if isinstance(error, (Refused, sqlite3.Error)) else traceback.format_exc()
                    print(f"{self.follows} cannot be followed now: {detail}", file=sys.stderr)

    def is_signal(self, line: dict) -> bool:
        """Returns whether to read the followed log now. While there is more of it, only the answers to pings are signals."""
        if self.behind or line["op"] not in ("begin", "msg", "ping"):
            return self.behind and line["op"] == "pong"
        try:
            is_entry = line.get("subject", "").startswith(f"{self.follows}.log")
            return not is_entry or line["data"]["seq"] > self.followed.get(line["data"].get("log", 0), -1)
        except (AttributeError, KeyError, TypeError):  # not an entry, but something was published
            return True

    def reply(self, kind: str, data, caller: dict | None) -> dict:
        try:
            return self.attempt(kind, lambda: self.reply_to(kind, data, caller))
        except Refused as refused:
            return {"error": refused.error}

    def attempt(self, what: str, work):
        """Returns what `work` returns. What it stores is undone if it raises."""
        try:
            with self.db:
                done = work()
            self.publish()  # before the reply: so the gateway sends its events before the ack
            return done
        except (BusGone, Refused):  # BusGone: `run` connects again
            raise
        except Exception:
            print(f"{what}: {traceback.format_exc()}", file=sys.stderr)
            raise Refused("internal_error", "Something went wrong on our side.") from None
        finally:
            self.made.clear()

    def reply_to(self, kind: str, data, caller: dict | None) -> dict:
        if not isinstance(data, dict):
            raise Refused("malformed_request", "The request's data is not an object.")
        if kind == "health":
            return {"status": 200, "data": {}}
        if kind == "describe":
            return {"status": 200, "data": self.description or {}}
        if kind == "refused":
            reason = data.get("reason") or f"{data['of']} has {data['what']} already"
            print(f"refused by a gateway: {reason}", file=sys.stderr)
            return {"status": 200, "data": {}}
        if kind == "events":
            return {"status": 200, "data": self.page(**data)}
        reply = self.answer(kind, data, caller)
        if not isinstance(reply, dict):
            raise TypeError("`answer` has to return a reply, such as {'status': 200, 'data': …}")
        if len(encode(reply)) > LONGEST:
            raise ValueError("the reply is too long")
        return {"data": {}, **reply}  # a 204 may do without, an older gateway not
