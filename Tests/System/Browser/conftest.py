"""Windows of a real browser on a real Parlor; deploy/test-browser runs what is here."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "Integration"))

from parlor import Parlor  # noqa: E402
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


@pytest.fixture
def ada(parlor):
    return Person(parlor.address)


@pytest.fixture
def ben(parlor):
    return Person(parlor.address)


@pytest.fixture
def open_window(request):
    """Opens windows, each with storage of its own. What a window reports against the page's policy fails the test."""
    windows = []

    def open_window(**options) -> Window:
        windows.append(Window(**options))
        return windows[-1]

    yield open_window
    reports = []
    for number, window in enumerate(windows):
        if folder := os.environ.get("BROWSER_PICTURES"):
            window.save_picture(Path(folder) / f"{request.node.name}-{number}.png")
        reports += window.reports()
        window.close()
    assert not reports
