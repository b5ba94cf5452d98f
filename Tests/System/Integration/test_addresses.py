"""What a program finds in its container beside its secrets: the addresses that deploy/make-secrets hands out."""

import json
import os
import re
import shutil
import subprocess

import pytest
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
    alerts = secrets.text("prometheus", "programs-alerts.yml")
    assert sorted(re.findall(r'absent\(up{part="(\w+)"} == 1\)', alerts)) == sorted([*NAMES, "gateway", "balancer"])
    secrets.flags = ()
    secrets.make()
    assert environment_of("push").keys() & {"BUS_URL", "DATABASE_URL", "OPS_HOST"} == {"BUS_URL"}
    assert environment_of("push")["BUS_URL"] == "tcp://bus:4150", "what the cluster had goes"


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool, which Prometheus has")
def test_an_alert_fires_for_a_program_whose_last_instance_is_gone_and_for_no_other(tmp_path):
    secrets = Secrets(tmp_path, "--cluster")
    # A sample every 5 s. The series of rooms ends after a minute, because Docker's DNS no longer knows its container.
    series = {part: "1x60" for part in [*NAMES, "gateway", "balancer"]} | {"rooms": "1x12 stale", "push": "1x12 0x48"}
    firing = [
        {"exp_labels": {"part": part}, "exp_annotations": {"summary": f"No instance of {part} answers"}}
        for part in ("push", "rooms")
    ]
    (tmp_path / "test.yml").write_text(json.dumps({
        "rule_files": [str(secrets.path("prometheus", "programs-alerts.yml"))],
        "evaluation_interval": "5s",
        "tests": [{
            "interval": "5s",
            "input_series": [
                {"series": f'up{{job="parlor",part="{part}",instance="10.0.0.1:9000"}}', "values": values}
                for part, values in series.items()
            ],
            "alert_rule_test": [
                {"eval_time": "80s", "alertname": "ProgramGone", "exp_alerts": []},
                {"eval_time": "2m", "alertname": "ProgramGone", "exp_alerts": firing},
            ],
        }],
    }))  # fmt: skip
    done = subprocess.run(["promtool", "test", "rules", tmp_path / "test.yml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
