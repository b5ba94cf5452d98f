"""Checks that Prometheus scrapes every instance, accepts every query of the dashboard, and can evaluate all alerts."""

import json
import time
from urllib.parse import quote

import dashboard
from engine import Project, docker
from parlor import PROGRAMS

# Seconds until every instance must have been scraped.
DEADLINE = 60.0
PARTS = [name.removeprefix("parlor-") for name in PROGRAMS if name != "parlor-bus"]


class Prometheus:
    """Prometheus' API, called from inside, as it is not published."""

    def __init__(self, project: Project):
        self.container = project.containers("prometheus")[0].name

    def get(self, path: str) -> dict:
        url = f"http://127.0.0.1:9090/api/v1/{path}"
        answer = docker("exec", self.container, "wget", "-q", "-O", "-", url, check=False)
        return json.loads(answer) if answer else {"status": "error", "data": {"result": []}}

    def ask(self, expression: str) -> dict:
        return self.get(f"query?query={quote(expression, safe='')}")


def check_dashboard(project: Project):
    """Yields each check, its result and a figure."""
    prometheus = Prometheus(project)
    expected = {part: len(project.containers(part)) for part in PARTS}
    up, end = {}, time.monotonic() + DEADLINE
    while up != expected and time.monotonic() < end:
        result = prometheus.ask('sum by (part) (up{job="parlor"})')["data"]["result"]
        up = {series["metric"]["part"]: int(float(series["value"][1])) for series in result}
        time.sleep(0.5)
    yield "Prometheus: instances", up == expected, ", ".join(f"{part} {count}" for part, count in sorted(up.items()))

    known = set(prometheus.get("label/__name__/values")["data"])
    queries = [query for queries in dashboard.panels().values() for query in queries]
    refused = [query for query in queries if prometheus.ask(query)["status"] != "success"]
    unknown = sorted(name for name in dashboard.all_metrics() if not {name, f"{name}_bucket"} & known)
    held = not refused and not unknown
    yield "Prometheus: panels", held, f"{len(queries)} queries, refused: {refused}, unknown metrics: {unknown}"

    rules = [rule for group in prometheus.get("rules")["data"]["groups"] for rule in group["rules"]]
    ill = [rule["name"] for rule in rules if rule["health"] != "ok"]
    held = not ill and {rule["name"] for rule in rules} == dashboard.alerts().keys() | {"ProgramGone"}
    yield "Prometheus: alerts", held, f"{len(rules)} rules; cannot be evaluated: {ill}"
