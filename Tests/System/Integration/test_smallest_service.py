"""The smallest service of Examples/README.md runs as it stands there, beside a Parlor of separate processes."""

import re
import sys

from parlor import ROOT, Process
from people import World, eventually

PAGE = (ROOT / "Examples/README.md").read_text()
CODE = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
RIGHTS = re.search(r'`(\{"service":"hello".*?\})`', PAGE)[1]


async def test_the_smallest_service_answers(start, tmp_path):
    plugins = tmp_path / "plugins"
    plugins.write_text(RIGHTS)
    parlor = start("separate", "--with", plugins)
    (tmp_path / "hello.py").write_text(CODE)
    url = (parlor.data / "bus.url").read_text().strip()
    hello = Process(
        sys.executable, "hello.py", url, cwd=tmp_path,
        environment={"BUS_TOKEN_FILE": str(parlor.data / "bus/hello.token"), "PYTHONPATH": str(ROOT / "Examples")})  # fmt: skip
    try:
        hello.wait_until_ready()
        async with World(parlor) as world:
            ada = await world.person("ada")

            async def greeted():
                answer = await ada.request("GET", "/api/hello")
                return answer.status_code == 200 and answer.json() == {"data": {"text": "Hello Ada"}}

            await eventually(greeted)
    finally:
        hello.kill()
