"""How deploy/test counts the tests of a step, by what they print."""

import subprocess
import sys

import pytest
from parlor import ROOT

LOGS = {
    "✔ Test run with 3 tests in 1 suite passed after 0.1 seconds.": "3 0",
    "✘ Test a() recorded an issue at A.swift:1:2: no\n✘ Test a() failed after 0.1 seconds with 1 issue.\n"
    "✘ Suite A failed after 0.1 seconds with 1 issue.\n✘ Test run with 3 tests in 1 suite failed after 0.1 seconds with 1 issue.": "2 1",
    "= 2 failed, 5 passed, 1 skipped in 0.50s =": "5 2",
    "4 passed in 1.00s": "4 0",
    "1 error in 0.10s": "0 1",
    "Killed": "0 0",
}


@pytest.mark.parametrize(("log", "counts"), LOGS.items(), ids=[text.splitlines()[-1][:24] for text in LOGS])
def test_passed_and_failed_tests_are_counted(log, counts, tmp_path):
    (tmp_path / "log").write_text(log + "\n")
    command = [sys.executable, ROOT / "deploy/count-tests.py", tmp_path / "log"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == counts + "\n"
