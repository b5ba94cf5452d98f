"""Keyboard, themes, narrow screens."""

import pytest
from selenium.webdriver.common.keys import Keys


def test_everything_is_reached_by_keyboard_with_a_visible_focus(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    window = open_window()
    window.enter(ada)
    window.row("Kitchen")
    seen = []
    while not seen or "room-row" not in seen[-1]["class"]:
        window.press(Keys.TAB)
        seen.append(window.focused())
        assert seen[-1]["isVisible"] and seen[-1]["name"] and len(seen) < 12, seen
    assert len(seen) > 5, "a link past the list, a new room, the menu, the search, the grouping, the order"
    window.press(Keys.ENTER)
    window.shows(".composer textarea")
    window.until(lambda: window.focused()["tag"] == "TEXTAREA", "the focus is where one writes")
    window.press("by keys" + Keys.ENTER)
    window.shows(".bubble", "by keys")
    window.wait_until_sent()
    window.press(Keys.ARROW_UP)
    window.until(lambda: "by keys" in window.focused()["name"], "the message has the focus")
    window.press(Keys.ESCAPE)
    window.until(lambda: window.focused()["tag"] == "TEXTAREA", "and the composer again")
    while "tool" not in window.focused()["class"].split():
        window.press(Keys.TAB)
        assert window.focused()["isVisible"]
    window.press(Keys.ENTER)
    window.shows("dialog textarea")
    window.press("by keys alone")
    window.chord(Keys.CONTROL, Keys.ENTER)
    window.shows(".item", "by keys alone")
    window.until(lambda: "item" in window.focused()["class"].split(), "the new note has the focus")
    before = window.until(lambda: ada.elements(room), "it is stored")[0]["position"]
    window.press(Keys.ARROW_RIGHT)
    window.until(lambda: ada.elements(room)[0]["position"] == before | {"x": before["x"] + 8}, "it moves")
    window.press(Keys.DELETE)
    window.lacks(".item")
    window.until(lambda: ada.elements(room) == [], "it is deleted")


def brightness(window) -> int:
    colour = window.run("return getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])


def test_the_theme_follows_the_system_and_the_choice(ada, ben, open_window):
    ada.room_with(ben, "Kitchen")
    dark = open_window(dark=True)
    dark.enter(ada)
    assert brightness(dark) < 200
    light = open_window()
    light.enter(ben)
    light.row("Kitchen")
    assert brightness(light) > 600
    light.account_menu()
    light.until(lambda: light.all(".menu [role=radio]")[2], "the choices").click()
    light.until(lambda: brightness(light) < 200, "dark by choice")
    light.reload()
    assert brightness(light) < 200, "before anything is drawn"


def test_the_language_is_chosen_and_kept(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    window = open_window()
    window.enter(ada, room)
    window.account_menu("Deutsch")
    window.until(lambda: "Nachricht" in window.one(".composer textarea").get_attribute("placeholder"), "German")
    window.reload()
    window.shows("html[lang=de] .composer textarea")


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_shows_one_thing_at_a_time_all_of_it_large_enough_to_touch(ada, ben, open_window, width):
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, "a word that is long: " + "x" * 200)
    ada.put(room, "a note")
    window = open_window(width=width, height=780, touch=True)
    window.enter(ada)

    def check():
        assert window.run("return document.documentElement.scrollWidth - innerWidth") <= 0
        small = window.run("""
            return [...document.querySelectorAll("button, a, input, select, textarea, [tabindex='0']")]
                .filter((e) => e.checkVisibility() && e.getClientRects().length && !e.closest(".bubble, .visually-hidden, .item"))
                .map((e) => [e.className || e.tagName, e.getBoundingClientRect().width, e.getBoundingClientRect().height])
                .filter(([name, width, height]) => name !== "skip" && (width < 43.9 || height < 43.9));""")
        assert small == []

    window.row("Kitchen")
    window.lacks(".room")
    check()
    window.row("Kitchen").click()
    window.shows(".bubble", "a word")
    window.lacks(".room-row")
    window.lacks(".board")
    check()
    window.shows("#tab-board").click()
    window.shows(".item", "a note")
    window.lacks(".bubble")
    check()
    window.shows(".back").click()
    window.row("Kitchen")


def test_on_a_touch_screen_no_keyboard_opens_with_a_room(ada, ben, open_window):
    ada.room_with(ben, "Kitchen")
    window = open_window(width=390, height=780, touch=True)
    window.enter(ada)
    window.row("Kitchen").click()
    window.shows(".composer textarea")
    window.until(lambda: window.focused()["class"] == "stage", "the room has the focus")
    window.reload()
    window.until(lambda: window.focused()["class"] == "stage", "the room has the focus again")
    assert not window.focused()["isVisible"], "of the ring around it, only a bar would be in view"


def test_on_a_touch_screen_no_keyboard_opens_when_one_jumps_to_new_messages(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, *(f"number {number}" for number in range(60)))
    window = open_window(width=390, height=780, touch=True)
    window.enter(ada)
    window.row("Kitchen").click()
    window.shows(".jump").click()
    window.lacks(".jump")
    window.until(lambda: window.focused()["class"] == "scroller", "the messages have the focus")


def test_the_name_of_a_row_is_short_and_has_the_time(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, "x" * 4000)
    window = open_window()
    window.enter(ada)
    window.until(lambda: "x" in window.row("Kitchen").get_attribute("aria-label"), "the message")
    label = window.row("Kitchen").get_attribute("aria-label")
    assert len(label) < 500 and "just now" in label


def test_the_language_that_is_chosen_keeps_the_focus_where_one_chose_it(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    window = open_window()
    window.enter(ada, room)
    window.account_menu("Deutsch")
    window.until(lambda: window.focused()["name"] == "Konto und Einstellungen", "the menu's button has the focus")


def test_sizes_change_at_once_where_motion_is_reduced(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, "hello")
    window = open_window()
    window.enter(ada, room)
    window.shows(".bubble", "hello")
    assert window.run("return matchMedia('(prefers-reduced-motion: reduce)').matches")
    height = "const space = document.querySelector('.lines > div'); space.style.height = '123px'; return space.offsetHeight"
    assert window.run(height) == 123, "the list of messages scrolls by what it has just set"


def test_tabs_name_their_panels_where_there_are_tabs(ada, ben, open_window):
    ada.room_with(ben, "Kitchen")
    window = open_window(width=390, height=780)
    window.enter(ada)
    window.row("Kitchen").click()
    assert window.shows("[role=tablist]").get_attribute("aria-label") == "Chat and board"
    names = lambda: window.run(  # noqa: E731
        "return [...document.querySelectorAll('[role=tab]')].map((tab) => document.getElementById(tab.getAttribute('aria-controls')))"
        ".map((pane) => [pane.getAttribute('role'), pane.getAttribute('aria-label')])")
    assert names() == [["tabpanel", "Chat"], ["tabpanel", "Board"]]
    window.resize(1400, 860)
    window.until(lambda: names() == [[None, "Chat"], [None, "Board"]], "both are shown")
