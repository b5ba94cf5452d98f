"""Fixtures for windows of a real browser on a real Parlor; deploy/test-browser runs these tests."""

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
    """A Parlor that tests share and must not harm."""
    parlor = Parlor("one", tmp_path_factory.mktemp("parlor"))
    yield parlor
    assert parlor.stop() == 0, parlor.process.log()


@pytest.fixture
def own_parlor(tmp_path):
    """A Parlor that a test may stop and start again."""
    parlor = Parlor("one", tmp_path / "parlor")
    yield parlor
    if parlor.process.is_running():
        assert parlor.stop() == 0, parlor.process.log()


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The links of a `parlor --demo`, by the person whom they sign in."""
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
    """The browsers that all tests share, because starting one takes seconds."""
    browsers = []
    yield browsers
    for browser in browsers:
        browser.close()


@pytest.fixture
def open_window(request, browsers):
    """Opens windows, each with a storage of its own. A violation of the page's policy in a window fails the test."""
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
    """A room of two people, open in one window for each."""
    room = ada.room_with(ben, "Kitchen")
    first, second = open_window(), open_window()
    first.enter(ada, room)
    second.enter(ben, room)
    for window in (first, second):
        window.shows(".presence.is-here")
    return first, second, room
