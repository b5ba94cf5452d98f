"""What a program finds in its container beside its secrets: the addresses that deploy/make-secrets hands out."""

import os
import re
import subprocess

from parlor import ROOT
from test_rights import NAMES, Secrets


def test_each_program_finds_its_addresses_and_prometheus_all_programs(tmp_path):
    secrets = Secrets(tmp_path, "--cluster")
    script = (ROOT / "deploy/run-program").read_text()

    def environment_of(who: str, **given: str) -> dict[str, str]:
        """Returns what a container's program finds in its environment."""
        shown = subprocess.run(
            ["bash", "-c", script.replace("/secrets/", f"{secrets.hands / who}/")], capture_output=True, text=True, check=True,
            env={"PATH": os.environ["PATH"], "PROGRAM": "env", **given}).stdout  # fmt: skip
        return dict(line.split("=", 1) for line in shown.splitlines())

    push = environment_of("push")
    assert push["BUS_URL"] == "nats://push@nats:4222" and push["OPS_HOST"] == "0.0.0.0"
    assert push["DATABASE_URL"] == "postgres://parlor_push@postgres/parlor?passfile=/secrets/database.passfile"
    assert environment_of("gateway")["BUS_URL"] == "nats://gateway@nats:4222"
    assert "DATABASE_URL" not in environment_of("gateway")
    assert environment_of("push", BUS_URL="nats://elsewhere")["BUS_URL"] == "nats://elsewhere", "a setting wins"
    [names] = re.findall(r"names: \[(.*)\]", secrets.text("prometheus", "programs.yml"))
    assert sorted(names.split(",")) == sorted([*NAMES, "gateway"])
    secrets.flags = ()
    secrets.make()
    assert environment_of("push").keys() & {"BUS_URL", "DATABASE_URL", "OPS_HOST"} == {"BUS_URL"}
    assert environment_of("push")["BUS_URL"] == "tcp://bus:4150", "what the cluster had goes"
