"""The files from which images are built."""

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_images_are_built_from_every_folder_that_the_package_names():
    # SwiftPM wants the folders of all targets, also of those that are not built.
    described = subprocess.run(
        ["swift", "package", "describe", "--type", "json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    folders = {target["path"].split("/")[0] for target in json.loads(described.stdout)["targets"]}
    copied = re.findall(r"^COPY (\S+) \1$", (ROOT / "deploy/Dockerfile").read_text(), re.MULTILINE)
    kept = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert folders <= set(copied)
    assert folders <= set(kept)
