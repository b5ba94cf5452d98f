"""deploy/bench-web: how fast the web client is, in Chromium, slowed down for the list, on the parlor in PARLOR_BINARIES; it prints
for people."""

import statistics
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

sys.path[:0] = [str(Path(__file__).parents[1] / "Integration")]

from api_people import Person  # noqa: E402
from parlor import Parlor  # noqa: E402
from test_web_page import linked  # noqa: E402
from window import Window  # noqa: E402

SLOWDOWN = 4  # as DevTools' "mid-tier mobile"
ROOMS, MESSAGES, SWITCHES = 200, 10_000, 500
TRACED = "toplevel,devtools.timeline,disabled-by-default-devtools.timeline"
LONG_FRAME = 50.0  # milliseconds

# From the last byte of the list to the frame that shows it.
WATCH_ROWS = """
window.__rows = {};
// Rows are made in a frame's callback: a task after it runs when the frame is painted.
const seen = (name) => { if (!(name in __rows)) { __rows[name] = 0; setTimeout(() => __rows[name] = performance.now()); } };
new MutationObserver(() => {
    const { length } = document.querySelectorAll(".room-row");
    if (length > 0) seen("first");
    if (length >= %d) seen("all");
}).observe(document, { childList: true, subtree: true });
""" % ROOMS
ROWS_SHOWN = """
const data = performance.getEntriesByType("resource").find((entry) => entry.name.includes("/rooms/my-rooms"));
return __rows.all && data?.responseEnd ? [__rows.first - data.responseEnd, __rows.all - data.responseEnd] : null;
"""

IS_AT_BEGINNING = """
return document.querySelector(".scroller").scrollTop === 0 && document.querySelector(".start").innerText.trim() !== "";
"""
IS_SHOWN = """
return Boolean(document.querySelector(".name-button")?.innerText.includes(arguments[0])
    && document.querySelector(".bubble")?.innerText.includes(arguments[1]));
"""


def say(name: str, text: str):
    print(f"{name:<34} {text}", flush=True)


def measure_size(address: str):
    with httpx.Client(base_url=address) as http:
        page = http.get("/")
        links = set(linked(page.text))
        answers = [page, *(http.get(f"/{link}") for link in links)]
    size = sum(int(answer.headers["content-length"]) for answer in answers)
    say("first visit", f"{len(answers)} requests, {size / 1024:.1f} KiB gzipped")


def measure_list(window: Window, ada: Person):
    found = window.command("Page.addScriptToEvaluateOnNewDocument", source=WATCH_ROWS)
    window.command("Emulation.setCPUThrottlingRate", rate=SLOWDOWN)
    times = []
    for _ in range(7):
        window.reset()
        window.enter(ada)
        times.append(window.until(lambda: window.run(ROWS_SHOWN), f"{ROOMS} rows"))
    window.command("Emulation.setCPUThrottlingRate", rate=1)
    window.command("Page.removeScriptToEvaluateOnNewDocument", identifier=found["identifier"])
    first, whole = (statistics.median(column) for column in zip(*times))
    say(f"list of {ROOMS}, after its data", f"first rows {first:.0f} ms, all {whole:.0f} ms (median of {len(times)}, CPU / {SLOWDOWN})")


def measure_scrolling(window: Window, ada: Person, room: str):
    window.reset()
    window.enter(ada, room)
    window.shows(".bubble")
    window.trace()
    gestures = 0
    # To the very beginning: older pages are fetched on the way.
    while not window.run(IS_AT_BEGINNING) and gestures < 400:
        window.command(
            "Input.synthesizeScrollGesture", x=600, y=400, yDistance=20000, speed=12000, gestureSourceType="mouse")
        gestures += 1
    events = window.trace()
    mains = {
        (event["pid"], event["tid"]) for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }  # fmt: skip
    tasks = [
        event for event in events
        if event["name"].endswith("RunTask") and event.get("ph") == "X" and (event["pid"], event["tid"]) in mains
    ]  # fmt: skip
    frames = sum(event["name"] == "Commit" for event in events)
    assert tasks and frames, "the trace has no tasks"
    wall = [event["dur"] / 1000 for event in tasks]
    work = [event.get("tdur", event["dur"]) / 1000 for event in tasks]
    shown = window.run("return document.querySelectorAll('.line').length")
    say(
        f"scrolling {MESSAGES} messages",
        f"{frames} frames, {sum(time > LONG_FRAME for time in wall)} tasks over {LONG_FRAME:.0f} ms; "
        f"the longest {max(wall):.0f} ms, {max(work):.0f} ms of it CPU; {shown} rows in the document at its end")  # fmt: skip


def measure_leak(window: Window, ada: Person, rooms: list[str]):
    def heap() -> dict:
        for _ in range(3):
            window.command("HeapProfiler.collectGarbage")
        metrics = {entry["name"]: entry["value"] for entry in window.command("Performance.getMetrics")["metrics"]}
        return {name: metrics[name] for name in ("JSHeapUsedSize", "Nodes", "JSEventListeners")}

    window.command("Performance.enable")
    window.reset()
    window.enter(ada)

    def switch(count: int):
        for number in range(count):
            place = number % len(rooms)
            window.run("location.hash = `#/room/${arguments[0]}`", rooms[place])
            # No element is handed out: the driver would keep it, and all that it is in.
            window.until(lambda: window.run(IS_SHOWN, f"Room {place}", f"in {place}."), "the room")

    # All that is kept on purpose is there after a while.
    switch(100)
    before = heap()
    switch(SWITCHES)
    after = heap()
    grown = {name: after[name] - before[name] for name in before}
    say(
        f"{SWITCHES} room switches",
        f"heap {before['JSHeapUsedSize'] / 2**20:.1f} → {after['JSHeapUsedSize'] / 2**20:.1f} MiB, "
        f"nodes {grown['Nodes']:+.0f}, listeners {grown['JSEventListeners']:+.0f}")  # fmt: skip


def main():
    with tempfile.TemporaryDirectory() as folder:
        parlor = Parlor("one", Path(folder) / "data")
        window = None
        try:
            ada, ben = Person(parlor.address), Person(parlor.address)
            with ThreadPoolExecutor(16) as pool:
                rooms = list(pool.map(lambda number: ada.room_with(ben, f"Room {number}"), range(ROOMS)))
                list(pool.map(lambda number: ben.send(rooms[number], f"in {number}."), range(ROOMS)))
                ben.send(rooms[-1], "message 0")
                list(pool.map(
                    lambda number: (ada if number % 3 else ben).send(rooms[-1], f"message {number} " + "word " * (number % 40)),
                    range(1, MESSAGES)))  # fmt: skip
                # Read, so that the room opens at its end.
                ids = [message["id"] for message in ada.messages(rooms[-1])]
            window = Window(traced=TRACED)
            only = sys.argv[1:] or ["size", "list", "leak", "scroll"]
            if "size" in only:
                measure_size(parlor.address)
            if "list" in only:
                measure_list(window, ada)
            if "leak" in only:
                measure_leak(window, ada, rooms[:20])
            if "scroll" in only:
                ada.read(rooms[-1], *ids)
                measure_scrolling(window, ada, rooms[-1])
        finally:
            if window:
                window.close()
            parlor.stop()


if __name__ == "__main__":
    main()
