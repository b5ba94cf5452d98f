import json
import os

import pytest
from parlor import Cluster, Parlor, Remote
from people import World


def pytest_collection_modifyitems(items):
    """Runs the tests that use `own_parlor` last. The others share one Parlor of each form, which stops before that of the
    other form starts."""
    items.sort(key=lambda item: "own_parlor" in item.fixturenames)


@pytest.fixture(scope="session", params=["one", "separate"] if "PARLOR_URL" not in os.environ else ["remote"])
def parlor(request, tmp_path_factory):
    """A Parlor that tests share and must not harm. PARLOR_URL names one that already runs."""
    if request.param == "remote":
        yield Remote(os.environ["PARLOR_URL"])
        return
    parlor = Parlor(request.param, tmp_path_factory.mktemp(request.param))
    yield parlor
    assert parlor.process.is_running(), f"it has ended\n{parlor.process.log()}"
    assert parlor.stop() == 0, parlor.process.log()


@pytest.fixture
async def world(parlor):
    async with World(parlor) as world:
        yield world


@pytest.fixture
def start(tmp_path):
    """Starts Parlors for a single test."""
    started = []

    def start(form: str, *flags: str) -> Parlor:
        parlor = Parlor(form, tmp_path / f"data-{len(started)}", *flags)
        started.append(parlor)
        return parlor

    yield start
    for parlor in started:
        if parlor.process.is_running():
            assert parlor.stop() == 0, parlor.process.log()


@pytest.fixture
def start_with(start, tmp_path, monkeypatch):
    """Starts a Parlor of separate processes on the TCP bus, to which a test adds a service with these rights."""

    def start_with(rights: dict) -> Parlor:
        monkeypatch.delenv("BUS_URL", raising=False)
        monkeypatch.delenv("DATABASE_URL", raising=False)
        plugins = tmp_path / "plugins"
        plugins.write_text(json.dumps(rights))
        return start("separate", "--with", plugins)

    return start_with


@pytest.fixture(params=["one", "separate"])
def own_parlor(request, start):
    """A Parlor for a single test, which may stop and damage it."""
    return start(request.param)


@pytest.fixture
async def own_world(own_parlor):
    async with World(own_parlor) as world:
        yield world


@pytest.fixture
def cluster(tmp_path):
    """Separate processes without a parent that restarts what a test ends."""
    cluster = Cluster(tmp_path / "data")
    yield cluster
    cluster.stop()
