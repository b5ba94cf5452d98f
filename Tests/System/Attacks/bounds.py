"""The effects that an attack may not have on others."""

import math
from collections import Counter
from dataclasses import dataclass
from types import SimpleNamespace

# Others' p99 may double. Below the floor any value is allowed: nobody notices it, and on a machine with two cores, where a
# commit waits for the disk, p99 varies by some milliseconds without any attack.
MOST_SLOWER = 2.0
FLOOR = 0.015  # seconds
MEMORY = 256.0  # MB, the kernel's for the connections included
# The kernel's for connections that the server is closing. The limit of connections of an address bounds it: a thousand that
# take 17 KB each.
KEPT_MEMORY = 32.0
# Seconds after which an attempt counts as failed.
slower_than = SimpleNamespace(newcomers=0.5, operations=3.0, sign_ins=4.0)


@dataclass
class Latency:
    """Seconds."""

    count: int
    p50: float
    p99: float
    worst: float


@dataclass
class Asked:
    """One kind of others' HTTP requests."""

    calm: Latency
    during: Latency
    failures: dict[str, int]


def latency(samples) -> Latency:
    times = sorted(seconds for _, seconds, failure in samples if failure is None)
    if not times:
        return Latency(0, math.nan, math.nan, math.nan)
    return Latency(len(times), times[len(times) // 2], times[min(len(times) - 1, math.ceil(len(times) * 0.99) - 1)], times[-1])


def kept_out(samples, patience: float = math.inf) -> dict[str, int]:
    """Returns why samples failed, and how many."""
    return dict(Counter(failure or f"over {patience:g} s" for _, seconds, failure in samples if failure or seconds > patience))


def broken(result, floor: float = FLOOR) -> list[str]:
    """Returns the bounds that a result violates."""
    found = []
    latencies = [("", result.calm, result.during), *((f" of {what}", each.calm, each.during) for what, each in result.asked.items())]
    for what, calm, during in latencies:
        limit = max(MOST_SLOWER * calm.p99, floor)
        if not during.p99 <= limit:
            found.append(f"p99{what} over {limit * 1000:.0f} ms")
    for what, failures in (
        ("messages failed", result.failures), ("newcomers kept out", result.kept_out),
        ("health checks failed", result.operations_kept_out), ("sign-ins refused", result.sign_ins_refused),
        *((f"of {what} failed", each.failures) for what, each in result.asked.items()),
    ):  # fmt: skip
        if failures:
            found.append(f"{sum(failures.values())} {what}")
    if result.memory_peak + result.kernel_peak > MEMORY:
        found.append(f"over {MEMORY:.0f} MB")
    if result.kernel_closed > KEPT_MEMORY:
        found.append(f"over {KEPT_MEMORY:.0f} MB of closed connections")
    if "the server has ended" in result.notes:
        found.append("the server has ended")
    return found + result.found
