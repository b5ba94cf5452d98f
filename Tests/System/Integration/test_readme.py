"""The README is true: its session works word by word, and its table is what the executables say."""

import re
import subprocess
import sys

from parlor import ROOT, SERVICES
from test_settings import EXECUTABLES, settings_of

README = (ROOT / "README.md").read_text()


def settings_table() -> str:
    """A row for each setting: flag, name, default, what it does, and whose it is if not everyone's."""
    known = {}
    for program in EXECUTABLES:
        for setting in settings_of(program):
            known.setdefault(setting, []).append(program.removeprefix("parlor-"))
    rows = ["| flag | environment | of | default | |", "| --- | --- | --- | --- | --- |"]
    for (flag, name, what, default), programs in known.items():
        # `parlor` is all of them but the bus: it says nothing about whose a setting is.
        owners = [program for program in programs if program != "parlor"]
        of = "all" if len(owners) == len(EXECUTABLES) - 1 else "services" if len(owners) == len(SERVICES) else ", ".join(owners)
        of = "all but the bus" if len(owners) == len(SERVICES) + 1 and "bus" not in owners else of
        shown = f"`{default}`" if default else ""
        rows.append(f"| `{flag}` | `{name}` | {of} | {shown} | {what} |")
    return "\n".join(rows)


def test_the_table_of_settings_is_what_help_says():
    assert settings_table() in README, f"it should be:\n{settings_table()}"


def test_every_file_and_folder_it_names_exists():
    named = set(re.findall(r"`((?:Clients|Services|Shared|Tests|deploy|docs)/[^\s`]*)`", README))
    assert named and not [name for name in named if not (ROOT / name).exists()]


def test_the_first_session_works_as_it_stands(parlor, tmp_path):
    session = README.split("## A first session")[1].split("\n## ")[0]
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```", session, re.MULTILINE | re.DOTALL))
    assert "http://127.0.0.1:8080" in script and ".venv/bin/python" in script
    script = script.replace("http://127.0.0.1:8080", parlor.address).replace(".venv/bin/python", sys.executable)
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=50)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    for line in ('"unseenElementCount": 1', '"text": "Tea is ready"', "ada hears message:new", "ben hears message:new"):
        assert line in ran.stdout, ran.stdout
