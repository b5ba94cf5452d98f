"""Windows of a real browser on a real Parlor; deploy/test-browser runs what is here."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "Integration"))

from parlor import Parlor, Process, binaries  # noqa: E402
from api_people import Person  # noqa: E402
from window import Window  # noqa: E402


@pytest.fixture(scope="session")
def parlor(tmp_path_factory):
    """One that tests share: they may not harm it."""
    parlor = Parlor("one", tmp_path_factory.mktemp("parlor"))
    yield parlor
    assert parlor.stop() == 0, parlor.process.log()


@pytest.fixture
def own_parlor(tmp_path):
    """One to be stopped and started again."""
    parlor = Parlor("one", tmp_path / "parlor")
    yield parlor
    if parlor.process.is_running():
        assert parlor.stop() == 0, parlor.process.log()


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The links of a `parlor --demo`, by whom they sign in as."""
    folder = tmp_path_factory.mktemp("demo")
    process = Process(binaries() / "parlor", "--demo", "--port", 0, environment={"TMPDIR": str(folder)})
    yield dict(process.process.stdout.readline().split(": ") for _ in range(2))
    assert process.stop() == 0, process.log()


@pytest.fixture
def ada(parlor):
    return Person(parlor.address)


@pytest.fixture
def ben(parlor):
    return Person(parlor.address)


@pytest.fixture(scope="session")
def browsers():
    """Starting one takes seconds, so all tests use the same."""
    browsers = []
    yield browsers
    for browser in browsers:
        browser.close()


@pytest.fixture
def open_window(request, browsers):
    """Opens windows, each with a storage of its own. What a window reports against the page's policy fails the test."""
    opened = []

    def open_window(**options) -> Window:
        if len(opened) == len(browsers):
            browsers.append(Window())
        window = browsers[len(opened)]
        window.reset(**options)
        opened.append(window)
        return window

    yield open_window
    reports = []
    for number, window in enumerate(opened):
        if folder := os.environ.get("BROWSER_PICTURES"):
            window.save_picture(Path(folder) / f"{request.node.name}-{number}.png")
        reports += window.reports()
    for window in opened:
        window.reset()
    assert not reports


@pytest.fixture
def pair(ada, ben, open_window):
    """A room of two people, open in a window of each."""
    room = ada.room_with(ben, "Kitchen")
    first, second = open_window(), open_window()
    first.enter(ada, room)
    second.enter(ben, room)
    for window in (first, second):
        window.shows(".presence.is-here")
    return first, second, room
