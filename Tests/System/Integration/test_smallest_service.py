"""The smallest service of Examples/README.md runs as it stands there, beside a Parlor of separate processes that restarts or is
already running, and says what is wrong with it."""

import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from parlor import ROOT, START_DEADLINE, Process, until
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
def hello(parlor, folder, code: str = CODE, token=None):
    (folder / "hello.py").write_text(code)
    process = Process(
        sys.executable, "hello.py", parlor.data / "bus.url", "hello.db", cwd=folder,
        environment={"BUS_TOKEN_FILE": str(token or parlor.data / "bus/hello.token"), **EXAMPLES})  # fmt: skip
    try:
        if not token:
            process.wait_until_ready()
        yield process
    finally:
        process.kill()


def tokens_of(parlor) -> dict[str, str]:
    return {path.stem: path.read_text() for path in parlor.data.glob("bus/*.token")}


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


async def test_it_denies_what_people_write(parlor, tmp_path):
    declared, answered = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[1].split("\n\n")
    code = CODE.replace('        "hasEventLog"', f'{declared}\n        "hasEventLog"').replace("        greeting =", f"{answered}        greeting =")
    with hello(parlor, tmp_path, code):
        async with World(parlor) as world:
            ada, _, room = await world.pair()
            await answer(ada)
            path = f"/api/rooms/{room['id']}/messages"
            denied = await ada.request("POST", path, {"text": "a pox on it"})
            assert (denied.status_code, denied.json()["error"]["code"]) == (422, "rude_words")
            assert (await ada.request("POST", path, {"text": "a fox in it"})).status_code == 201


async def test_while_it_runs_parlor_restarts_with_its_bus_on_the_same_port_or_on_another_if_that_is_taken(parlor, tmp_path):
    with hello(parlor, tmp_path):
        async with World(parlor) as world:
            ada = await world.person("ada")
            assert (await answer(ada))[0] == 200
            before, tokens = (parlor.data / "bus.url").read_text(), tokens_of(parlor)
            assert parlor.stop() == 0
            parlor.start_again()
            assert (parlor.data / "bus.url").read_text() == before
            # A service in another language may read its token once. Those of Parlor's own programs are useless after their end.
            assert {name for name, token in tokens_of(parlor).items() if token == tokens[name]} == {"hello"}
            assert (await answer(ada))[0] == 200
            assert parlor.stop() == 0
            with socket.create_server(("127.0.0.1", urlsplit(before).port)):
                parlor.start_again()
                assert (parlor.data / "bus.url").read_text() != before
                assert "is taken" in parlor.process.log()
                assert (await answer(ada))[0] == 200


async def test_it_is_added_to_a_parlor_that_runs_and_taken_from_it(start, tmp_path):
    plugins = tmp_path / "plugins"
    plugins.write_text("# none yet\n")
    parlor = start("separate", "--with", plugins)
    children = parlor.children()

    def read_again(text: str):
        plugins.write_text(text)
        parlor.process.signal(signal.SIGHUP)

    read_again(RIGHTS)
    until((parlor.data / "bus/hello.token").exists)
    with hello(parlor, tmp_path) as process:
        async with World(parlor) as world:
            ada = await world.person("ada")
            assert (await answer(ada))[0] == 200
            read_again(RIGHTS.replace("}", ',"requests":["rooms.membership"]}'))
            until(lambda: "line 1 has `requests`, which is none of" in parlor.process.log())
            assert (await answer(ada))[0] == 200 and process.log() == ""
            read_again("")
            until(lambda: "the table of peers has changed" in process.log())
            assert (await ada.request("GET", "/api/hello")).status_code == 503
    assert parlor.children() == children and "peers read again" in parlor.process.log()


def test_with_a_wrong_token_it_says_so_and_is_ready_once_the_token_is_right(parlor, tmp_path):
    token = tmp_path / "token"
    token.write_text("a token that the bus does not know")
    with hello(parlor, tmp_path, token=token) as process:
        until(lambda: process.log())
        assert process.log().endswith(f"BUS_TOKEN_FILE ({token}): the token is not this bus's token\n")
        token.write_text((parlor.data / "bus/hello.token").read_text())
        process.wait_until_ready()
        assert process.log().count("\n") == 1


async def test_a_right_that_it_lacks_is_named_in_its_log_and_204_needs_no_data(parlor, tmp_path):
    code = CODE.replace("        greeting =", """        if data.get("greeting") == "ask":
            self.ask("rooms.membership", {"roomId": "it"})
        if data.get("greeting") == "nothing":
            return {"status": 204}
        greeting =""")
    with hello(parlor, tmp_path, code) as process:
        async with World(parlor) as world:
            ada = await world.person("ada")
            await answer(ada)
            assert (await ada.request("GET", "/api/hello?greeting=ask")).status_code == 503
            assert process.log() == "rooms.membership: forbidden\n"
            assert (await ada.request("GET", "/api/hello?greeting=nothing")).status_code == 204


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
        (('"needsLogin": True, ', ""), "manifest.routes[0] has no needsLogin"),
        (("hello.greet", "greet"), r"manifest.routes[0].subject is 'greet', which is not hello\..+"),
    ],
)
def test_a_mistake_in_the_manifest_stops_the_start(tmp_path, change, message):
    (tmp_path / "hello.py").write_text(CODE.replace(*change))
    run = subprocess.run(
        [sys.executable, "hello.py", "tcp://127.0.0.1:1", "hello.db"], cwd=tmp_path, env=EXAMPLES, capture_output=True, text=True,
        timeout=START_DEADLINE)  # fmt: skip
    assert run.returncode == 1
    assert run.stderr == f"{message}\n"
