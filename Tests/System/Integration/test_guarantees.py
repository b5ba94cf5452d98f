"""docs/guarantees.md and CONTRIBUTING.md name files and titles of tests. Each of these tests exists."""

import re

import pytest
from parlor import ROOT

TESTS = ROOT / "Tests"
FILES = [path for path in TESTS.rglob("*") if path.suffix in (".swift", ".py")]


def titles() -> set[str]:
    """Returns the titles of the Swift tests."""
    found = (re.findall(r'@Test\(\s*"((?:[^"\\]|\\.)*)"', path.read_text()) for path in FILES if path.suffix == ".swift")
    return {title for of_file in found for title in of_file}


@pytest.mark.parametrize("page", ["docs/guarantees.md", "CONTRIBUTING.md"])
def test_each_test_that_a_page_names_is_there(page):
    text = re.sub(r"\s+", " ", (ROOT / page).read_text())
    named = set(re.findall(r"“([^”]+)”", text))
    assert named and sorted(named - titles()) == []
    files = set(re.findall(r"`([\w/]*(?:[tT]est[\w/]*|\w+Tests)\.(?:swift|py))`", text))
    paths = {f"/{path.relative_to(ROOT)}" for path in FILES}
    assert files and sorted(name for name in files if not any(path.endswith(f"/{name}") for path in paths)) == []
    functions = set(re.findall(r"`(test_\w+)`", text))
    python = "".join(path.read_text() for path in FILES if path.suffix == ".py")
    assert sorted(name for name in functions if f"def {name}(" not in python) == []
