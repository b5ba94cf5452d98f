"""What `parlor --demo` shows: links that sign in, somebody who answers, and no serious finding of axe-core on any screen."""

import os
from pathlib import Path

import pytest
from parlor import ROOT
from selenium.webdriver.common.keys import Keys

AXE = next(ROOT.glob(".venv/lib/python*/site-packages/axe_playwright_python/axe.min.js")).read_text()
# Those that the documents show.
PICTURES = {
    ("room", "light"), ("room", "dark"), ("people", "light"), ("sign-in", "light"), ("rooms", "phone"), ("room", "phone"),
    ("board", "phone"),
}  # fmt: skip
CHECK = """
const done = arguments[0];
axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => done(violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(" ")}: ${node.failureSummary}`))));
"""


def test_two_links_sign_in_and_somebody_answers(demo, open_window):
    ada, ben = open_window(), open_window()
    ada.visit_link(demo["ada"])
    ben.visit_link(demo["ben"])
    assert "demo" not in ada.driver.current_url
    ada.row("Kitchen plans").click()
    ben.row("Kitchen plans").click()
    ada.shows(".item", "window seat")
    ada.shows(".presence.is-here")
    ben.write("Monday, then")
    ada.shows(".bubble", "Monday, then")
    ada.row("A surprise for Ben").click()
    ada.shows(".name-button", "A surprise for Ben")
    ada.write("Hello?")
    ada.shows(".typing-line", "Cleo")
    ada.shows(".presence.is-here", "Cleo")
    ada.shows(".bubble", "I belong to the demo")
    ada.lacks(".typing-line", "Cleo")
    ada.until(lambda: ada.last_state() == "Read", "she has read it")


def test_a_link_signs_nobody_in_without_a_question(demo, open_window):
    ada = open_window()
    ada.visit_link(demo["ada"])
    ada.driver.get("about:blank")
    # At Ada's address: the demo has another one for each person.
    ada.driver.get(demo["ada"].split("/#")[0] + "/#" + demo["ben"].split("/#")[1].strip())
    ada.shows("dialog h2", "ben")
    ada.shows("dialog button", "Cancel").click()
    ada.row("A surprise for Ben")  # a room that Ben does not have


def screens(window):
    """Yields each screen once it is ready, with its name for the pictures."""
    window.shows(".room-row", "Kitchen plans")
    yield "rooms"
    window.shows(".segments button", "People").click()
    window.shows(".person-head", "Cleo")
    yield "people"
    window.shows(".segments button", "Rooms").click()
    window.row("Kitchen plans").click()
    window.shows(".bubble", "carpenter")
    window.until(lambda: len(window.all(".item")) >= 8 or window.all(".tabs [role=tab]")[0].is_displayed(), "the board")
    window.until(lambda: window.run("return !document.querySelector('.badge')?.innerText"), "all is read")
    yield "room"
    if window.all("#tab-board")[0].is_displayed():
        window.shows("#tab-board").click()
        window.shows(".item", "window seat")
        yield "board"
        window.shows(".back").click()
        window.row("Kitchen plans")
    else:
        window.shows(".item", "window seat").click()
        window.shows(".item-bar")
        yield "element"
    window.shows(".side-head .primary").click()
    window.shows("dialog .person-row")
    yield "new-room"
    window.press(Keys.ESCAPE)
    window.lacks("dialog")
    yield from window.account_screens()
    window.account_menu("Sign out")
    window.shows("input[name=username]")
    yield "sign-in"
    window.shows(".swap button").click()
    window.shows("input[name=firstName]")
    yield "register"
    window.shows("form .primary").click()
    window.shows(".field .problem")
    yield "refused"


@pytest.mark.parametrize("form", ["light", "dark", "phone"])
def test_no_screen_has_a_serious_finding(demo, open_window, form):
    size = {"width": 390, "height": 844, "touch": True} if form == "phone" else {"width": 1440, "height": 900}
    window = open_window(dark=form == "dark", **size)
    window.visit_link(demo["ada"])
    findings = {}
    for name in screens(window):
        if (folder := os.environ.get("BROWSER_SCREENS")) and (name, form) in PICTURES:
            window.save_picture(Path(folder) / f"{name}-{form}.webp")
        window.run(AXE)
        if found := window.driver.execute_async_script(CHECK):
            findings[name] = found
    assert findings == {}
