"""The final table of deploy/fuzz, with programs that stand in for the toolchain and the fuzzer."""

import os
import platform
import shutil
import subprocess

from parlor import ROOT, START_DEADLINE

# A fuzzer with three targets: one ends without output and without an artifact, one traps, one finds nothing.
FUZZER = """#!/bin/bash
[[ $# -gt 0 ]] || { printf 'silent 10\\ntraps 10\\nfine 10\\n'; exit; }
case $FUZZ_TARGET in
silent) exit 9 ;;
traps) echo "Fatal error: out of range" && echo "artifact in .build-fuzz/findings/traps-crash-1 here" && exit 77 ;;
fine) echo "figures: 100 1 2 3000" ;;
esac
"""


def test_each_target_has_its_line_however_it_ended(tmp_path):
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    library = tmp_path / f"toolchain/lib/clang/1/lib/linux/libclang_rt.fuzzer-{platform.machine()}.a"
    library.parent.mkdir(parents=True)
    library.touch()
    for path, text in [("toolchain/bin/swift", "#!/bin/sh\n"), (".build-fuzz/release/parlor-fuzz", FUZZER)]:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    done = subprocess.run(
        [tmp_path / "deploy/fuzz", "--seconds", "1"], capture_output=True, text=True, timeout=START_DEADLINE,
        env={**os.environ, "PATH": f"{tmp_path}/toolchain/bin:{os.environ['PATH']}"})  # fmt: skip
    lines = done.stdout.splitlines()[1:]
    assert done.returncode == 1 and [line.split()[0] for line in lines] == ["silent", "traps", "fine"], done.stderr
    assert "status 9" in lines[0] and lines[2].endswith("none")
    assert lines[1].endswith("out of range, .build-fuzz/findings/traps-crash-1")
