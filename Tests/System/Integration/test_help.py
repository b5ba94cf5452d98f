"""The scripts in deploy/ say what they do, and neither install nor build anything for that."""

import re
import subprocess

import pytest
from parlor import ROOT

SCRIPTS = [path for path in (ROOT / "deploy").iterdir() if path.is_file() and re.search(r"^source .*/setup.sh", path.read_text(), re.MULTILINE)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_is_the_comment_at_the_top_and_needs_no_toolchain(script, flag, tmp_path):
    shown = subprocess.run(
        [script, flag], cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=10
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = script.read_text().splitlines()[1:]
    top = [line[2:] for line in lines[: next(number for number, line in enumerate(lines) if not line.startswith("#"))]]
    assert shown.stdout.splitlines() == top and top[0].startswith(f"deploy/{script.name}")


def test_help_of_up_may_stand_anywhere():
    shown = subprocess.run(
        [ROOT / "deploy/up", "--separate", "--help"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=10
    )
    assert shown.returncode == 0 and shown.stdout.startswith("deploy/up [--separate]")
