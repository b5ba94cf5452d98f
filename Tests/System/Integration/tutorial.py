"""docs/writing-a-service.md is followed word by word: each step builds and shows what the page says, and the last one is
Examples/Polls. deploy/test-example names this file. It is not a test_*.py, because each step is a build.

TUTORIAL_SCRATCH is the folder of the build. If it is the one of deploy/test-example, Parlor itself is not compiled again."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from parlor import ROOT, Process

PAGE = (ROOT / "docs/writing-a-service.md").read_text()
EXAMPLE = ROOT / "Examples/Polls"
SCRATCH = os.environ.get("TUTORIAL_SCRATCH", ROOT / "Examples/.build")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
KEPT = "ada ben other room poll message picnic example parlor"  # the variables of the page's shell
FILE = re.compile(r"`((?:Sources/|Package)[\w./-]*swift)`")


class Reader:
    """Someone who does what the page says, in two terminals: one for Parlor, and a shell that keeps its variables."""

    def __init__(self, folder: Path):
        self.folder, self.state, self.parlor = folder, folder / "shell.state", None
        self.state.write_text("")

    def swift(self, *command: str) -> str:
        done = subprocess.run(
            ["swift", *command, "--scratch-path", SCRATCH], cwd=self.folder / "polls", capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
        return done.stdout

    def shell(self, script: str) -> str:
        # Replaces the page's address, its Python and its `swift run` by those of this test.
        script = script.replace(".venv/bin/python", sys.executable).replace("swift run ", f"{self.binaries()}/")
        if self.parlor:
            script = f"parlor={self.parlor.address}\n{script.replace('http://127.0.0.1:8080', self.parlor.address)}"
        keep = f"{{ declare -p {KEPT} || true; declare -f; }} 2>&- >{self.state}"
        polls = self.folder / "polls"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"source {self.state}\n{script}\n{keep}"], capture_output=True, text=True, timeout=60,
            cwd=polls if polls.exists() else self.folder)  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def binaries(self) -> str:
        return f"{SCRATCH}/debug"

    def edit(self, language: str, text: str, before: str):
        if language == "swift":
            file = self.folder / "polls" / FILE.findall(before)[-1]
            file.write_text(text.replace('"../parlor"', f'"{ROOT}"'))
        else:
            subprocess.run(["patch", "-p1"], input=text, text=True, cwd=self.folder / "polls", check=True, capture_output=True)

    def start(self):
        self.swift("build", "--product", "parlor-with-polls")
        self.parlor = Process(self.binaries() + "/parlor-with-polls", "--port", 0, "--data", "data", cwd=self.folder / "polls")
        self.parlor.address = self.parlor.wait_until_ready()

    def stop(self):
        if self.parlor:
            assert self.parlor.stop() == 0, self.parlor.log()
        self.parlor = None


@pytest.mark.timeout(3600)
def test_the_page_leads_from_nothing_to_polls(tmp_path):
    reader = Reader(tmp_path)
    (tmp_path / "parlor").symlink_to(ROOT)
    try:
        for section in PAGE.split("\n## "):
            follow(reader, section)
    finally:
        reader.stop()
    polls = tmp_path / "polls"
    for file in EXAMPLE.rglob("*.swift"):
        path = file.relative_to(EXAMPLE)
        if path.parts[0] in ("Sources", "Tests"):
            assert (polls / path).read_text() == file.read_text(), path
    (polls / "Package.swift").write_text((polls / "Package.swift").read_text().replace('"../parlor"', f'"{ROOT}"'))
    reader.swift("build", "--build-tests")
    reader.swift("test", "--skip-build")


def test_the_code_of_the_section_on_following_is_that_of_the_example():
    def lines(text: str) -> str:
        return "\n".join(line.strip() for line in text.splitlines())

    section = PAGE.split("\n## Following another service's log")[1].split("\n## ")[0]
    sources = [lines(file.read_text()) for file in (ROOT / "Examples/Bookmarks/Sources").rglob("*.swift")]
    excerpts = re.findall(r"(?:^(?:    .*)?\n)+", section, re.MULTILINE)
    excerpts = [part for excerpt in excerpts for part in re.split(r"\n\n(?=    \S)", excerpt.strip("\n")) if part]
    assert len(excerpts) > 2
    for excerpt in excerpts:
        assert any(lines(excerpt) in source for source in sources), excerpt


def follow(reader: Reader, section: str):
    """Does what a section says: first its edits, then the rest with Parlor running again."""
    session, expected, end = [], [], 0
    for block in BLOCK.finditer(section):
        language, text, before = block[1], block[2], section[end : block.start()]
        end = block.end()
        if language in ("swift", "diff"):
            reader.edit(language, text, before)
        elif language in ("json", "text"):
            expected += text.splitlines()
        elif language == "sh" and ("$parlor" in text or "parlor-with-polls " in text):
            session.append(text)
        elif language == "sh":
            reader.shell(text.replace("swift test\n", ""))  # it is the last step, and done at the end
    if session:
        reader.start()
        shown = reader.shell("\n".join(session))
        reader.stop()
        for line in expected:
            assert line in shown, f"{section.splitlines()[0]}: {line}\n{shown}"
