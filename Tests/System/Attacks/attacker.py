"""The process of one attacker. Reads one line of JSON, prints `begun`, attacks, and prints its results."""

import json
import os
import resource
import signal
import sys
import time

from attack import Fate, Target
from families import ATTACKS

MOST_TO_GET_READY = 120.0  # seconds


def main():
    plan = json.loads(sys.stdin.readline())
    seconds = plan.pop("seconds")
    # An attack that does not stop at its end is killed.
    signal.alarm(int(MOST_TO_GET_READY) + 30)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    os.nice(5)
    attack, target, fate = ATTACKS[sys.argv[1]], Target(**plan, end=time.monotonic() + MOST_TO_GET_READY), Fate(time.monotonic())
    attack.get_ready(target, fate)
    fate.begun = time.monotonic()
    target.end = fate.begun + seconds
    signal.alarm(int(seconds) + 30)
    print("begun", flush=True)
    try:
        attack.run(target, fate)
    except OSError as error:
        # The server may refuse everything that an attack needs.
        fate.refused()
        fate.notes.append(f"ended by {error}")
    print(json.dumps(vars(fate)), flush=True)
    # Its connections end with it.
    os._exit(0)


main()
