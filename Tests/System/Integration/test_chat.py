"""parlor-chat as two people see it: real terminals (tmux), and a real server that fails and returns."""

import os
import re
import subprocess
import time

import pytest

from parlor import binaries

PATIENCE = 20  # seconds


class Terminal:
    """A tmux terminal in which the program runs."""

    def __init__(self, tmux, size: tuple[int, int], name: str, *arguments: str):
        self.tmux, self.name = tmux, name
        columns, rows = map(str, size)
        program = str(binaries() / "parlor-chat")
        self.tmux("new-session", "-d", "-s", name, "-x", columns, "-y", rows, "--", program, *arguments)

    def type(self, *keys: str):
        self.tmux("send-keys", "-t", self.name, *keys)

    def write(self, text: str):
        self.tmux("send-keys", "-t", self.name, "-l", text)
        self.type("Enter")

    def ends(self):
        end = time.monotonic() + PATIENCE
        while self.name in self.tmux("list-sessions", "-F", "#S").split():
            assert time.monotonic() < end, f"{self.name} does not end:\n{self.screen()}"
            time.sleep(0.05)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", self.name)

    def shows(self, pattern: str) -> re.Match:
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, screen := self.screen())):
            assert time.monotonic() < end, f"no {pattern!r} on the screen of {self.name}:\n{screen}"
            time.sleep(0.05)
        return found


@pytest.fixture(params=[(80, 20), (80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
def size(request):
    """The columns and rows of a terminal."""
    return request.param


@pytest.fixture
def tmux(tmp_path):
    """Runs a command on this test's own tmux server."""
    environment = os.environ | {"PARLOR_PASSWORD": "correct horse", "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}

    def run(*arguments: str) -> str:
        command = ["tmux", "-S", str(tmp_path / "tmux"), "-u", "-f", "/dev/null", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    yield run
    subprocess.run(["tmux", "-S", str(tmp_path / "tmux"), "kill-server"], capture_output=True)


def test_two_people_chat_in_terminals_and_a_message_typed_while_the_server_is_away_arrives(start, tmux, size, tmp_path):
    server = start("one")
    address = server.address

    def sign_in(name):
        return Terminal(tmux, size, name, address, "--user", name, "--register", "--data", str(tmp_path / name))

    ben = sign_in("ben")
    ben.shows("No rooms yet")
    ada = sign_in("ada")
    ada.shows("No rooms yet")
    ada.shows("connected")
    ada.type("+")
    ada.shows("› ben")
    ada.type("Enter")
    ada.shows("A room with ben")
    ada.write("Plans")
    ada.shows("› Plans  ben, 0 elements")
    ben.shows("› Plans  ada, 0 elements")

    ada.type("Enter")
    ada.shows("(?m)^>")
    ada.write("Hello Ben")
    ada.shows("You: Hello Ben  ✓")
    ben.shows(r"Plans .*\(1\)")
    ben.type("Enter")
    ben.shows("ada: Hello Ben")
    ada.shows("You: Hello Ben  ✓✓")
    ben.type("w")
    ada.shows("ben is typing…")
    ada.write("/note milk")
    ben.shows("1 element,")

    assert server.stop() == 0
    ada.shows("offline|cannot be reached")
    ada.write("typed while away")
    ada.shows("typed while away  …")
    server.start_again()
    ada.shows("typed while away  ✓")
    ben.shows("ada: typed while away")
    ada.type("Escape")
    ada.shows("› .*Plans")
    ada.type("q")
    ben.type("C-c")


def test_sessions_are_kept_for_each_person_and_what_could_not_be_sent_waits(start, tmux, size, tmp_path):
    server = start("one")

    def run(name, *arguments):
        return Terminal(tmux, size, name, server.address, "--data", str(tmp_path / "shared"), *arguments)

    ada = run("ada", "--user", "ada", "--register")
    ada.shows("Rooms of ada")
    ben = run("ben", "--user", "ben", "--register")
    ben.shows("Rooms of ben")
    ada.type("+")
    ada.shows("› ben")
    ada.type("Enter")
    ada.shows("A room with ben")
    ada.write("Plans")
    ben.shows("› Plans  ada")
    ben.type("p")
    ben.shows("(?m)^People")
    ben.shows("(?m)^ ada *$")
    ben.shows("› Plans")
    ben.type("Enter")
    ben.shows("(?m)^>")
    ben.write("/note milk")
    ben.shows("The note is on the board.")
    ben.write("/board")
    ben.shows("The board of Plans")
    ben.shows("• milk")
    ben.type("Escape")

    # Too long for the server: it stays in the input.
    tmux("set-buffer", "x" * 5000)
    tmux("paste-buffer", "-p", "-t", "ben")
    ben.type("Enter")
    ben.shows("1000 characters too many. The message is not sent.")
    ben.type("C-u")
    ben.shows("(?m)^> *$")

    other = subprocess.run(
        [binaries() / "parlor-chat", server.address, "--data", str(tmp_path / "shared"), "--sign-out", "--user", "ada"],
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert (other.returncode, "another parlor-chat is using ada here" in other.stderr) == (1, True)

    ada.type("q")
    ada.ends()
    again = run("again", "--user", "ada")
    again.shows("Rooms of ada")
    again.type("q")
    again.ends()
    last = run("last")
    last.shows("Rooms of ada")
    last.type("q")
    ben.type("C-c")


def test_what_cannot_be_is_said_in_a_line(tmp_path):
    def run(*arguments, **variables):
        return subprocess.run(
            [binaries() / "parlor-chat", *arguments, "--data", str(tmp_path)], env=os.environ | variables,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip

    assert run("--what").returncode == 2
    nobody = run()
    assert (nobody.returncode, nobody.stderr) == (
        1, "parlor-chat: nobody is signed in: start with --user NAME (and with --register for a new account)\n",
    )  # fmt: skip
    nowhere = run("http://127.0.0.1:1", "--user", "ada", PARLOR_PASSWORD="correct horse")
    assert (nowhere.returncode, nowhere.stderr) == (1, "parlor-chat: The server cannot be reached.\n")


