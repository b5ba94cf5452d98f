"""Whether Prometheus hears of every instance, and has an answer to all that is asked of it."""

import json
import time
from urllib.parse import quote

import dashboard
from engine import Project, docker

# Some scrapes, so that rates have something to be made of.
DEADLINE = 60.0
PARTS = ["gateway", "accounts", "rooms", "messaging", "elements"]


class Prometheus:
    """Its API, asked from inside: it is not published."""

    def __init__(self, project: Project):
        self.container = project.containers("prometheus")[0].name

    def get(self, path: str) -> dict:
        url = f"http://127.0.0.1:9090/api/v1/{path}"
        answer = docker("exec", self.container, "wget", "-q", "-O", "-", url, check=False)
        return json.loads(answer) if answer else {"status": "error", "data": {"result": []}}

    def ask(self, expression: str) -> dict:
        return self.get(f"query?query={quote(expression, safe='')}")


def check_dashboard(project: Project):
    """What was looked at, whether it held, and a figure."""
    prometheus = Prometheus(project)
    expected = {part: len(project.containers(part)) for part in PARTS}
    up, end = {}, time.monotonic() + DEADLINE
    while up != expected and time.monotonic() < end:
        result = prometheus.ask('sum by (part) (up{job="parlor"})')["data"]["result"]
        up = {series["metric"]["part"]: int(float(series["value"][1])) for series in result}
        time.sleep(0.5)
    yield "Prometheus: instances", up == expected, ", ".join(f"{part} {count}" for part, count in sorted(up.items()))

    known = set(prometheus.get("label/__name__/values")["data"])
    has_push = any(name.startswith("parlor_push_") for name in known)
    refused, empty, asked = [], [], 0
    for title, expressions in dashboard.expressions().items():
        for expression in expressions:
            if not has_push and "parlor_push_" in expression:
                continue
            asked += 1
            answer = prometheus.ask(expression)
            if answer["status"] != "success":
                refused.append(title)
            elif not is_alert(title) and not answer["data"]["result"]:
                empty.append(title)
    yield "Prometheus: panels", not refused and not empty, f"{asked} queries, refused: {refused}, without data: {empty}"


def is_alert(title: str) -> bool:
    """An alert that has nothing to say is as it should be."""
    return " " not in title and title in (dashboard.MONITORING / "alerts.yml").read_text()
