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
    queries = [(title, query) for title, queries in dashboard.panels().items() for query in queries]
    refused, empty = [], []
    for title, query in queries:
        answer = prometheus.ask(query)
        if answer["status"] != "success":
            refused.append(title)
        elif not answer["data"]["result"] and (has_push or "parlor_push_" not in query):
            empty.append(title)
    held = not refused and not empty
    yield "Prometheus: panels", held, f"{len(queries)} queries, refused: {refused}, without data: {empty}"

    rules = [rule for group in prometheus.get("rules")["data"]["groups"] for rule in group["rules"]]
    ill = [rule["name"] for rule in rules if rule["health"] != "ok"]
    held = not ill and {rule["name"] for rule in rules} == dashboard.alerts().keys()
    yield "Prometheus: alerts", held, f"{len(rules)} rules, that cannot be judged: {ill}"
