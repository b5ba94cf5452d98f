"""The scripts in deploy/ say what they do, and neither install nor build anything for that."""

import re
import subprocess

import pytest
from parlor import ROOT

SCRIPTS = [path for path in (ROOT / "deploy").iterdir() if path.is_file() and re.search(r"^source .*/setup.sh", path.read_text(), re.MULTILINE)]


def help_of(script, *arguments, folder):
    shown = subprocess.run(
        [script, *arguments], cwd=folder, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=60
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    return shown.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_is_the_comment_at_the_top_and_needs_no_toolchain(script, flag, tmp_path):
    lines = script.read_text().splitlines()[1:]
    top = [line[2:] for line in lines[: next(number for number, line in enumerate(lines) if not line.startswith("#"))]]
    assert top[0].startswith(f"deploy/{script.name}")
    assert help_of(script, flag, folder=tmp_path).splitlines() == top
    if not re.search("^own_arguments=", script.read_text(), re.MULTILINE):
        assert help_of(script, "--seconds", "2", flag, folder=tmp_path).splitlines() == top
