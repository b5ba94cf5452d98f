"""Nothing of the board leaves its pane, at any width, in any language."""

import pytest
from selenium.webdriver.common.keys import Keys

WIDTHS = (320, 390, 768, 1024, 1280, 1440)
# What leaves the pane that it belongs to, or cuts its own text.
OUTSIDE = """
const isShown = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length && !e.closest(".visually-hidden, svg *");
const all = (selector) => [...document.querySelectorAll(selector)].filter(isShown);
const window_ = { left: 0, right: innerWidth, top: 0, bottom: innerHeight };
const leaves = (e, pane, isScrolled) => {
    const box = e.getBoundingClientRect();
    return box.left < pane.left - 0.5 || box.right > pane.right + 0.5 || (!isScrolled && (box.top < pane.top - 0.5 || box.bottom > pane.bottom + 0.5));
};
const found = [];
const check = (parts, pane, isScrolled) => found.push(...parts.filter((e) => leaves(e, pane, isScrolled) || (e.matches("button") && e.scrollWidth > e.clientWidth + 1)));
for (const board of all(".board")) check(all(".board-tools, .board-tools *, .item-bar, .item-bar *, .notice, .notice *, .plane .empty *"), board.getBoundingClientRect());
check(all(".tabs, .tabs *, .toast, .toast *, .menu:popover-open, .menu:popover-open *, dialog[open]"), window_);
for (const dialog of all("dialog[open]")) check([...dialog.querySelectorAll("*")].filter(isShown), dialog.getBoundingClientRect(), true);
if (document.documentElement.scrollWidth > innerWidth) found.push(document.documentElement);
return found.map((e) => `${e.tagName} ${e.className} ${e.innerText ?? ""}`);
"""


@pytest.mark.parametrize("language", ["en", "de"])
def test_tools_menus_and_dialogs_stay_in_their_panes(ada, ben, open_window, language):
    room = ada.room_with(ben, "Kitchen")
    window = open_window()
    window.enter(ada, room)
    window.run("localStorage.setItem('parlor.language', arguments[0])", language)
    window.visit(ada.address, f"{room}/board")

    def at_all_widths(what: str):
        for width in WIDTHS:
            window.resize(width, 700)
            assert window.run(OUTSIDE) == [], f"{what} at {width} pixels"
        window.resize(1440, 700)

    window.shows(".plane .empty h2")
    at_all_widths("an empty board")
    window.shows(".tool.end").click()
    for width in WIDTHS:
        window.resize(width, 700)
        window.press(Keys.ESCAPE)
        window.shows(".tool.end").click()
        window.shows(".menu-item")
        assert window.run(OUTSIDE) == [], f"the menu at {width} pixels"
    window.press(Keys.ESCAPE)
    window.all(".tool")[3].click()
    at_all_widths("the pens")
    window.press(Keys.ESCAPE)
    for tool in range(3):
        window.all(".tool")[tool].click()
        window.shows("dialog .input").send_keys("x" * 200)
        at_all_widths(f"dialog {tool}")
        window.press(Keys.ESCAPE)
        window.shows("dialog .danger")
        at_all_widths("a question")
        window.one("dialog .danger").click()
        window.lacks("dialog")
    note = ada.put(room, "words")
    window.item(note).click()
    at_all_widths("the buttons of a note")
    window.press(Keys.ENTER)
    window.shows("dialog textarea").send_keys("y" * 200)
    ada.edit(room, note, text="z" * 200)
    window.shows(".item", "zzz")
    window.chord(Keys.CONTROL, Keys.ENTER)
    window.shows("dialog figure")
    at_all_widths("two versions")
    window.all("dialog .dialog-foot .button")[-3].click()
    window.lacks("dialog")
    window.press(Keys.DELETE)
    window.shows(".toast button")
    at_all_widths("a toast")


@pytest.mark.parametrize("size", [(568, 280), (740, 360), (320, 256), (1280, 360)])
def test_on_a_low_screen_no_bar_covers_the_board(ada, ben, open_window, size):
    room = ada.room_with(ben, "Kitchen")
    note = ada.put(room, "words")
    window = open_window()
    window.enter(ada, room)
    window.resize(*size)
    window.visit(ada.address, f"{room}/board")
    covered = """
        const bar = document.querySelector(".item-bar:not([hidden])").getBoundingClientRect();
        const plane = document.querySelector(".plane").getBoundingClientRect();
        return [Math.max(0, Math.round(bar.bottom - plane.top)), plane.height >= innerHeight * 0.35];"""
    window.item(note).click()
    # Once it has arrived: it comes from below.
    window.until(lambda: window.run(covered) == [0, True], "the note's buttons, beside the board")
    assert window.run(OUTSIDE) == []
    window.press(Keys.ESCAPE)
    window.all(".tool")[3].click()
    window.until(lambda: window.run(covered) == [0, True], "the pens, beside the board")
    assert window.run(OUTSIDE) == []
