"""The client library against real servers, by client-journey (Tests/System/Journey)."""

import subprocess

import pytest

from parlor import binaries


@pytest.mark.parametrize("form", ["one", "separate"])
def test_two_clients_one_cut_off_in_the_middle_of_500_sends_end_as_the_server_has_it(start, form):
    parlor = start(form)
    ran = subprocess.run([binaries() / "client-journey", parlor.address], capture_output=True, text=True, timeout=180)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.startswith("520 messages, once and in order")
