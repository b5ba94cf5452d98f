"""Notices when a core stands still: on a shared machine the host takes cores away for up to 150 ms, and more often
the busier they are.

Run by itself, it watches one core, with precedence over everything else there. It ends with its input, and writes the
pauses that it saw, in seconds of the monotonic clock, and how much the host says it took meanwhile.
"""

import json
import os
import select
import signal
import sys
import time
from dataclasses import dataclass

INTERVAL = 0.002
# This machine's own scheduler does not cause a longer delay than this.
LATE = 0.002
# After a pause, what came in meanwhile is handled first.
RECOVERY = 0.005


@dataclass
class Pauses:
    """The times at which the machine stood still, on any core."""

    spans: list[tuple[float, float]]
    stolen: float

    def outside(self, samples: list) -> list:
        """Returns the samples, except the answers that a pause may have delayed. Failures stay."""
        return [sample for sample in samples if sample[2] is not None or not self.touch(sample[0], sample[0] + sample[1])]

    def touch(self, begin: float, end: float) -> bool:
        return any(first < end and begin < last + RECOVERY for first, last in self.spans)

    def between(self, begin: float, end: float) -> "Pauses":
        return Pauses([span for span in self.spans if begin <= span[0] < end], self.stolen)

    @property
    def seconds(self) -> float:
        return sum(last - first for first, last in self.spans)


def stolen(core: int) -> float:
    """Returns the seconds that the host gave to others while this core had work (proc_stat(5))."""
    with open("/proc/stat") as file:
        fields = next(line.split() for line in file if line.startswith(f"cpu{core} "))
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def main():
    core = int(sys.argv[1])
    before, spans = stolen(core), []
    print("ready", flush=True)
    while True:
        due = time.monotonic() + INTERVAL
        if select.select([sys.stdin], [], [], INTERVAL)[0]:
            break
        if (now := time.monotonic()) > due + LATE:
            spans.append((due, now))
    print(json.dumps({"spans": spans, "stolen": stolen(core) - before}), flush=True)


if __name__ == "__main__":
    signal.alarm(int(os.environ.get("AT_MOST_SECONDS", "600")))
    main()
