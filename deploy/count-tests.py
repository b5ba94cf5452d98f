"""Prints how many tests passed and failed, from the closing lines of Swift Testing and pytest in a log."""

import re
import sys

text = open(sys.argv[1], errors="replace").read()
passed = failed = 0
for total, issues in re.findall(r"Test run with (\d+) tests?.*? (passed|failed) after", text):
    # Swift Testing ends with the total; each failed test has its own line.
    broken = len(re.findall(r'^✘ Test (?!run|case).* failed after', text, re.MULTILINE)) if issues == "failed" else 0
    passed, failed = passed + int(total) - broken, failed + broken
for line in re.findall(r"^(?:=+ )?(\d+ (?:passed|failed|error).* in [\d.]+s.*)$", text, re.MULTILINE):
    for count, word in re.findall(r"(\d+) (passed|failed|errors?)", line):
        if word == "passed":
            passed += int(count)
        else:
            failed += int(count)
print(passed, failed)
