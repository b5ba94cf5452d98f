"""deploy/bench-web: how fast the web client is in Chromium (slowed down for the list), on the parlor in
PARLOR_BINARIES. The output is for people."""

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
# By the first of these, each of the 20 rooms has been open twice.
MEASURED_SWITCHES = (50, 200, 350, 500)
TRACED = "devtools.timeline,disabled-by-default-devtools.timeline"
LONG = 50.0  # milliseconds, of a frame or of a task of the page's thread

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
IS_AT_END = """
const { scrollHeight, scrollTop, clientHeight } = document.querySelector(".scroller");
return scrollHeight - scrollTop - clientHeight < 2;
"""
# Callbacks without a pause: the trace then has each frame, also those in which nothing moves.
COUNT_FRAMES = "const frame = () => requestAnimationFrame(frame); frame();"
# Like a person who drags the scrollbar: one jump per frame, so far that nothing of what was in view is left.
DRAG = """
const [count, done] = arguments, scroller = document.querySelector(".scroller");
let number = 0;
const jump = () => {
    if (number === count) return done();
    number += 1;
    scroller.scrollTop = (scroller.scrollHeight - scroller.clientHeight) * (number * 0.618 % 1);
    requestAnimationFrame(jump);
};
jump();
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
    window.command("Emulation.setCPUThrottlingRate", rate=SLOWDOWN)
    times = []
    with window.scripted(WATCH_ROWS):
        for _ in range(7):
            window.reset()
            window.enter(ada)
            times.append(window.until(lambda: window.run(ROWS_SHOWN), f"{ROOMS} rows"))
    window.command("Emulation.setCPUThrottlingRate", rate=1)
    first, whole = (statistics.median(column) for column in zip(*times))
    say(f"list of {ROOMS}, after its data", f"first rows {first:.0f} ms, all {whole:.0f} ms (median of {len(times)}, CPU / {SLOWDOWN})")


def measure_scrolling(ada: Person, room: str):
    window = Window(traced=TRACED)
    try:
        window.reset()
        window.enter(ada, room)
        window.shows(".bubble")
        window.run(COUNT_FRAMES)
        threads = page_threads(window.trace())
        scroll(window, IS_AT_BEGINNING, 20_000)
        say_frames(f"{MESSAGES} messages, wheel up, loading", window, threads)
        scroll(window, IS_AT_END, -20_000)
        say_frames(f"{MESSAGES} messages, wheel down", window, threads)
        window.driver.execute_async_script(DRAG, 200)
        say_frames("200 jumps of the scrollbar", window, threads)
        shown = window.run("return document.querySelectorAll('.line').length")
        say("rows in the document at the end", str(shown))
    finally:
        window.close()


def scroll(window: Window, is_there: str, distance: int):
    """Turns the wheel until the condition is true."""
    for _ in range(400):
        if window.run(is_there):
            return
        window.command(
            "Input.synthesizeScrollGesture", x=600, y=400, yDistance=distance, speed=12000, gestureSourceType="mouse")
    raise AssertionError("the end of the room was not reached")


def page_threads(events: list[dict]) -> set:
    """Returns the main threads of pages, which only a browser's first trace names."""
    return {
        (event["pid"], event["tid"]) for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }  # fmt: skip


def say_frames(name: str, window: Window, threads: set):
    """Prints what the trace since the last call says about frames, and about tasks of the page's thread."""
    events = [event for event in window.trace() if (event["pid"], event["tid"]) in threads]
    tasks = [event for event in events if event["name"] == "RunTask" and event.get("ph") == "X"]
    starts = sorted({event["ts"] for event in events if event["name"] == "FireAnimationFrame"})
    frames = [(later - earlier) / 1000 for earlier, later in zip(starts, starts[1:])]
    assert tasks and frames, "the trace has no tasks"
    wall = [event["dur"] / 1000 for event in tasks]
    work = [event["tdur"] / 1000 for event in tasks if "tdur" in event]
    say(
        name,
        f"{len(frames)} frames, {sum(time > LONG for time in frames)} over {LONG:.0f} ms, the longest {max(frames):.0f} ms; "
        f"{sum(time > LONG for time in wall)} tasks over {LONG:.0f} ms, the longest {max(wall):.0f} ms; "
        f"by CPU time {sum(time > LONG for time in work)}, {max(work, default=0):.0f} ms")  # fmt: skip


def measure_switches(window: Window, ada: Person, rooms: list[str]):
    def counts() -> dict:
        for _ in range(3):
            window.command("HeapProfiler.collectGarbage")
        metrics = {entry["name"]: entry["value"] for entry in window.command("Performance.getMetrics")["metrics"]}
        return {name: metrics[name] for name in ("JSHeapUsedSize", "Nodes", "JSEventListeners")}

    def say_counts(name: str):
        now = counts()
        say(
            name,
            f"heap {now['JSHeapUsedSize'] / 2**20:.2f} MiB, {now['Nodes']:.0f} nodes, "
            f"{now['JSEventListeners']:.0f} listeners")  # fmt: skip

    calls = 0

    def is_shown(place: int) -> bool:
        nonlocal calls
        calls += 1
        # The script returns no element: the driver would keep it in memory, with everything around it.
        return window.run(IS_SHOWN, f"Room {place}", f"in {place}.")

    window.command("Performance.enable")
    window.reset()
    window.enter(ada)
    for done in range(1, SWITCHES + 1):
        place = done % len(rooms)
        window.run("location.hash = `#/room/${arguments[0]}`", rooms[place])
        window.until(lambda: is_shown(place), "the room")
        if done in MEASURED_SWITCHES:
            say_counts(f"after {done} room switches")
            calls = 0 if done == MEASURED_SWITCHES[0] else calls
    # What the driver's own scripts take.
    for _ in range(calls + SWITCHES - MEASURED_SWITCHES[0]):
        is_shown(place)
    say_counts("as many driver calls, no switches")


def main():
    only = sys.argv[1:] or ["size", "list", "switches", "scroll"]
    with tempfile.TemporaryDirectory() as folder:
        parlor = Parlor("one", Path(folder) / "data")
        window = None
        try:
            if "size" in only:
                measure_size(parlor.address)
            if only == ["size"]:
                return
            ada, ben = Person(parlor.address), Person(parlor.address)
            with ThreadPoolExecutor(16) as pool:
                rooms = list(pool.map(lambda number: ada.room_with(ben, f"Room {number}"), range(ROOMS)))
                list(pool.map(lambda number: ben.send(rooms[number], f"in {number}."), range(ROOMS)))
            if "list" in only or "switches" in only:
                window = Window()
            if "list" in only:
                measure_list(window, ada)
            if "switches" in only:
                measure_switches(window, ada, rooms[:20])
            if "scroll" in only:
                fill(rooms[-1], ada, ben)
                measure_scrolling(ada, rooms[-1])
        finally:
            if window:
                window.close()
            parlor.stop()


def fill(room: str, ada: Person, ben: Person):
    """Sends messages of all lengths. Ada has read the newest, so the room opens at its end."""
    def send(number: int):
        (ada if number % 3 else ben).send(room, f"message {number} " + "word " * (number % 40))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(send, range(MESSAGES)))
    ada.read(room, *(message["id"] for message in ada.messages(room)))


if __name__ == "__main__":
    main()
