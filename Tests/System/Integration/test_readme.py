"""The README is correct: everything that it names exists. The session of docs/start.md works word by word, and again."""

import re
import subprocess
import sys

from parlor import ROOT

README = (ROOT / "README.md").read_text()
START = (ROOT / "docs/start.md").read_text()


def test_every_file_and_folder_it_names_exists():
    named = set(re.findall(r"`((?:Clients|Services|Shared|Tests|deploy|docs)/[^\s`]*)`", README))
    named |= set(re.findall(r"\]\(((?!https?:)[^)#]+)\)", README))
    assert named and not [name for name in named if not (ROOT / name).exists()]


def test_the_first_session_works_as_it_stands(parlor, tmp_path):
    session = START.split("## A first session")[1].split("\n## ")[0]
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```", session, re.MULTILINE | re.DOTALL))
    assert "http://127.0.0.1:8080" in script and ".venv/bin/python" in script
    script = script.replace("http://127.0.0.1:8080", parlor.address).replace(".venv/bin/python", sys.executable)
    for _ in range(2):  # the second time, the people exist already
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=50)  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        for line in ('"unseenElementCount": 1', '"text": "Tea is ready"', "ada received message:new", "ben received message:new"):
            assert line in ran.stdout, ran.stdout
