"""docs/api.md and docs/api-sockets.md list everything that services declare: their routes, events and error codes."""

import json
import re

import pytest
from parlor import ROOT

ROUTES = (ROOT / "docs/api.md").read_text()
PAGES = ROUTES + (ROOT / "docs/api-sockets.md").read_text()
MANIFESTS = [json.loads(path.read_text()) for path in sorted((ROOT / "Tests/Unit/Access/Manifests").glob("*.json"))]
SWIFT = {name: (ROOT / name).read_text() for name in (
    "Shared/Kit/Contracts/ServiceError.swift", "Services/Gateway/Edge/HTTPResponse+Contract.swift")}  # fmt: skip


def codes() -> dict[str, str]:
    """Returns the error codes by their names in Swift."""
    body = re.search(r"enum ErrorCode.*?\n\n", SWIFT["Shared/Kit/Contracts/ServiceError.swift"], re.DOTALL)[0]
    return {name: code or name for name, code in re.findall(r'case `?(\w+)`?(?: = "(\w+)")?', body)}


def statuses() -> dict[str, str]:
    body = re.search(r"var status: Int.*?\n    }\n", SWIFT["Services/Gateway/Edge/HTTPResponse+Contract.swift"], re.DOTALL)[0]
    lines = re.findall(r"case (.*): (\d+)", body)
    return {name: status for names, status in lines for name in re.findall(r"\.(\w+)", names)}


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: manifest["service"])
def test_each_route_and_event_of_a_service_is_there(manifest):
    missing = [
        f"{route['method']} {route['path']}" for route in manifest["routes"]
        if not re.search(rf"`{route['method']} {re.escape(route['path'])}[`?]", ROUTES)]  # fmt: skip
    missing += [event["event"] for event in manifest["socketEvents"] if f"| `{event['event']}` |" not in PAGES]
    assert missing == []


def test_each_error_code_is_there_with_its_status():
    assert len(codes()) > 15 and set(codes()) == set(statuses())
    rows = re.findall(r"^\| (\d{3}) \| (.*?) \|", ROUTES, re.MULTILINE)
    listed = {code: status for status, names in rows for code in re.findall(r"`(\w+)`", names)}
    assert listed == {code: statuses()[name] for name, code in codes().items()}


def test_each_event_that_is_emitted_is_there():
    sources = [path for folder in ("Services", "Shared/Network", "Shared/Kit") for path in (ROOT / folder).rglob("*.swift")]
    emitted = {event for path in sources for event in re.findall(r'"([a-z]+:[a-z-]+(?::global)?)"', path.read_text())}
    assert {"message:new", "room:badges", "sync:done"} <= emitted
    # The end of sessions is for gateways, and is never sent.
    assert sorted(event for event in emitted - {"sessions:ended"} if f"`{event}`" not in PAGES) == []


def test_the_pages_that_code_names_are_there():
    named = {
        page for folder in ("Clients", "Services", "Shared", "Examples") for path in (ROOT / folder).rglob("*")
        if path.suffix in (".swift", ".md", ".py", ".js") for page in re.findall(r"\bdocs/[a-z-]+\.md\b", path.read_text())}  # fmt: skip
    assert [page for page in sorted(named) if not (ROOT / page).is_file()] == [] != named
