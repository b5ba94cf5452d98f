"""What is read from Package.swift: the files from which images are built, and which programs there are."""

import functools
import json
import re
import subprocess

import pytest
from parlor import PROGRAMS, ROOT


@functools.cache
def targets() -> list[dict]:
    described = subprocess.run(
        ["swift", "package", "describe", "--type", "json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(described.stdout)["targets"]


def test_images_are_built_from_every_folder_that_the_package_names():
    # SwiftPM wants the folders of all targets, also of those that are not built.
    folders = {target["path"].split("/")[0] for target in targets()}
    copied = re.findall(r"^COPY (\S+) \1$", (ROOT / "deploy/Dockerfile").read_text(), re.MULTILINE)
    kept = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert folders <= set(copied)
    assert folders <= set(kept)


def test_the_programs_are_the_executables_in_services():
    executables = {
        target["name"] for target in targets() if target["type"] == "executable" and target["path"].startswith("Services/")}  # fmt: skip
    assert sorted(PROGRAMS) == sorted(executables - {"parlor"})
    assert (PROGRAMS[0], PROGRAMS[-1]) == ("parlor-bus", "parlor-gateway")
    services = subprocess.run([ROOT / "deploy/programs", "--services"], capture_output=True, text=True, check=True).stdout
    assert [f"parlor-{name}" for name in services.split()] == PROGRAMS[1:-1]
    types = re.findall(r"(\w+)Service\.self", (ROOT / "Services/Parlor/Services/ParlorServices.swift").read_text())
    assert [name.lower() for name in types] == services.split()
    refused = subprocess.run([ROOT / "deploy/programs", "--all"], capture_output=True, text=True)
    assert (refused.returncode, refused.stdout) == (2, "")


@pytest.mark.parametrize("name", ["Rooms", "Reactor", "Testing", "Gateway", "Secrets", "Backups", "Messages", "polls", "Two words", "../Polls"])
def test_a_new_service_cannot_have_a_name_that_is_taken_or_is_none(name):
    files = ("Package.swift", "docker-compose.yml", "Services/Parlor/Services/ParlorServices.swift")
    before = {ROOT / file: (ROOT / file).read_text() for file in files}
    refused = subprocess.run([ROOT / "deploy/new-service", name], capture_output=True, text=True)
    assert (refused.returncode, refused.stdout) == (1, "") and refused.stderr.startswith("new-service: ")
    assert {path: path.read_text() for path in before} == before
