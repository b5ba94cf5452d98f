"""Many attacking connections on one thread: what each sends, how it reads, and how it ends."""

import heapq
import itertools
import select
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import wire
from attack import Fate, Target

CHUNK = 256 * 1024


@dataclass(frozen=True)
class Script:
    """The behaviour of one connection."""

    opening: bytes = b""
    # What must arrive before the rest is sent.
    awaits: bytes = b""
    # Sent once after it.
    then: bytes = b""
    # Sent again and again after that, as fast as the server takes it. A function makes the bytes anew each time.
    repeat: bytes | Callable[[], bytes] = b""
    # Where set, `repeat` is sent again only so many seconds after `answer` has come.
    pause: float | None = None
    answer: bytes = b"HTTP/1.1 "
    # Whether the first `repeat` waits for such an answer to `then`.
    waits_first: bool = False
    # `drip` is sent every `every` seconds.
    drip: bytes = b""
    every: float = 0
    # Once it repeats, what it reads is not looked at.
    discards: bool = False
    # How much it reads: all there is (None), or so many bytes each second. With 0 it reads nothing after what it awaits.
    reads: int | None = None
    # The seconds between two reads, each of a part of that.
    reads_every: float = 1
    receive_buffer: int | None = None
    source: str = ""
    port: int = 0
    # The seconds after which it resets the connection; 0 for never.
    leaves_after: float = 0


class Connection:
    """A script that is being played."""

    def __init__(self, script: Script, opened: socket.socket):
        self.script, self.socket = script, opened
        self.connected = False
        self.out = memoryview(script.opening if script.opening else script.then)
        self.stage = "opening" if script.opening else "then"
        self.received = bytearray()
        self.may_repeat = not script.waits_first
        # The end of what was read, in which an answer may have begun.
        self.tail = b""
        self.is_websocket = False
        self.status = self.close_code = None
        self.mask = 0

    @property
    def reads_now(self) -> bool:
        return self.script.reads is None or self.stage in ("opening", "awaiting")

    @property
    def repeats_now(self) -> bool:
        return self.stage == "repeat" and bool(self.script.repeat) and self.may_repeat


