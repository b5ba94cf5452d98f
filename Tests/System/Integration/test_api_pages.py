"""docs/api.md and docs/api-sockets.md list everything that services declare: their routes, events and error codes. A service whose
manifest is not among those that gateways of other versions know lists its events in its own README."""

import json
import re

import pytest
from parlor import FURTHER, ROOT

ROUTES = (ROOT / "docs/api.md").read_text()
PAGES = ROUTES + (ROOT / "docs/api-sockets.md").read_text()
MANIFESTS = [json.loads(path.read_text()) for path in sorted((ROOT / "Tests/Wire/Access/Manifests").glob("*.json"))]
ERRORS = "".join(path.read_text() for path in (ROOT / "Shared/Kit/Contracts").glob("*.swift"))


def codes() -> dict[str, int]:
    """Returns the contract's error codes and their statuses, as the program has them."""
    return {code: int(status) for code, status in re.findall(r'= ErrorCode\("(\w+)", (\d{3})\)', ERRORS)}


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: manifest["service"])
def test_each_route_and_event_of_a_service_is_there(manifest):
    missing = [
        f"{route['method']} {route['path']}" for route in manifest["routes"]
        if not re.search(rf"`{route['method']} {re.escape(route['path'])}[`?]", ROUTES)]  # fmt: skip
    missing += [event["event"] for event in manifest["socketEvents"] if f"| `{event['event']}` |" not in PAGES]
    assert missing == []


def test_each_error_code_is_there_with_its_status():
    assert len(codes()) > 15
    rows = re.findall(r"^\| (\d{3}) \| (.*?) \|", ROUTES, re.MULTILINE)
    listed = {code: int(status) for status, names in rows for code in re.findall(r"`(\w+)`", names)}
    assert listed == codes()


def test_each_event_that_is_emitted_is_there():
    seen = set()
    for folder in [*(ROOT / "Services").iterdir(), ROOT / "Shared/Network", ROOT / "Shared/Kit"]:
        pages = (folder / "README.md").read_text() if folder in FURTHER else PAGES
        for path in folder.rglob("*.swift"):
            emitted = set(re.findall(r'"([a-z]+:[a-z-]+(?::global)?)"', path.read_text()))
            # The end of sessions is for gateways, which never send it to clients.
            assert sorted(event for event in emitted - {"sessions:ended"} if f"`{event}`" not in pages) == [], path
            seen |= emitted
    assert {"message:new", "room:badges", "sync:done"} <= seen


def test_the_pages_that_code_names_are_there():
    named = {
        page for folder in ("Clients", "Services", "Shared", "Examples") for path in (ROOT / folder).rglob("*")
        if path.suffix in (".swift", ".md", ".py", ".js") for page in re.findall(r"\bdocs/[a-z-]+\.md\b", path.read_text())}  # fmt: skip
    assert [page for page in sorted(named) if not (ROOT / page).is_file()] == [] != named
