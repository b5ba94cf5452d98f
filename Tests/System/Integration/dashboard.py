"""The Prometheus queries of the dashboard and the alert rules in deploy/monitoring."""

import json
import re
from pathlib import Path

MONITORING = Path(__file__).parents[3] / "deploy/monitoring"


def panels() -> dict[str, list[str]]:
    """Returns the queries by title: PromQL, with an interval in place of Grafana's variable."""
    return {
        panel["title"]: [target["expr"].replace("$__rate_interval", "1m") for target in panel["targets"]]
        for panel in json.loads((MONITORING / "parlor.json").read_text())["panels"]
        if panel["type"] != "row"
    }


def alerts() -> dict[str, str]:
    return dict(re.findall(r"alert: (\w+)\n\s+expr: (.*)", (MONITORING / "alerts.yml").read_text()))


def metrics_in(expression: str) -> set[str]:
    """Returns the metric names in a query; a histogram's own name, without the suffixes of its series."""
    names = re.findall(r"\b(?:parlor|bus|haproxy|log|process)_[a-z_]+\b", re.sub(r'"[^"]*"', "", expression))
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}


def all_metrics() -> set[str]:
    asked = [*alerts().values(), *(expression for queries in panels().values() for expression in queries)]
    return {name for expression in asked for name in metrics_in(expression)}