class Swarm:
    """Plays scripts until the target's end.

    - reopens: whether another connection follows where one has ended.
    - openings: how many are opened in a second, at most.
    """

    def __init__(self, target: Target, fate: Fate, *, reopens: bool = True, openings: int = 3000):
        self.target, self.fate = target, fate
        self.reopens, self.openings = reopens, openings
        self.poll = select.epoll()
        self.connections: dict[int, Connection] = {}
        self.waiting: list[tuple[float, int, Callable[[], None]]] = []
        self.order = itertools.count()
        self.budget = 0.0

    def run(self, scripts: Iterator[Script], count: int, until: Callable[[], bool] = lambda: False):
        """Holds `count` connections more, each with the next script. `until` can end it before the target's end."""
        wanted, last = count, time.monotonic()
        sampled = 0.0
        while (now := time.monotonic()) < self.target.end:
            self.budget = min(self.budget + (now - last) * self.openings, self.openings / 10)
            last = now
            while wanted > 0 and self.budget >= 1:
                self.budget -= 1
                wanted -= 1
                self.begin(next(scripts))
            while self.waiting and self.waiting[0][0] <= now:
                heapq.heappop(self.waiting)[2]()
            for descriptor, events in self.poll.poll(0.005 if wanted else 0.05, 512):
                if connection := self.connections.get(descriptor):
                    wanted += self.serve(connection, events)
            if now - sampled > 0.25:
                sampled = now
                self.fate.holds(sum(1 for connection in self.connections.values() if connection.connected))
                if until():
                    return

    def later(self, seconds: float, what: Callable[[], None]):
        heapq.heappush(self.waiting, (time.monotonic() + seconds, next(self.order), what))

    def begin(self, script: Script):
        opened = self.target.make_socket(script.source, script.receive_buffer)
        opened.setblocking(False)
        connection = Connection(script, opened)
        self.fate.opened += 1
        try:
            opened.connect((self.target.host, script.port or self.target.port))
        except BlockingIOError:
            pass
        except OSError as error:
            opened.close()
            self.fate.ended(f"no connection ({error.strerror})")
            if self.reopens:
                self.later(0.05, lambda: self.begin(script))
            return
        self.watch(connection)

    def watch(self, connection: Connection):
        descriptor = connection.socket.fileno()
        self.connections[descriptor] = connection
        connection.mask = select.EPOLLOUT | select.EPOLLRDHUP | (select.EPOLLIN if connection.reads_now else 0)
        self.poll.register(descriptor, connection.mask)
        if connection.script.leaves_after:
            self.later(connection.script.leaves_after, lambda: self.leave(connection))

    def update(self, connection: Connection):
        sends = connection.out or connection.stage == "then" or connection.repeats_now
        mask = select.EPOLLRDHUP | (select.EPOLLIN if connection.reads_now else 0) | (select.EPOLLOUT if sends else 0)
        if mask != connection.mask:
            connection.mask = mask
            self.poll.modify(connection.socket.fileno(), mask)

    def serve(self, connection: Connection, events: int) -> int:
        """Returns how many connections should be opened to replace this one."""
        if not connection.connected:
            if error := connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                return self.end(connection, f"no connection ({error})")
            connection.connected = True
        try:
            if events & select.EPOLLIN and connection.reads_now:
                data = connection.socket.recv(CHUNK)
                if not data:
                    return self.end(connection, "closed")
                self.take(connection, data)
            if events & select.EPOLLOUT:
                self.send(connection)
            if events & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR):
                return self.end(connection, self.last_words(connection))
        except BlockingIOError:
            pass
        except OSError:
            return self.end(connection, self.last_words(connection))
        if connection.socket is not None:
            self.update(connection)
        return 0

    def send(self, connection: Connection):
        script = connection.script
        for _ in range(4):
            if not connection.out:
                if connection.stage == "opening":
                    connection.stage = "awaiting" if script.awaits else "then"
                    if not script.awaits:
                        connection.out = memoryview(script.then)
                    self.pass_on(connection)
                elif connection.stage == "then":
                    connection.stage = "repeat"
                    self.start_timers(connection)
                if connection.repeats_now:
                    connection.out = memoryview(script.repeat() if callable(script.repeat) else script.repeat)
                    connection.may_repeat = script.pause is None
                if not connection.out:
                    if connection.stage in ("awaiting", "repeat"):
                        return
                    continue
            sent = connection.socket.send(connection.out[:CHUNK])
            self.fate.sent += sent
            connection.out = connection.out[sent:]

    def pass_on(self, connection: Connection):
        """Continues a script whose awaited bytes may have arrived already."""
        script = connection.script
        if connection.stage == "awaiting" and script.awaits in connection.received:
            connection.stage = "then"
            connection.out = memoryview(script.then)

    def start_timers(self, connection: Connection):
        script = connection.script
        if script.every:
            self.later(script.every, lambda: self.drip(connection))
        if script.reads:
            self.later(script.reads_every, lambda: self.read_some(connection))

    def drip(self, connection: Connection):
        if connection.socket is None:
            return
        if not connection.out:
            connection.out = memoryview(connection.script.drip)
            self.update(connection)
        self.later(connection.script.every, lambda: self.drip(connection))

    def read_some(self, connection: Connection):
        if connection.socket is None:
            return
        script = connection.script
        try:
            if data := connection.socket.recv(max(1, int(script.reads * script.reads_every))):
                self.take(connection, data)
        except BlockingIOError:
            pass
        except OSError:
            return
        self.update(connection)
        self.later(script.reads_every, lambda: self.read_some(connection))

    def take(self, connection: Connection, data: bytes):
        self.fate.received += len(data)
        if connection.script.discards and connection.stage == "repeat" and connection.may_repeat:
            return
        if connection.script.pause is not None:
            self.look_for_answer(connection, data)
        if connection.is_websocket or connection.script.awaits:
            connection.received += data
        for status in wire.STATUS.findall(data) if not connection.is_websocket else ():
            connection.status = status.decode()
            self.fate.answered(connection.status)
            if status == b"101":
                connection.is_websocket = True
                begin = connection.received.find(wire.HEAD_END)
                if begin >= 0 and not connection.script.awaits:
                    del connection.received[: begin + 4]
        self.pass_on(connection)
        if connection.is_websocket and connection.stage not in ("opening", "awaiting"):
            self.take_frames(connection)

    def look_for_answer(self, connection: Connection, data: bytes):
        script = connection.script
        seen = connection.tail + data
        # Shorter than `answer`, so that each occurrence is found only once.
        connection.tail = seen[-(len(script.answer) - 1) :]
        if script.answer in seen and connection.stage == "repeat" and not connection.may_repeat:
            self.later(script.pause, lambda: self.repeat(connection))

    def repeat(self, connection: Connection):
        if connection.socket is not None:
            connection.may_repeat = True
            self.update(connection)

    def take_frames(self, connection: Connection):
        begin = connection.received.find(wire.HEAD_END)
        if connection.received.startswith(b"HTTP/1.1 101") and begin >= 0:
            del connection.received[: begin + 4]
        while taken := wire.take_frame(connection.received):
            opcode, payload = taken
            if opcode == wire.CLOSE:
                connection.close_code = wire.close_code(payload)
            elif opcode == wire.TEXT and payload == b"2" and not connection.out:
                # The server's ping. A client that does not answer it would be cut off for that alone.
                connection.out = memoryview(wire.frame("3"))

    def last_words(self, connection: Connection) -> str:
        """Takes the bytes that arrived before a connection's end, and returns how it ended."""
        try:
            for _ in range(64):
                data = connection.socket.recv(CHUNK)
                if not data:
                    return "closed"
                self.take(connection, data)
        except BlockingIOError:
            return "closed"
        except OSError:
            pass
        return "reset"

    def end(self, connection: Connection, how: str) -> int:
        descriptor = connection.socket.fileno()
        self.poll.unregister(descriptor)
        del self.connections[descriptor]
        connection.socket.close()
        connection.socket = None
        if connection.close_code is not None:
            how = f"close code {connection.close_code}"
        elif connection.status and connection.status >= "400":
            how = connection.status
        self.fate.ended(how)
        return 1 if self.reopens else 0

    def leave(self, connection: Connection):
        if connection.socket is None:
            return
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        descriptor = connection.socket.fileno()
        self.poll.unregister(descriptor)
        del self.connections[descriptor]
        connection.socket.close()
        connection.socket = None
        if self.reopens:
            self.begin(connection.script)
