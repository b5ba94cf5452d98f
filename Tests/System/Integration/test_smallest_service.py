"""The smallest service of Examples/README.md runs as it stands there, beside a Parlor of separate processes, and says what is
wrong with it."""

import re
import subprocess
import sys
from contextlib import contextmanager

import pytest
from parlor import ROOT, START_DEADLINE, Process
from people import World, eventually

PAGE = (ROOT / "Examples/README.md").read_text()
CODE = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
RIGHTS = re.search(r'`(\{"service":"hello".*?\})`', PAGE)[1]
EXAMPLES = {"PYTHONPATH": str(ROOT / "Examples")}


@pytest.fixture
def parlor(start, tmp_path):
    plugins = tmp_path / "plugins"
    plugins.write_text(RIGHTS)
    return start("separate", "--with", plugins)


@contextmanager
def hello(parlor, folder, code: str = CODE):
    (folder / "hello.py").write_text(code)
    process = Process(
        sys.executable, "hello.py", (parlor.data / "bus.url").read_text().strip(), "hello.db", cwd=folder,
        environment={"BUS_TOKEN_FILE": str(parlor.data / "bus/hello.token"), **EXAMPLES})  # fmt: skip
    try:
        process.wait_until_ready()
        yield process
    finally:
        process.kill()


async def answer(person, path: str = "/api/hello"):
    """Returns the status and the body, once the gateway knows the service."""

    async def is_known():
        answer = await person.request("GET", path)
        return answer if answer.status_code not in (404, 503) else None

    answer = await eventually(is_known)
    return answer.status_code, answer.json()


async def test_the_smallest_service_answers(parlor, tmp_path):
    with hello(parlor, tmp_path):
        async with World(parlor) as world:
            ada = await world.person("ada")
            assert await answer(ada) == (200, {"data": {"text": "Hello Ada"}})
            assert await answer(ada, "/api/hello?greeting=Hi") == (200, {"data": {"text": "Hi Ada"}})
            status, refused = await answer(ada, "/api/hello?greeting=Bah")
            assert (status, refused["error"]["code"]) == (422, "invalid_field")


@pytest.mark.parametrize("mistake", ["caller.nobody", "return", "open('/nonexistent')"])
async def test_a_mistake_in_an_answer_is_logged_and_the_service_goes_on(parlor, tmp_path, mistake):
    code = CODE.replace("        if greeting not in", f"        if greeting == 'Ouch':\n            {mistake}\n        if greeting not in")
    with hello(parlor, tmp_path, code) as process:
        async with World(parlor) as world:
            ada = await world.person("ada")
            for _ in range(2):
                status, failed = await answer(ada, "/api/hello?greeting=Ouch")
                assert (status, failed["error"]["code"]) == (500, "internal_error")
            assert (await answer(ada))[0] == 200
            assert "greet: " in process.log()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"needsLogin": True, "answer": "plain"', ""), "has no needsLogin, answer"),
        (("hello.greet", "greet"), "does not begin with hello."),
    ],
)
def test_a_mistake_in_the_manifest_stops_the_start(tmp_path, change, message):
    (tmp_path / "hello.py").write_text(CODE.replace(*change))
    run = subprocess.run(
        [sys.executable, "hello.py", "tcp://127.0.0.1:1", "hello.db"], cwd=tmp_path, env=EXAMPLES, capture_output=True, text=True,
        timeout=START_DEADLINE)  # fmt: skip
    assert run.returncode == 1
    assert message in run.stderr.splitlines()[-1]
