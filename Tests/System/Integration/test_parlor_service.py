"""`Examples/parlor_service.py` without a Parlor: the pages of its log, what it deletes, how it follows another log, and what it does
with each line of a bus."""

import collections
import json
import re
import socket
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from parlor import ROOT

sys.path.insert(0, str(ROOT / "Examples"))
import parlor_service  # noqa: E402
from parlor_bus import BusGone, LineBus, NATSBus, connect, encode  # noqa: E402
from parlor_service import CODES, DAY, MINUTE, PAGE, PAGE_BYTES, Refused, Service, every  # noqa: E402
from stars import Stars  # noqa: E402


class Notes(Service):
    manifest = {"service": "notes", "hasEventLog": True}


@pytest.fixture
def clock(monkeypatch):
    """The time of the service, in milliseconds."""
    clock = SimpleNamespace(now=time.time_ns() // 1_000_000)
    monkeypatch.setattr(parlor_service, "time", SimpleNamespace(time_ns=lambda: clock.now * 1_000_000, monotonic=time.monotonic))
    return clock


@pytest.fixture
def notes(clock, tmp_path):
    notes = Notes(tmp_path / "notes.db")
    yield notes
    notes.db.close()


def emit(notes: Service, size: int = 1, rooms: tuple[str, ...] | list[str] = ("room",)) -> int:
    """Appends an entry for each of the rooms, and returns the number of the last one."""
    with notes.db:
        return [notes.emit(room, ["alice"], [{"to": "room", "event": "noted", "data": "x" * size}]) for room in rooms][-1]


def kept(notes: Service) -> list[int]:
    return [seq for (seq,) in notes.db.execute("SELECT seq FROM log ORDER BY seq")]


def pages(notes: Service, **question) -> list[dict]:
    """Asks as a follower does, until it has all."""
    found, since = [], 0
    while not found or since < notes.head()["seq"]:
        found.append(notes.page(since=since, **question))
        assert found[-1]["through"] > since, "the follower would ask the same again"
        since = found[-1]["through"]
    return found


def test_a_page_ends_before_it_is_too_long_for_a_line_and_the_next_one_goes_on_there(notes):
    emit(notes, 8_000, ["room"] * 250)
    found = pages(notes)
    assert [entry["seq"] for page in found for entry in page["entries"]] == list(range(1, 251))
    assert max(len(encode(page["entries"])) for page in found) < PAGE_BYTES + 1_000
    assert min(len(page["entries"]) for page in found[:-1]) > 60


def test_a_page_that_ends_early_skips_no_entry_of_the_rooms_asked_for(notes):
    emit(notes, 40_000, ["room 0", "room 1"] * 15)
    found = pages(notes, roomIds=["room 1"])
    assert len(found) == 2
    assert [entry["seq"] for page in found for entry in page["entries"]] == list(range(2, 31, 2))


def test_a_page_has_at_least_one_entry(notes):
    emit(notes, 700_000, ["room"] * 3)
    assert [len(page["entries"]) for page in pages(notes)] == [1, 1, 1]


def test_a_page_of_small_entries_ends_at_its_limit(notes):
    emit(notes, 1, ["room"] * (PAGE + 1))
    assert [page["through"] for page in pages(notes)] == [PAGE, PAGE + 1]
    assert notes.page(since=7, limit=0)["through"] == 7


def test_an_entry_that_fits_no_line_is_refused(notes):
    with pytest.raises(ValueError, match="the entry is too long"):
        emit(notes, 1_100_000)
    assert kept(notes) == [] and notes.made == []


def test_a_followed_entry_whose_own_entry_is_too_long_stays_unhandled_and_does_not_end_the_service(notes, capsys):
    place = {"databaseId": "log", "seq": 2, "digest": 5}
    with notes.db:
        notes.db.execute("UPDATE own SET place = ?", (encode(place),))
    head = {"databaseId": "log", "seq": 3, "digest": 1}
    notes.ask = lambda subject, question: {
        "head": head, "oldest": 1, "isKnown": True, "through": 3, "entries": [{"seq": 3}]}  # fmt: skip
    notes.take = lambda entry: [notes.emit("room", [], [{"to": "room", "event": "x", "data": "x" * size}]) for size in (1, 1_100_000)]
    notes.do({"op": "begin"})
    assert "the entry is too long" in capsys.readouterr().err
    assert kept(notes) == [] and notes.made == []
    assert parlor_service.json.loads(notes.db.execute("SELECT place FROM own").fetchone()[0]) == place


def test_a_message_with_very_many_stars_is_deleted_in_entries_that_fit_a_line(clock, tmp_path):
    stars = Stars(tmp_path / "stars.db")
    givers = [f"person-{number:036}" for number in range(30_000)]
    with stars.db:
        stars.db.executemany("INSERT INTO stars VALUES ('m', ?)", ((giver,) for giver in givers))
    with stars.db:
        stars.take({"roomId": "room", "participants": ["alice"], "emissions": [{"fact": "messageDeleted", "id": "m"}]})
    facts = [entry["emissions"][0]["personIds"] for page in pages(stars) for entry in page["entries"]]
    assert len(facts) == 30 and sorted(id for ids in facts for id in ids) == givers
    assert stars.count("message", "m") == 0
    stars.db.close()


def test_a_member_of_the_question_that_a_newer_gateway_adds_is_ignored(notes):
    emit(notes)
    notes.made.clear()
    reply = notes.reply("events", {"since": 0, "added": True}, None)
    assert [entry["seq"] for entry in reply["data"]["entries"]] == [1]


def test_entries_older_than_a_day_are_deleted_while_it_runs_but_not_the_last_of_them(notes, clock):
    emit(notes, 1, ["room"] * 3)
    clock.now += DAY + 1
    emit(notes)
    assert kept(notes) == [3, 4]


def test_entries_are_deleted_at_most_once_a_minute(notes, clock):
    emit(notes)
    clock.now += DAY - 1
    assert kept(notes) == [1] and emit(notes) == 2  # this looks for old entries
    clock.now += MINUTE - 1
    assert emit(notes) == 3 and kept(notes) == [1, 2, 3]
    clock.now += 1
    assert emit(notes) == 4 and kept(notes) == [1, 2, 3, 4]  # the first one is the last old one
    clock.now += DAY + 1
    assert emit(notes) == 5 and kept(notes) == [4, 5]


def test_old_entries_are_deleted_at_the_start_and_an_entry_of_a_clock_that_was_ahead_does_not_keep_them(notes, clock, tmp_path):
    clock.now += 9 * DAY
    emit(notes)
    clock.now -= 9 * DAY
    emit(notes, 1, ["room"] * 3)
    clock.now += DAY + 1
    again = Notes(tmp_path / "notes.db")
    assert kept(again) == [4], "the newest entry stays"
    again.db.close()


@pytest.mark.parametrize(
    "since, digest, databaseId, oldest, is_known, handled",
    [
        (0, 0, "log", 1, True, [3]),
        (2, 5, "log", 1, True, [3]),
        (2, 5, "log", 3, False, [3]),  # entry 2 is deleted, and those after it are there
        (2, 5, "log", 4, False, ["missed", 3]),
        (2, None, "log", 4, True, ["missed", 3]),  # a position without a digest, in the middle of catching up
        (2, 5, "another log", 1, True, ["missed"]),
        (2, 5, "log", 1, False, ["missed"]),
    ],
)
def test_it_learns_that_entries_of_the_followed_log_are_lost(notes, since, digest, databaseId, oldest, is_known, handled):
    found = []
    notes.take, notes.missed = lambda entry: found.append(entry["seq"]), lambda: found.append("missed")
    with notes.db:
        notes.db.execute("UPDATE own SET place = ?", (encode({"databaseId": databaseId, "seq": since, "digest": digest}),))
    head = {"databaseId": "log", "seq": 9, "digest": 1}
    notes.ask = lambda subject, question: {
        "head": head, "oldest": oldest, "isKnown": is_known, "through": 9, "entries": [{"seq": 3}]}  # fmt: skip
    follow(notes)
    assert found == handled
    # It is told once: the next request is from the new position.
    notes.ask = lambda subject, question: {"head": head, "oldest": oldest, "isKnown": True, "through": 9, "entries": []}
    notes.follow()
    assert found == handled


def test_a_service_that_follows_a_log_for_the_first_time_has_missed_nothing(notes):
    notes.missed = lambda: pytest.fail("it has no data yet")
    notes.ask = lambda subject, question: {
        "head": {"databaseId": "log", "seq": 9, "digest": 1}, "oldest": 5, "isKnown": True, "through": 0, "entries": []}  # fmt: skip
    notes.follow()


class Owner:
    """The owner of a log, as `ask` reaches it: notes by id, of which each page of the snapshot has two."""

    def __init__(self, tmp_path):
        self.log, self.notes, self.between = Notes(tmp_path / "owner.db"), {}, None

    def write(self, *ids: int, text: str | None = "text"):
        for id in ids:
            self.notes.pop(id, None)
            if text:
                self.notes[id] = text
            with self.log.db:
                self.log.emit("", [], [{"to": "everyone", "event": "note", "data": {"id": id, "text": text}}])

    def prune(self, before: int):
        with self.log.db:
            self.log.db.execute("DELETE FROM log WHERE seq < ?", (before,))

    def reply_of(self, subject: str, data: dict) -> dict:
        if subject == "notes.events":
            return {"status": 200, "data": self.log.page(**data)}
        assert subject == "notes.snapshot"
        ids = sorted(id for id in self.notes if id > int(data.get("cursor", 0)))
        items = [{"id": id, "text": self.notes[id]} for id in ids[:2]]
        page = {"position": self.log.head(), "items": items}
        if self.between:
            self.between()
        return {"status": 200, "page": str(ids[1]) if len(ids) > 2 else None, "data": page}


def follow(service: Service):
    while service.follow():
        pass


class Index(Service):
    """Keeps a copy of all notes, and the numbers of the entries that it has taken."""

    manifest = {"service": "index"}
    follows = "notes"
    begins = "oldest"
    schema = """
        CREATE TABLE IF NOT EXISTS copies (id INTEGER PRIMARY KEY, text TEXT);
        CREATE TABLE IF NOT EXISTS taken (place INTEGER PRIMARY KEY, seq INTEGER);"""

    def __init__(self, owner: Owner, tmp_path):
        super().__init__(tmp_path / "index.db")
        self.reply_of = owner.reply_of

    def take(self, entry):
        self.db.execute("INSERT INTO taken (seq) VALUES (?)", (entry["seq"],))
        self.keep(entry["emissions"][0]["data"])

    def missed(self):
        self.db.execute("DELETE FROM copies")
        return self.snapshot()

    def keep(self, note):
        self.db.execute("DELETE FROM copies WHERE id = ?", (note["id"],))
        if note["text"]:
            self.db.execute("INSERT INTO copies VALUES (?, ?)", (note["id"], note["text"]))

    def taken(self):
        return [seq for (seq,) in self.db.execute("SELECT seq FROM taken ORDER BY place")]

    def copies(self):
        return dict(self.db.execute("SELECT id, text FROM copies"))


@pytest.fixture
def owner(clock, tmp_path):
    owner = Owner(tmp_path)
    yield owner
    owner.log.db.close()


def test_a_service_that_is_added_later_takes_every_entry_from_the_beginning_and_goes_on_after_a_restart(owner, tmp_path):
    owner.write(*range(1, 2 * PAGE + 2))
    index = Index(owner, tmp_path)
    assert index.follow() and index.follow() and index.taken() == list(range(1, PAGE + 1)), "a page at a time"
    follow(index)
    assert index.taken() == list(range(1, 2 * PAGE + 2))
    index.db.close()
    owner.write(1000, 1001)
    again = Index(owner, tmp_path)
    follow(again)
    assert again.taken() == list(range(1, 2 * PAGE + 4)) and again.copies() == owner.notes
    again.db.close()


@pytest.mark.parametrize("when", ["first", "pruned", "replaced"])
def test_where_entries_are_lost_a_snapshot_and_those_after_it_are_all_that_the_owner_has(owner, tmp_path, when):
    index = Index(owner, tmp_path)
    if when != "first":
        owner.write(50, 51)
        follow(index)
        owner.write(50, text=None)
    if when == "replaced":
        with owner.log.db:
            owner.log.db.execute("UPDATE own SET log_name = 'another'")
    owner.write(*range(1, 8))
    before = index.taken()
    if when != "replaced":
        owner.prune(before=owner.log.head()["seq"])
    new = iter(range(100, 200))

    def change():
        owner.write(1, 4, text="changed")
        owner.write(2, 6, text=None)
        owner.write(next(new))

    owner.between, end = change, owner.log.head()["seq"]
    follow(index)
    assert index.taken()[len(before):] == list(range(end + 1, owner.log.head()["seq"] + 1)), "those after the first page, once"
    assert index.copies() == owner.notes and next(new) > 102
    index.db.close()


def test_a_snapshot_that_is_interrupted_goes_on_where_it_was(owner, tmp_path, capsys):
    owner.write(*range(1, 8))
    owner.prune(before=7)
    index = Index(owner, tmp_path)
    for op in ("begin", "pong", "pong", "pong"):  # where to begin, the log, and two pages of the snapshot
        index.do({"op": op})
    for line in ({"op": "ping"}, {"op": "msg", "subject": "notes.log", "data": {"seq": 8}}):
        index.do(line)
    assert index.behind and sorted(index.copies()) == [1, 2, 3, 4], "a page for each answer to a ping"

    def no_answer(*question):
        raise parlor_service.Refused("service_unavailable", "Try again in a moment.")

    index.reply_of = no_answer
    index.do({"op": "pong"})
    assert "cannot be followed now" in capsys.readouterr().err and not index.behind and sorted(index.copies()) == [1, 2, 3, 4]
    index.db.close()
    again = Index(owner, tmp_path)
    questions = []
    again.reply_of = lambda subject, question: questions.append(question) or owner.reply_of(subject, question)
    follow(again)
    assert again.copies() == owner.notes and questions[1] == {"cursor": "4"}
    again.db.close()


def test_a_snapshot_of_a_log_that_is_replaced_meanwhile_begins_again(owner, tmp_path):
    owner.write(*range(1, 8))
    owner.prune(before=7)
    index = Index(owner, tmp_path)
    for _ in range(3):
        index.follow()
    with owner.log.db:
        owner.log.db.execute("UPDATE own SET log_name = 'another'")
    owner.write(1, text=None)
    follow(index)
    assert index.copies() == owner.notes
    index.db.close()


class Owners:
    """The owner of several logs, as `ask` reaches it. `numbers` are those of the logs to which it writes now."""

    def __init__(self, tmp_path, *numbers: int):
        self.tmp_path, self.logs, self.numbers, self.calls_of_missed = tmp_path, {}, numbers, 0
        self.change(*numbers)

    def change(self, *numbers: int):
        self.numbers = numbers
        for number in numbers:
            self.logs[number] = Notes(self.tmp_path / f"log-{number}.db")
            self.name(number, "name")

    def name(self, number: int, name: str):
        with self.logs[number].db:
            self.logs[number].db.execute("UPDATE own SET log_name = ?", (name,))

    def write(self, log: int, *texts: str):
        with self.logs[log].db:
            for text in texts:
                self.logs[log].emit("room", [], [{"to": "room", "event": "note", "data": text}])

    def undo(self, log: int, since: int):
        with self.logs[log].db:
            self.logs[log].db.execute("DELETE FROM log WHERE seq > ?", (since,))

    def ask(self, subject: str, query: dict) -> dict:
        assert subject == "notes.events"
        asks_for_heads = query.get("limit") == 0
        page = self.logs[query.get("log", self.numbers[0] if asks_for_heads else 0)].page(**query)
        if asks_for_heads and self.numbers != (0,):
            page["heads"] = [{"log": number, **self.logs[number].head()} for number in self.numbers]
            page["earlier"] = [number for number, log in self.logs.items() if number not in self.numbers and log.head()["seq"]]
        return page

    def follower(self, begins: str = "oldest"):
        """A service that follows these logs, and the texts that it has taken."""

        class Follower(Service):
            manifest = {"service": "follower"}
            follows = "notes"

        Follower.begins = begins
        follower, taken = Follower(self.tmp_path / "follower.db"), []
        follower.ask, follower.missed = self.ask, lambda: taken.append("missed")
        follower.take = lambda entry: taken.append(entry["emissions"][0]["data"])
        return follower, taken


@pytest.fixture
def owners(clock, tmp_path):
    owners = Owners(tmp_path, 0)
    yield owners
    for log in owners.logs.values():
        log.db.close()


def test_the_entries_of_several_logs_are_taken_once_also_after_a_restart(owners):
    owners.change(100, 101)
    owners.write(100, "before")
    follower, taken = owners.follower(begins="end")
    follow(follower)
    owners.write(100, "a", "b")
    owners.write(101, "c")
    follow(follower)
    assert sorted(taken) == ["a", "b", "c"]
    follower.db.close()
    owners.write(101, "d")
    again, taken = owners.follower()
    follow(again)
    assert taken == ["d"]
    again.db.close()


def test_logs_are_read_to_their_ends_before_those_of_the_next_generation_also_of_one_that_nobody_followed(owners):
    owners.write(0, "a")
    follower, taken = owners.follower()
    follow(follower)
    owners.write(0, "b")
    owners.change(100, 101)
    owners.write(101, "c")
    owners.write(100, "d")
    owners.change(200)
    owners.write(200, "e")
    follow(follower)
    assert taken[:2] == ["a", "b"] and sorted(taken[2:4]) == ["c", "d"] and taken[4:] == ["e"]
    follower.db.close()


def test_a_service_begins_at_the_oldest_entry_of_an_earlier_generation(owners):
    owners.write(0, "a")
    owners.change(100, 101)
    owners.write(101, "b")
    follower, taken = owners.follower()
    follow(follower)
    assert taken == ["a", "b"]
    follower.db.close()


def test_a_generation_whose_entries_are_all_deleted_is_missed(owners):
    owners.write(0, "a")
    owners.change(100, 101)
    owners.write(100, "b")
    owners.undo(0, since=0)
    follower, taken = owners.follower()
    follow(follower)
    assert taken == ["missed", "b"]
    follower.db.close()


@pytest.mark.parametrize("numbers", [(100, 101), (200,)])
def test_a_database_that_replaces_another_is_missed_once_whatever_its_logs(owners, numbers):
    owners.change(100, 101)
    owners.write(100, "a")
    follower, taken = owners.follower(begins="end")
    follow(follower)
    owners.change(*numbers)
    for number in owners.logs:
        owners.name(number, "another")
    owners.write(numbers[0], "b")
    follow(follower)
    assert taken == ["missed"]
    owners.write(numbers[-1], "c")
    follow(follower)
    assert taken == ["missed", "c"]
    follower.db.close()


def test_a_log_that_lost_its_newest_entries_is_missed_and_the_entries_of_the_others_are_taken(owners, clock):
    owners.change(100, 101)
    owners.write(100, "a", "b")
    follower, taken = owners.follower(begins="end")
    follow(follower)
    owners.undo(100, since=1)
    clock.now += 1
    owners.write(100, "x", "y")
    owners.write(101, "c")
    follow(follower)
    assert sorted(taken) == ["c", "missed"]
    owners.write(100, "z")
    follow(follower)
    assert taken[2:] == ["z"]
    follower.db.close()


def test_what_it_emits_for_one_log_is_published_though_the_next_log_cannot_be_followed(owners):
    owners.change(100, 101)
    follower, _ = owners.follower(begins="end")
    follow(follower)
    owners.write(100, "a")
    owners.write(101, "b")
    sent, answer = [], owners.ask

    def ask(subject, query):
        if query.get("log") == 101:
            raise Refused("service_unavailable", "Try again in a moment.")
        return answer(subject, query)

    follower.ask, follower.bus = ask, SimpleNamespace(send=lambda **line: sent.append(line))
    follower.take = lambda entry: follower.emit("room", [], [{"to": "room", "event": "taken", "data": 1}])
    with pytest.raises(Refused):
        follower.follow()
    assert [line["subject"] for line in sent] == ["follower.log"]
    follower.db.close()


def test_an_instance_that_does_not_know_the_new_logs_yet_is_asked_again_later(owners):
    owners.change(100, 101)
    follower, taken = owners.follower(begins="end")
    follow(follower)
    owners.numbers = (0,)
    with pytest.raises(Refused):
        follow(follower)
    owners.numbers = (100, 101)
    owners.write(101, "a")
    follow(follower)
    assert taken == ["a"]
    follower.db.close()


def test_a_position_in_the_only_log_that_a_version_before_has_stored_is_good(owners):
    owners.write(0, "a", "b")
    follower, taken = owners.follower()
    page = owners.ask("notes.events", {"since": 0, "limit": 1})
    digest = owners.logs[0].db.execute("SELECT digest FROM log WHERE seq = 1").fetchone()[0]
    with follower.db:
        follower.db.execute("UPDATE own SET place = ?", (encode({**page["head"], "seq": 1, "digest": digest}),))
    follow(follower)
    assert taken == ["b"]
    follower.db.close()


def test_an_entry_is_a_signal_if_it_is_newer_than_what_was_taken_of_its_log(owners):
    owners.change(100, 101)
    owners.write(100, "a", "b")
    follower, _ = owners.follower(begins="end")
    follow(follower)
    entries = [(100, 2), (100, 3), (101, 1), (102, 1)]
    lines = [{"op": "msg", "subject": f"notes.log.{log}", "data": {"log": log, "seq": seq}} for log, seq in entries]
    assert [follower.is_signal(line) for line in lines] == [False, True, True, True]
    follower.db.close()


def test_a_service_may_follow_nobody(tmp_path):
    class Alone(Service):
        manifest = {"service": "alone"}
        follows = None

    alone, lines = Alone(tmp_path / "alone.db"), []
    alone.bus = SimpleNamespace(send=lambda **line: lines.append(line))
    for op in ("begin", "ping", "pong"):
        alone.do({"op": op})
    assert lines == []
    alone.db.close()


def test_a_number_that_json_does_not_have_is_an_error_of_the_service(notes, capsys):
    notes.answer = lambda kind, data, caller: {"status": 200, "data": float("nan")}
    assert notes.reply("it", {}, None)["error"]["code"] == "internal_error"
    assert "not JSON compliant" in capsys.readouterr().err


# The connection


def test_a_line_that_the_bus_did_not_finish_is_the_end_of_the_connection():
    ours, theirs = socket.socketpair()
    bus = LineBus(ours, "it", "")
    theirs.sendall(b'{"op":"pong"}\n{"op":"ms')
    theirs.shutdown(socket.SHUT_WR)
    assert bus.read() == {"op": "pong"}
    with pytest.raises(ConnectionError):
        bus.read()
    ours.close()
    theirs.close()


@pytest.fixture
def listening():
    """Listens as a bus that sends this to each connection."""
    listeners = []

    def listening(line: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def accept():
            while True:
                try:
                    listener.accept()[0].sendall(line)
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield listening
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


WELCOME, REFUSAL = b'{"op":"welcome"}\n', b'{"op":"err","code":"unauthorized","message":"the token is not this bus\'s token"}\n'


def test_what_it_sends_does_not_wait_for_an_acknowledgement(listening):
    bus = connect(f"tcp://{listening(WELCOME)}", "it")
    assert bus.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    bus.socket.close()


@pytest.mark.parametrize(
    ("scheme", "answer", "reason"),
    [("tcp", REFUSAL, "not this bus's token"), ("nats", b"INFO {}\r\n-ERR 'Authorization Violation'\r\n", "Authorization Violation")],
)
def test_a_wrong_token_is_named_before_anything_else_is_sent(listening, monkeypatch, tmp_path, scheme, answer, reason):
    token = tmp_path / "wrong.token"
    token.write_text("wrong")
    monkeypatch.setenv("BUS_TOKEN_FILE", str(token))
    with pytest.raises(ConnectionError, match=rf"BUS_TOKEN_FILE \({token}\): .*{reason}"):
        connect(f"{scheme}://{listening(answer)}", "it")


def test_it_connects_again_after_longer_and_longer_waits_to_where_the_file_says(listening, monkeypatch, notes, tmp_path, capsys):
    address, waits, served = tmp_path / "bus.url", [], []

    def sleep(seconds):
        waits.append(seconds)
        if len(waits) == 8:
            address.write_text(f"tcp://{listening(WELCOME)}\n")

    def serve():
        served.append(notes.bus.url)
        raise SystemExit

    monkeypatch.setattr(parlor_service, "time", SimpleNamespace(sleep=sleep, monotonic=lambda: 0))
    monkeypatch.setattr(notes, "serve", serve)
    address.write_text(f"tcp://{listening(REFUSAL)}\n")
    with pytest.raises(SystemExit):
        notes.run(str(address))
    assert waits == [0.05, 0.1, 0.2, 0.4, 0.8, 1, 1, 1] and served == [address.read_text().strip()]
    assert capsys.readouterr().err.count("not this bus's token") == 1, "once, and not at each attempt"
    notes.bus.socket.close()


# Lines


class Talk:
    """A service at a bus that sends these lines and then ends."""

    def __init__(self, service: Service, kind: str = "tcp"):
        self.service, self.kind = service, kind
        ours, self.bus = socket.socketpair()
        self.bus.sendall(b"" if kind == "tcp" else b"INFO {}\r\n")
        service.bus = LineBus(ours, service.name, "") if kind == "tcp" else NATSBus(ours, service.name, "", "parlor")
        service.bus.url, service.later = f"{kind}://it", collections.deque()

    def request(self, subject: str, data: bytes, number: int, timeout: int = 5000) -> bytes:
        members = b'"timeout":%d,"data":%s}' % (timeout, data)
        if self.kind == "tcp":
            return b'{"op":"msg","sub":1,"reply":%d,"subject":"%s",%s\n' % (number, subject.encode(), members)
        return b"MSG parlor.request.%s 1 %d %d\r\n{%s\r\n" % (subject.encode(), number, len(members) + 1, members)

    def event(self, subject: str, data: bytes) -> bytes:
        if self.kind == "tcp":
            return b'{"op":"msg","sub":3,"subject":"%s","data":%s}\n' % (subject.encode(), data)
        return b"MSG parlor.event.%s 3 %d\r\n%s\r\n" % (subject.encode(), len(data), data)

    def answer(self, number: int, data: bytes) -> bytes:
        if self.kind == "tcp":
            return b'{"op":"res","id":%d,"data":%s}\n' % (number, data)
        payload = b'{"data":%s}' % data
        return b"MSG %s%d 0 %d\r\n%s\r\n" % (self.service.bus.inbox.encode(), number, len(payload), payload)

    def run(self, *lines: bytes) -> dict:
        """Returns the replies by the numbers of their requests."""
        self.bus.sendall(b"".join(lines))
        self.bus.shutdown(socket.SHUT_WR)
        with pytest.raises(BusGone):
            self.service.serve()
        self.service.bus.socket.close()
        sent = self.bus.makefile("rb").read()
        self.bus.close()
        if self.kind == "tcp":
            return {line["id"]: line["data"] for line in map(json.loads, sent.splitlines()) if line["op"] == "res"}
        return {int(number): json.loads(reply)["data"] for number, reply in re.findall(rb"PUB (\d+) \d+\r\n(.*?)\r\n", sent)}


LARGE, MINUS = b'{"n":%s}' % (b"9" * 5_000), b'{"n":-%s}' % (b"9" * 5_000)


@pytest.mark.parametrize("kind", ["tcp", "nats"])
@pytest.mark.parametrize(
    ("data", "status"),
    [
        (LARGE, 200), (MINUS, 200), (b'{"n":1e400}', 200), (b'{"n":"\xff"}', 200), (b"7", "malformed_request"),
        (b"[]", "malformed_request"), (b'{"n":', "malformed_request"), (b'{"n":' + b"[" * 50_000, "malformed_request"),
    ],
)  # fmt: skip
def test_no_line_ends_a_service(notes, capsys, kind, data, status):
    notes.follows, notes.answer = None, lambda kind, data, caller: {"status": 200, "data": data}
    talk = Talk(notes, kind)
    replies = talk.run(
        b"[\n" if kind == "tcp" else b"-ERR '[\xff'\r\n",
        talk.request("notes.it", data, 1), talk.event("services.discover", data), talk.request("notes.it", b'{"n":1}', 2))  # fmt: skip
    assert status in (replies[1].get("status"), replies[1].get("error", {}).get("code"))
    assert replies[2] == {"status": 200, "data": {"n": 1}}
    log = capsys.readouterr().err
    assert ("malformed: a line is not" if kind == "tcp" else "nats: '[") in log
    told = "notes.it: its data is not JSON" in log
    assert told == (data[-1:] in b":[")


def test_no_payload_on_nats_stands_for_what_the_server_says(notes):
    notes.follows, notes.answer = None, lambda kind, data, caller: {"status": 200, "data": data}
    talk = Talk(notes, "nats")
    data = b',"op":"req","reply":5,"subject":"notes.it"'
    replies = talk.run(talk.event("services.discover", b"1" + data), talk.request("notes.it", b"{}" + data, 2))
    assert replies == {2: {"status": 200, "data": {}}}


@pytest.mark.parametrize("kind", ["tcp", "nats"])
def test_a_follower_stores_and_passes_on_each_number_that_an_entry_has(notes, kind):
    def take(entry):
        notes.db.execute("INSERT INTO numbers VALUES (?)", (entry["emissions"][0]["data"]["n"],))
        notes.emit("", [], entry["emissions"])

    notes.db.executescript("CREATE TABLE numbers (n); UPDATE own SET place = '{\"databaseId\":\"log\",\"seq\":0,\"digest\":0}'")
    notes.take, talk = take, Talk(notes, kind)
    numbers = [LARGE, MINUS, b'{"n":-1e400}', b'{"n":%d}' % 2**64, b'{"n":%d}' % 10**17]
    entries = b",".join(b'{"seq":%d,"emissions":[{"to":"room","event":"x","data":%s}]}' % (seq, data) for seq, data in enumerate(numbers, 1))
    end = b'{"databaseId":"log","seq":5,"digest":1}'
    page = b'{"head":%s,"oldest":1,"isKnown":true,"through":5,"entries":[%s]}' % (end, entries)
    lines = [talk.event("messaging.log", data) for data in (b"7", b"{}", b'{"seq":"x"}', b'{"seq":%s}' % (b"1" * 5_000))]
    talk.run(*(talk.answer(number, b'{"status":200,"data":%s}' % page) for number in (1, 2)), *lines)
    stored = [n for (n,) in notes.db.execute("SELECT n FROM numbers")]
    largest = sys.float_info.max
    assert stored == [largest, -largest, -largest, 2.0**64, 10**17] and type(stored[-1]) is int
    assert [entry["emissions"][0]["data"]["n"] for page in pages(notes) for entry in page["entries"]] == stored
    assert json.loads(notes.db.execute("SELECT place FROM own").fetchone()[0])["after"]["0"]["seq"] == 5


def test_a_right_that_is_missing_is_named_in_the_log(notes, capsys):
    notes.answer = lambda kind, data, caller: {"status": 200, "data": notes.ask("rooms.membership", {})}
    refused = '{"op":"err",%s,"code":"forbidden","message":"`notes` may not %s"}\n'
    talk = Talk(notes)
    replies = talk.run(
        (refused % ('"sub":4', "subscribe `messaging.log`")).encode(), (refused % ('"id":1', "request `messaging.events`")).encode(),
        talk.request("notes.it", b"{}", 1), (refused % ('"id":2', "request `rooms.membership`")).encode())  # fmt: skip
    log = capsys.readouterr().err
    assert replies[1]["error"]["code"] == "service_unavailable"
    for line in ("forbidden: `notes` may not subscribe `messaging.log`", "messaging.events: forbidden", "rooms.membership: forbidden"):
        assert f"{line}\n" in log


def test_a_request_whose_time_is_over_is_not_begun(notes):
    def answer(kind, data, caller):
        time.sleep(0.05)
        return {"status": 200}

    notes.follows, notes.answer = None, answer
    talk = Talk(notes)
    replies = talk.run(*(talk.request("notes.it", b"{}", number, timeout) for number, timeout in [(1, 5000), (2, 1), (3, 5000)]))
    assert replies.keys() == {1, 3}


# What an author gets wrong


def test_204_has_no_data(notes):
    notes.reply_of = lambda subject, data: {"status": 204}
    assert notes.ask("rooms.seen", {}) is None
    notes.answer = lambda kind, data, caller: {"status": 204}
    assert notes.reply("it", {}, None) == {"status": 204, "data": {}}, "older gateways refuse a reply without data"


@pytest.mark.parametrize("status", [None, 200, 401, 429, 500, "409"])
def test_a_code_of_ones_own_needs_a_status_that_gateways_accept(status):
    with pytest.raises(ValueError, match="out_of_dice is not a code of Parlor's"):
        Refused("out_of_dice", "There are no dice.", status)


@pytest.mark.parametrize("code", ["", "OwnCode", "9_lives", "x" * 65])
def test_a_code_of_ones_own_has_the_form_that_gateways_accept(code):
    with pytest.raises(ValueError, match="a letter first"):
        Refused(code, "No.", 409)


def test_the_codes_that_need_no_status_are_those_of_the_contract():
    rows = re.findall(r"^\| \d{3} \| (.*?) \|", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
    assert sorted(CODES) == sorted(code for row in rows for code in re.findall("`(.*?)`", row))
    assert Refused("slow_mode", "Wait.", 422, retry_after=7).error == {
        "code": "slow_mode", "message": "Wait.", "status": 422, "retryAfter": 7}  # fmt: skip


def test_what_another_service_refused_is_passed_on_as_it_is(notes):
    error = {"code": "code_of_a_newer_parlor", "message": "No.", "retryAfter": 3}
    notes.follows, notes.answer = None, lambda kind, data, caller: notes.ask("rooms.it", {})
    talk = Talk(notes)
    assert talk.run(talk.request("notes.it", b"{}", 1), talk.answer(1, encode({"error": error})))[1] == {"error": error}


ROUTE = {"method": "GET", "path": "/api/notes", "subject": "notes.list", "needsLogin": True, "answer": "plain"}
LIMIT = {"name": "notes", "counted": "calls", "perPerson": 1, "perAddress": 1, "seconds": 1}
CHECK = {"before": "messaging.send", "subject": "notes.check", "whenAway": "deny"}
FIELD = {"path": "note", "kind": "value", "zero": None}


@pytest.mark.parametrize(
    ("member", "mistake"),
    [
        ({"routes": [ROUTE | {"method": "get"}]}, "routes[0].method is 'get', which is not GET|POST|PUT|PATCH|DELETE"),
        ({"routes": [ROUTE | {"needsLogin": "yes"}]}, "routes[0].needsLogin is 'yes', which is no bool"),
        ({"routes": [ROUTE, ROUTE | {"answer": "plian"}]}, "routes[1].answer is 'plian', which is not plain|room|rooms|roomsByPerson"),
        ({"routes": [ROUTE | {"limit": ["x"]}]}, "routes[0].limit is not a member of it"),
        ({"routes": ROUTE}, f"routes is {ROUTE!r}, which is no list"),
        ({"socketEvents": [{"event": "note:add"}]}, "socketEvents[0] has no subject"),
        ({"limits": [LIMIT | {"seconds": 0}]}, "limits[0].seconds is 0, which is not range(1, 2147483648)"),
        ({"messageContribution": {"subject": "notes.of", "fields": [FIELD | {"role": {"badge": "x"}}]}},
            "messageContribution.fields[0].role is not a member of it"),
        ({"limits": [{k: v for k, v in LIMIT.items() if k != "perAddress"}]}, "limits[0] has no perAddress"),
        ({"checks": [CHECK | {"before": "messaging"}]}, r"checks[0].before is 'messaging', which is not [a-z0-9_-]+\..+|room:join"),
        ({"checks": [CHECK | {"whenAway": "refuse"}]}, "checks[0].whenAway is 'refuse', which is not allow|deny"),
        ({"check": [CHECK]}, "check is not a member of it"),
        ({"contribution": {"subject": "notes.of", "fields": [FIELD, {"path": "x"}]}}, "contribution.fields[1] has no kind"),
        ({"presence": "elements.presence"}, r"presence is 'elements.presence', which is not notes\..+"),
    ],
)
def test_a_mistake_in_the_manifest_names_itself_at_the_start(tmp_path, member, mistake):
    class Mistaken(Service):
        manifest = {"service": "notes", **member}

    with pytest.raises(SystemExit) as ended:
        Mistaken(tmp_path / "notes.db")
    assert f"manifest.{mistake}" in ended.value.args[0].splitlines()


@pytest.mark.parametrize(
    ("emission", "mistake"),
    [
        ({"to": "rooom", "event": "x", "data": {}}, "the emission.to is 'rooom', which is not room|everyone|person"),
        ({"to": "person", "event": "x", "data": {}}, "a `person` if it is to a person"),
        ({"to": "room", "person": "ada", "event": "x", "data": {}}, "a `person` if it is to a person"),
        ({"to": "room", "evnt": "x", "data": {}}, "the emission has no event"), ({"to": "room", "event": "x"}, "has no data"),
    ],
)  # fmt: skip
def test_a_mistake_in_an_emission_names_itself(tmp_path, emission, mistake):
    notes = Notes(tmp_path / "notes.db")
    with pytest.raises(ValueError, match=re.escape(mistake)):
        notes.emit("", [], [emission])
    notes.db.close()


def test_a_manifest_without_a_mistake_is_accepted(tmp_path):
    class Whole(Service):
        manifest = {
            "service": "notes", "routes": [ROUTE | {"limits": ["notes"]}], "limits": [LIMIT], "checks": [CHECK | {"before": "room:join"}],
            "personContribution": {"subject": "notes.people", "fields": [FIELD]}, "batched": ["notes.list"],
            "emits": ["notes:added"], "description": "d1"}  # fmt: skip

    Whole(tmp_path / "notes.db").db.close()


# Timers


class Reminders(Notes):
    """Emits an entry at each call, and at the third one its bus ends."""

    follows = None

    def __init__(self, tmp_path):
        super().__init__(tmp_path / "notes.db")
        self.talk, self.calls = Talk(self), []

    @every(0.01)
    def remind(self):
        self.calls.append(self.emit("", [], [{"to": "everyone", "event": "tea", "data": {}}]))
        if len(self.calls) == 2:
            self.calls.append(None)
            raise ValueError("this one is undone")
        if len(self.calls) == 4:
            self.talk.bus.shutdown(socket.SHUT_WR)


def test_a_timer_runs_between_the_lines_and_over_its_own_mistakes_and_the_ends_of_connections(tmp_path, capsys):
    reminders = Reminders(tmp_path)
    with pytest.raises(BusGone):
        reminders.serve()
    assert reminders.calls == [1, 2, None, 2] and kept(reminders) == [1, 2]
    sent = [json.loads(line) for line in reminders.talk.bus.recv(1_000_000).splitlines()]
    assert [line["data"]["seq"] for line in sent if line.get("subject") == "notes.log"] == [1, 2]
    assert "this one is undone" in capsys.readouterr().err
    # What was missed is not made up: one call is due, however long it was down.
    reminders.due = {"remind": time.monotonic() - 60}
    Talk(reminders).run()
    assert reminders.calls[4:] == [3] and reminders.due["remind"] > time.monotonic() - 1
    reminders.db.close()


@pytest.mark.parametrize("kind", ["tcp", "nats"])
def test_a_connection_on_which_only_a_timer_sends_is_pinged(notes, kind):
    talk = Talk(notes, kind)
    bus = notes.bus
    bus.next_ping = time.monotonic() + 0.01
    assert bus.read(until=time.monotonic()) == {"op": "time"} and bus.read() == {"op": "ping"}
    talk.bus.setblocking(False)
    assert b"ping" in talk.bus.recv(10_000).lower()
    talk.bus.sendall(b'{"op":"pong"}\n' if kind == "tcp" else b"PONG\r\n")
    assert bus.read() == {"op": "pong"}
    bus.heard -= 60
    bus.next_ping = time.monotonic() + 60
    with pytest.raises(BusGone, match="silent"):
        bus.read()
    bus.socket.close()
    talk.bus.close()
