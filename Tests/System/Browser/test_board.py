"""A board in two windows side by side."""

import struct
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

# Whether an element's upper half is in the window, and nothing is above it.
IS_IN_VIEW = """
const { x, y, width, height } = arguments[0].getBoundingClientRect();
return document.elementFromPoint(x + width / 2, y + height / 3) === arguments[0];
"""


@pytest.fixture
def pictures():
    """A server of pictures: `/tall.png` has 600 × 1200 pixels. What is in `missing` is not there."""

    def png(width: int, height: int) -> bytes:
        chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))  # noqa: E731
        header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
        rows = zlib.compress((b"\0" + b"\x80" * width) * height)
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.asked.append(self.path)
            self.send_response(404 if self.path in server.missing else 200)
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if self.path not in server.missing:
                self.wfile.write(png(600, 1200))

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.missing = [], set()
    server.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


def test_an_element_that_one_drags_moves_for_the_other(pair, ada):
    first, second, room = pair
    note = ada.put(room, "drag me")
    mine, theirs = first.item(note), second.item(note)
    before = second.box(theirs)
    first.drag(mine, 90, 100, release=False)
    second.until(lambda: second.box(theirs) != before, "it moves while it is dragged")
    first.release()
    second.until(lambda: second.box(theirs)[:2] == [before[0] + 90, before[1] + 100], "the place where it was dropped")
    first.until(lambda: ada.elements(room)[0]["position"] == {"x": 150, "y": 160}, "it is stored")
    grip = first.shows(".item.is-chosen .grip")
    first.drag(grip, 60, 40)
    second.until(lambda: second.box(theirs)[2:] == [before[2] + 60, before[3] + 40], "its new size")


def test_elements_are_added_edited_ordered_deleted_and_cleared_for_both(pair, ada):
    first, second, room = pair
    note, under = ada.put(room, "old words", z=1), ada.put(room, "below", x=200, y=120, z=0)
    first.item(note).click()
    first.item(note).send_keys(Keys.ENTER)
    field = first.shows("dialog textarea")
    field.clear()
    field.send_keys("new words" + Keys.CONTROL + Keys.ENTER)
    second.shows(".item", "new words")
    first.item(under).click()
    first.shows('.item-bar [aria-label="To front"]').click()
    second.until(
        lambda: int(second.item(under).value_of_css_property("z-index"))
        > int(second.item(note).value_of_css_property("z-index")), "it is in front")  # fmt: skip
    second.all(".tool")[0].click()
    second.shows("dialog textarea").send_keys("from Ben")
    second.shows("dialog .primary").click()
    first.shows(".item", "from Ben")
    first.item(note).click()
    first.item(note).send_keys(Keys.DELETE)
    second.lacks(".item", "new words")
    first.shows(".tool.end").click()
    first.shows(".menu-item", "Clear board").click()
    first.shows("dialog .danger")
    assert first.focused()["name"] == "Cancel", "Enter, pressed once more, clears nothing"
    first.press(Keys.ENTER)
    first.lacks("dialog")
    assert len(ada.elements(room)) == 2
    first.shows(".tool.end").click()
    first.shows(".menu-item", "Clear board").click()
    first.shows("dialog .danger").click()
    second.lacks(".item")
    second.shows(".plane .empty")
    assert ada.elements(room) == []


def test_what_one_deletes_moves_or_resizes_is_undone_for_both_and_once(pair, ada):
    first, second, room = pair
    note = ada.put(room, "precious", x=80, y=90, w=230, h=120, z=3)
    under = ada.put(room, "below", x=360, y=120, z=1)
    seen = lambda: [(e["content"]["text"], e["position"], e["content"].get("w"), e["content"]["z"]) for e in ada.elements(room)]  # noqa: E731
    before = seen()
    first.item(note).click()
    first.press(Keys.DELETE)
    first.shows(".toast", "Note deleted")
    second.lacks(".item", "precious")
    first.shows(".toast button", "Undo").click()
    second.shows(".item", "precious")
    first.lacks(".toast")
    first.until(lambda: sorted(seen()) == sorted(before), "it is as it was")
    first.until(lambda: "precious" in first.focused()["name"], "and has the focus")
    # Nothing is left to undo.
    first.chord(Keys.CONTROL, "z")
    first.drag(first.item(under), 60, 70)
    first.press(Keys.ARROW_RIGHT + Keys.ARROW_RIGHT)
    first.chord(Keys.SHIFT, Keys.ARROW_DOWN)
    first.press(Keys.DELETE)
    second.lacks(".item", "below")
    for _ in range(4):
        first.chord(Keys.CONTROL, "z")
    first.until(lambda: sorted(seen()) == sorted(before[:1] + [("below", {"x": 360, "y": 120}, 208, 1)]), "all is undone")
    second.until(lambda: len(second.all(".item")) == 2, "for the other, too")
    first.chord(Keys.CONTROL, "z")
    assert len(ada.elements(room)) == 2


def test_a_double_click_deletes_one_note_and_its_toast_goes_when_it_is_undone(pair, ada):
    first, second, room = pair
    ada.put(room, "stays")
    note = ada.put(room, "goes", x=360)
    first.item(note).click()
    ActionChains(first.driver).double_click(first.shows('.item-bar [aria-label="Delete"]')).perform()
    second.lacks(".item", "goes")
    first.shows(".toast", "Note deleted")
    assert [e["content"]["text"] for e in ada.elements(room)] == ["stays"]
    first.chord(Keys.CONTROL, "z")
    first.lacks(".toast")
    second.shows(".item", "goes")


def test_an_address_in_a_note_is_a_link_and_drags_the_note(pair, ada):
    first, second, room = pair
    ada.put(room, f"see {ada.address}/healthz and <b>")
    link = first.shows(".item .note a")
    assert first.one(".item .note").text == f"see {ada.address}/healthz and <b>"
    windows = len(first.driver.window_handles)
    first.drag(link, 90, 100)
    second.until(lambda: ada.elements(room)[0]["position"] == {"x": 150, "y": 160}, "it is dragged")
    assert len(first.driver.window_handles) == windows, "and nothing is opened"
    link.click()
    first.until(lambda: len(first.driver.window_handles) == windows + 1, "it is opened")
    assert ada.elements(room)[0]["position"] == {"x": 150, "y": 160}


def test_links_strokes_and_images_are_added(pair, ada):
    first, second, room = pair
    first.all(".tool")[2].click()
    first.shows("dialog input").send_keys("javascript:alert(1)")
    first.shows("dialog .primary").click()
    first.shows("dialog .problem")
    first.one("dialog input").clear()
    first.one("dialog input").send_keys("example.org/x")
    first.shows("dialog .primary").click()
    second.shows(".item .web", "example.org")
    first.lacks("dialog")
    first.all(".tool")[3].click()
    plane = first.shows(".plane.is-drawing")
    stroke = ActionChains(first.driver, duration=0).move_to_element_with_offset(plane, -100, 150).click_and_hold()
    for x, y in ((30, -40), (30, 60), (40, -30)):
        stroke = stroke.move_by_offset(x, y)
    stroke.release().perform()
    second.shows(".item .ink")
    first.all(".tool")[3].click()
    first.all(".tool")[1].click()
    first.shows("dialog input").send_keys(f"{ada.address}/nothing.png")
    first.shows("dialog .primary").click()
    second.shows(".item .picture", "Show image")
    first.shows(".item .picture", "The image can’t be shown")
    assert sorted(element["type"] for element in ada.elements(room)) == ["image", "link", "stroke"]


def board_on_a_phone(open_window, person, width=390):
    window = open_window(width=width, height=780, touch=True)
    window.enter(person)
    window.row("Kitchen").click()
    window.shows("#tab-board").click()
    return window


def begin_edit(window, note, text: str):
    window.item(note).click()
    window.item(note).send_keys(Keys.ENTER)
    field = window.shows("dialog textarea")
    field.send_keys(text)
    return field


def test_a_key_that_is_held_deletes_one_note(pair, ada):
    first, second, room = pair
    notes = [ada.put(room, f"note {number}", x=240 * number) for number in range(3)]
    first.item(notes[2]).click()
    for is_repeated in (False, True, True):
        key = {"type": "keyDown", "key": "Delete", "code": "Delete", "windowsVirtualKeyCode": 46}
        first.command("Input.dispatchKeyEvent", autoRepeat=is_repeated, **key)
    second.lacks(".item", "note 2")
    # Later than anything that the keys could have deleted.
    first.item(notes[0]).click()
    first.press(Keys.DELETE)
    second.lacks(".item", "note 0")
    assert [element["content"]["text"] for element in ada.elements(room)] == ["note 1"]


def test_an_edit_keeps_what_the_other_changes_in_another_field(pair, ada, ben):
    first, second, room = pair
    note = ada.put(room, "plan")
    field = begin_edit(first, note, " by Ada")
    ben.edit(room, note, text="plan", tint=2)
    first.shows('.note[data-tint="2"]')
    field.send_keys(Keys.CONTROL + Keys.ENTER)
    second.shows('.note[data-tint="2"]', "plan by Ada")
    assert ada.elements(room)[0]["content"]["tint"] == 2


def test_who_has_the_focus_on_a_note_that_the_other_deletes_can_go_on_by_keys(pair, ada, ben):
    first, second, room = pair
    ada.put(room, "stays")
    note = ada.put(room, "goes", x=360)
    first.item(note).click()
    ben.take_away(room, note)
    first.lacks(".item", "goes")
    first.until(lambda: first.run("return document.activeElement.classList.contains('plane')"), "the board has the focus")


def test_of_what_both_edit_at_once_both_are_shown_and_neither_is_lost(pair, ada, ben):
    first, second, room = pair
    note = ada.put(room, "mine")
    field = begin_edit(first, note, " by Ada")
    theirs = "\n" * 12 + "by Ben"
    ben.edit(room, note, text=theirs)
    first.shows(f'.item[data-id="{note["id"]}"]', "by Ben")
    field.send_keys(Keys.CONTROL + Keys.ENTER)
    first.shows("dialog figure", "by Ben")
    first.shows("dialog figure", "mine by Ada")
    for width, height in ((320, 568), (568, 320), (1400, 860)):
        first.resize(width, height)
        assert first.run(IS_IN_VIEW, first.shows("dialog .primary", "Keep both"))
    first.press(Keys.ESCAPE)
    first.lacks("dialog figure")
    assert field.get_attribute("value") == "mine by Ada", "the edit can go on"
    field.send_keys(Keys.CONTROL + Keys.ENTER)
    first.shows("dialog .primary", "Keep both").click()
    second.shows(".item", "mine by Ada")
    assert sorted(e["content"]["text"] for e in ada.elements(room)) == [theirs, "mine by Ada"]
    field = begin_edit(first, note, " and Ada")
    ben.edit(room, note, text="by Ben again")
    first.shows(f'.item[data-id="{note["id"]}"]', "by Ben again")
    field.send_keys(Keys.CONTROL + Keys.ENTER)
    first.shows("dialog .danger", "Replace").click()
    second.shows(".item", "by Ben and Ada")
    assert len(ada.elements(room)) == 2


def test_what_the_other_changes_while_one_is_asked_is_shown_before_it_is_replaced(pair, ada, ben):
    first, second, room = pair
    note = ada.put(room, "mine")
    field = begin_edit(first, note, " by Ada")
    ben.edit(room, note, text="by Ben")
    first.shows(f'.item[data-id="{note["id"]}"]', "by Ben")
    field.send_keys(Keys.CONTROL + Keys.ENTER)
    first.shows("dialog figure", "by Ben")
    ben.edit(room, note, text="unseen words")
    first.shows(f'.item[data-id="{note["id"]}"]', "unseen words")
    first.shows("dialog .danger", "Replace").click()
    first.shows("dialog figure", "unseen words")
    assert ada.elements(room)[0]["content"]["text"] == "unseen words"
    first.shows("dialog .danger", "Replace").click()
    second.shows(".item", "mine by Ada")
    first.lacks("dialog")
    assert len(ada.elements(room)) == 1


def test_a_note_that_was_deleted_while_it_was_edited_is_saved_as_a_new_one(pair, ada):
    first, second, room = pair
    note = ada.put(room, "mine")
    field = begin_edit(first, note, ", and long")
    second.item(note).click()
    second.press(Keys.DELETE)
    first.lacks(".item")
    field.send_keys(Keys.CONTROL + Keys.ENTER)
    first.shows("dialog .primary", "Save as a new note").click()
    second.shows(".item", "mine, and long")


def test_an_edit_of_a_note_that_was_deleted_meanwhile_is_kept_while_offline(pair, ada):
    first, second, room = pair
    note = ada.put(room, "mine")
    first.item(note)
    first.cut(True)
    first.shows(".banner button")
    begin_edit(first, note, ", and long").send_keys(Keys.CONTROL + Keys.ENTER)
    second.item(note).click()
    second.press(Keys.DELETE)
    second.until(lambda: ada.elements(room) == [], "it is deleted")
    first.cut(False)
    first.shows(".notice button", "Compare").click()
    first.shows("dialog .primary", "Save as a new note").click()
    second.shows(".item", "mine, and long")
    first.lacks(".notice")


@pytest.mark.parametrize("is_deleted", [False, True])
def test_an_edit_that_others_beat_waits_until_its_board_is_opened_again(pair, ada, ben, is_deleted):
    first, second, room = pair
    note = ada.put(room, "mine")
    ada.room_with(ben, "Garden")
    first.shows(".room-row", "Garden")
    first.set_offline(True)
    begin_edit(first, note, " by Ada").send_keys(Keys.CONTROL + Keys.ENTER)
    first.lacks("dialog")
    first.row("Garden").click()
    first.shows(".name-button", "Garden")
    ben.take_away(room, note) if is_deleted else ben.edit(room, note, text="by Ben")
    first.set_offline(False)
    first.lacks(".banner")
    first.reload()
    first.row("Kitchen").click()
    first.shows(".notice button", "Compare").click()
    first.shows("dialog .primary", "Save as a new note" if is_deleted else "Keep both").click()
    second.shows(".item", "mine by Ada")
    first.lacks(".notice button")
    first.reload()
    first.shows(".item", "mine by Ada")
    first.lacks(".notice button")


def test_esc_closes_a_dialog_on_a_phone_and_stays_in_the_room(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    window = open_window(width=390, height=780)
    window.enter(ada)
    window.row("Kitchen").click()
    window.shows("#tab-board").click()
    window.shows(".tool").click()
    window.shows("dialog textarea")
    window.press(Keys.ESCAPE)
    window.lacks("dialog")
    window.shows(".board")
    assert room in window.driver.current_url
    window.press(Keys.ESCAPE)
    window.row("Kitchen")


def test_back_closes_only_the_dialog_and_asks_if_something_was_written(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    window = board_on_a_phone(open_window, ada)
    length = lambda: window.run("return history.length")  # noqa: E731
    for _ in range(3):
        window.shows(".tool").click()
        window.shows("dialog textarea").send_keys("half a note")
        entries = length()
        for _ in range(2):
            window.driver.back()
            window.shows("dialog .danger", "Discard")
            window.driver.back()
            window.lacks("dialog .danger")
            assert window.one("dialog textarea").get_attribute("value") == "half a note"
        window.driver.back()
        window.shows("dialog .danger", "Discard").click()
        window.lacks("dialog")
        window.shows(".board")
        assert length() == entries, "no entries pile up"
    window.shows(".tool").click()
    window.shows("dialog textarea")
    window.driver.back()
    window.lacks("dialog")
    window.shows(".board")
    window.shows(".tool").click()
    window.shows("dialog textarea")
    window.reload()
    window.shows(".board")
    window.lacks("dialog")
    window.until(lambda: not window.run("return history.state?.isDialog"), "the dialog's entry is left")
    window.driver.back()
    window.row("Kitchen")
    assert ada.elements(room) == []


def test_the_buttons_of_a_dialog_ask_as_esc_does(pair):
    first, _, _ = pair
    first.shows(".tool").click()
    first.shows("dialog textarea").send_keys("half a note")
    for button in ("dialog .dialog-head button", "dialog form .dialog-foot button"):
        first.shows(button).click()
        first.shows("dialog .danger", "Discard")
        assert first.focused()["name"] == "Cancel"
        first.press(Keys.ENTER)
        first.lacks("dialog .danger")
        assert first.one("dialog textarea").get_attribute("value") == "half a note"


def test_a_button_of_an_element_keeps_the_focus_when_its_change_is_stored(pair, ada):
    first, second, room = pair
    note, other = ada.put(room, "mine", z=1), ada.put(room, "other", x=300, z=5)
    depth = lambda: next(e["content"]["z"] for e in ada.elements(room) if e["id"] == note["id"])  # noqa: E731
    first.item(note)
    first.run("arguments[0].focus()", first.item(note))
    assert first.run(
        "return document.activeElement.dispatchEvent(new KeyboardEvent("
        "'keydown', { key: 'F10', shiftKey: true, bubbles: true, cancelable: true }))"), "it opens the context menu"  # fmt: skip
    first.press(Keys.F10)
    while first.focused()["name"] != "To front":
        first.press(Keys.TAB)
    first.press(Keys.ENTER)
    first.until(lambda: depth() == 6, "it is in front")
    ada.edit(room, other, text="and then", z=5)
    first.shows(".item", "and then")
    assert first.focused()["name"] == "To front"
    first.press(Keys.TAB + Keys.ENTER)
    first.until(lambda: depth() == 4, "it is behind the other")
    first.press(Keys.ESCAPE)
    first.until(lambda: "is-chosen" in first.focused()["class"], "back on the element")
    first.press(Keys.ESCAPE)
    first.lacks(".item-bar")


def test_a_half_written_note_is_discarded_only_on_purpose(pair, ada):
    first, _, room = pair

    def press_beside():
        ActionChains(first.driver, duration=0).move_to_element(first.one(".side-head")).click().perform()

    note = first.all(".tool")[0]
    note.click()
    first.shows("dialog textarea")
    press_beside()
    first.lacks("dialog")
    note.click()
    first.shows("dialog textarea").send_keys("half a")
    press_beside()
    first.shows("dialog textarea").send_keys(" note")
    # More than once, because Chromium lets a page prevent the closing itself only once after a click.
    for turn in range(6):
        if turn == 3:
            press_beside()
        first.press(Keys.ESCAPE)
        first.shows("dialog .danger", "Discard")
        assert first.one("dialog textarea").get_attribute("value") == "half a note", "it is there while the page asks"
        first.press(Keys.ESCAPE)
        first.lacks("dialog .danger")
    first.press(Keys.ESCAPE)
    first.shows("dialog .danger", "Discard")
    assert first.one("dialog textarea").get_attribute("value") == "half a note"
    first.one("dialog .danger").click()
    first.lacks("dialog")
    assert ada.elements(room) == []


def test_a_half_written_note_outlives_a_reload_and_leaving_the_room_until_it_is_added_or_discarded(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    window = open_window()
    window.enter(ada, room)

    def held() -> str:
        window.all(".tool")[0].click()
        return window.shows("dialog textarea").get_attribute("value")

    assert held() == ""
    window.one("dialog textarea").send_keys("half a note")
    window.until(lambda: window.stored(f"{ada.id}/cache/drafts/{room}/note") is not None, "it is stored")
    window.reload()
    window.shows(".composer textarea")
    assert window.one(".composer textarea").get_attribute("value") == ""
    assert held() == "half a note"
    window.shows("dialog .hint", "wrote before")
    window.shows("dialog .swatch[aria-label=Blue]").click()
    window.press(Keys.ESCAPE)
    window.shows("dialog .danger", "Discard")
    window.press(Keys.ESCAPE)
    window.lacks("dialog .danger")
    assert window.one("dialog textarea").get_attribute("value") == "half a note", "nobody has discarded it"
    window.one("dialog textarea").send_keys(", and more")
    window.run("location.hash = '#/'")
    window.lacks("dialog")
    window.row("Kitchen").click()
    window.shows(".composer textarea")
    assert held() == "half a note, and more"
    window.one("dialog textarea").send_keys(Keys.CONTROL + Keys.ENTER)
    window.shows(".item", "half a note, and more")
    assert held() == ""
    window.one("dialog textarea").send_keys("discarded")
    window.press(Keys.ESCAPE)
    window.shows("dialog .danger", "Discard").click()
    window.lacks("dialog")
    assert held() == ""


def test_a_finger_scrolls_a_note_and_drags_it_only_after_a_tap(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    note = ada.put(room, "\n".join(f"line {number}" for number in range(40)), x=60, y=160)
    window = board_on_a_phone(open_window, ada)
    item = window.item(note)
    scrolled = lambda: window.run("return arguments[0].querySelector('.note').scrollTop", item)  # noqa: E731
    window.swipe(item, 0, -60)
    window.until(lambda: scrolled() > 20, "its text scrolls")
    assert ada.elements(room)[0]["version"] == 1, "and nobody sees it move"
    settled = "const note = arguments[0].querySelector('.note'), before = note.scrollTop; setTimeout(() => arguments[1](note.scrollTop === before), 200)"
    window.until(lambda: window.driver.execute_async_script(settled, item), "a tap only ends the scrolling before")
    window.swipe(item, 0, 0)
    window.shows(".item.is-chosen")
    window.swipe(item, 40, 50)
    window.until(lambda: ada.elements(room)[0]["position"] == {"x": 100, "y": 210}, "it is dragged")
    window.swipe(item, 30, 30, end="touchCancel")
    window.until(lambda: window.box(item)[:2] == [100, 210], "a drag that the system ends goes back")
    window.until(lambda: ada.elements(room)[0]["position"] == {"x": 100, "y": 210}, "for the other, too")


def test_an_edit_that_is_not_saved_outlives_a_reload_and_another_address_and_replaces_nothing_of_others(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    note = ada.put(room, "mine")
    window = open_window()
    window.enter(ada, room)
    begin_edit(window, note, " and more")
    window.until(lambda: "mine and more" in (window.stored(f"{ada.id}/cache/drafts/{room}/{note['id']}") or ""), "it is stored")
    window.reload()
    window.shows(".composer textarea")
    field = begin_edit(window, note, ", and again")
    assert field.get_attribute("value") == "mine and more, and again"
    window.run("location.hash = '#/'")
    window.lacks("dialog")
    ben.edit(room, note, text="Ben's")
    window.row("Kitchen").click()
    window.shows(".item", "Ben's")
    field = begin_edit(window, note, "")
    assert field.get_attribute("value") == "mine and more, and again"
    field.send_keys(Keys.CONTROL + Keys.ENTER)
    window.shows("dialog .primary", "Keep both").click()
    window.lacks("dialog")
    window.until(lambda: sorted(e["content"]["text"] for e in ada.elements(room)) == ["Ben's", "mine and more, and again"], "both stay")
    assert begin_edit(window, note, "").get_attribute("value") == "Ben's", "the edit is over"


def test_two_fingers_scroll_the_board_while_one_draws(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ada.put(room, "near")
    ada.put(room, "far", x=900, y=1800)
    window = board_on_a_phone(open_window, ada)
    window.shows(".item", "near")
    window.shows('.tool[aria-label="Draw"]').click()
    window.shows(".plane.is-drawing")
    scrolled = lambda: window.run("return document.querySelector('.plane').scrollTop")  # noqa: E731
    before = scrolled()
    touch = lambda type, *points: window.command(  # noqa: E731
        "Input.dispatchTouchEvent", type=type, touchPoints=[{"x": x, "y": y, "id": id} for id, (x, y) in enumerate(points)])
    touch("touchStart", (100, 600))
    touch("touchMove", (100, 590))
    touch("touchStart", (100, 590), (200, 590))
    for step in range(1, 11):
        touch("touchMove", (100, 590 - 20 * step), (200, 590 - 20 * step))
    touch("touchEnd")
    window.until(lambda: 150 < scrolled() - before < 250, "it is scrolled")
    window.lacks(".draft path")
    window.swipe(window.one(".plane"), 60, 40)
    window.until(lambda: len(ada.elements(room)) == 3, "one finger draws")


@pytest.mark.parametrize("width", [320, 390])
def test_drawing_on_a_phone_shows_all_its_tools_and_its_end(ada, ben, open_window, width):
    room = ada.room_with(ben, "Kitchen")
    window = board_on_a_phone(open_window, ada, width)
    window.shows('.tool[aria-label="Draw"]').click()
    outside = window.run("""
        return [...document.querySelectorAll(".board button")].filter((e) => e.checkVisibility()).map((e) => [e.ariaLabel, e.getBoundingClientRect()])
            .filter(([, box]) => box.left < 0 || box.right > innerWidth).map(([name]) => name)""")
    assert outside == []
    window.swipe(window.one(".plane"), 60, 40)
    window.until(lambda: len(ada.elements(room)) == 1, "a drawing")
    window.shows('.pens [aria-label="Done"]').click()
    window.lacks(".pens")


def test_a_click_draws_a_dot(pair, ada):
    first, second, room = pair
    first.shows('.tool[aria-label="Draw"]').click()
    first.shows(".plane.is-drawing").click()
    second.shows(".item .ink")
    content = ada.elements(room)[0]["content"]
    assert content["points"] == [12, 12] and content["box"] == [24, 24]


def test_a_phone_shows_how_much_is_new_behind_the_other_tab(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ada.put(room, "by Ada herself")
    ben.put(room, "first")
    ben.put(room, "second")
    window = open_window(width=390, height=780)
    window.enter(ada)
    window.row("Kitchen").click()
    window.shows("#tab-board .badge", "2")
    window.until(lambda: len(window.all(".item")) == 3, "the board is there, though not in view")
    ben.put(room, "third")
    window.shows("#tab-board .badge", "3")
    assert window.one("#tab-board").get_attribute("aria-label") == "Board, 3 new items on the board"
    window.shows(".back").click()
    window.row("Kitchen").click()
    window.shows("#tab-board .badge", "3")
    window.shows("#tab-board").click()
    window.lacks(".tabs .badge")
    ben.send(room, "a word")
    window.shows("#tab-chat .badge", "1")
    window.shows("#tab-chat").click()
    window.shows(".bubble", "a word")
    window.lacks(".tabs .badge")
    ben.put(room, "fourth")
    window.shows("#tab-board .badge", "1")


def news(window) -> list[str]:
    """Returns what is new on the boards, as the list of rooms counts it, also while the list is out of view."""
    return sorted(window.run("return [...document.querySelectorAll('.room-row .badge.quiet')].map((e) => e.textContent)"))


def test_what_was_deleted_before_one_saw_it_counts_no_more(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    first = ben.put(room, "first")
    ben.put(room, "second")
    window = open_window(width=1024, height=780)
    window.enter(ada)
    window.until(lambda: news(window) == ["2"], "both are new")
    window.row("Kitchen").click()
    window.shows("#tab-board .badge", "2")
    window.until(lambda: len(window.all(".item")) == 2 and ada.badges(room)["elements"] == 0, "the room is open")
    ben.take_away(room, first)
    window.shows("#tab-board .badge", "1")
    window.until(lambda: news(window) == ["1"], "in the list, too")
    ben.put(room, "third")
    window.shows("#tab-board .badge", "2")
    ben.clear(room)
    window.lacks("#tab-board .badge")
    window.until(lambda: news(window) == [""], "in the list, too")


def test_two_tabs_keep_the_news_of_boards_together(ada, ben, open_window):
    kitchen, garden = ada.room_with(ben, "Kitchen"), ada.room_with(ben, "Garden")
    ben.put(kitchen, "first")
    ben.put(garden, "second")
    window = open_window(width=1024, height=780)
    window.enter(ada)
    window.until(lambda: news(window) == ["1", "1"], "both have news")
    one = window.driver.current_window_handle
    two = window.open_tab()
    window.shows(".side-head")
    for handle, room in ((one, kitchen), (two, garden)):
        window.driver.switch_to.window(handle)
        window.run("location.hash = arguments[0]", f"#/room/{room}")
        window.shows("#tab-board .badge", "1")
        window.until(lambda: ada.badges(room)["elements"] == 0, "for the server, it is seen")  # noqa: B023
    for handle in (one, two):
        window.driver.switch_to.window(handle)
        window.until(lambda: news(window) == ["1", "1"], "both tabs know both")
    window.driver.switch_to.window(one)
    window.run("location.hash = arguments[0]", f"#/room/{garden}")
    window.shows("#tab-board .badge", "1").click()
    window.driver.switch_to.window(two)
    window.lacks("#tab-board .badge")
    window.until(lambda: news(window) == ["", "1"], "it was looked at in the other tab")


@pytest.mark.parametrize("width", [390, 1024])
def test_what_is_new_on_a_board_is_counted_in_the_list_until_the_board_was_looked_at(ada, ben, open_window, width):
    room = ada.room_with(ben, "Kitchen")
    ben.put(room, "first")
    ben.put(room, "second")
    window = open_window(width=width, height=780)
    window.enter(ada)
    window.until(lambda: news(window) == ["2"], "both are new")
    window.row("Kitchen").click()
    window.shows("#tab-board .badge", "2")
    window.until(lambda: ada.badges(room)["elements"] == 0, "for the server, they are seen")
    assert news(window) == ["2"]
    ben.put(room, "third")
    window.until(lambda: news(window) == ["3"] and window.driver.title.startswith("(3)"), "it is counted, too")
    window.reload()
    window.shows("#tab-board .badge", "3")
    window.shows(".back").click() if width == 390 else window.run("location.hash = '#/'")
    window.lacks(".room")
    assert news(window) == ["3"] and "3 new items" in window.row("Kitchen").get_attribute("aria-label")
    window.until(lambda: not ben.sees(ada, room), "the room is left")
    ben.put(room, "fourth")
    window.until(lambda: news(window) == ["4"], "it is counted, too")
    window.row("Kitchen").click()
    window.shows("#tab-board .badge", "4").click()
    window.until(lambda: news(window) == [""] and window.driver.title.startswith("Kitchen"), "all are seen")
    window.reload()
    window.shows(".item", "fourth")
    assert news(window) == [""]


def test_what_is_new_on_a_board_outlives_opening_the_room_by_its_address_and_a_session_that_ends(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ben.put(room, "first")
    ben.put(room, "second")
    window = open_window(width=1024, height=780)
    window.enter(ada, room)
    window.shows("#tab-board .badge", "2")
    window.until(lambda: ada.badges(room)["elements"] == 0, "for the server, they are seen")
    ada.end_other_sessions()
    window.shows(".problem", "ended")
    window.shows("input[name=username]").clear()
    window.one("input[name=username]").send_keys(ada.username)
    window.one("input[name=password]").send_keys(ada.password + Keys.ENTER)
    window.row("Kitchen")
    window.until(lambda: news(window) == ["2"], "the list still counts them")


def test_the_tab_is_remembered_and_in_the_address(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ada.room_with(ben, "Garden")
    window = board_on_a_phone(open_window, ada)
    window.shows(".board")
    assert window.driver.current_url.endswith(f"#/room/{room}/board")
    window.reload()
    window.shows(".board")
    window.shows(".back").click()
    window.row("Garden").click()
    window.shows(".composer")
    window.driver.back()
    window.row("Kitchen").click()
    window.shows(".board")
    window.shows("#tab-chat").click()
    window.shows(".composer")
    assert window.driver.current_url.endswith(f"#/room/{room}")
    window.visit(ada.address, f"{room}/board")
    window.shows(".board")


def test_what_a_drawing_surrounds_can_be_clicked(pair, ada):
    first, _, room = pair
    note = ada.put(room, "inside", x=140, y=140, w=120, h=80, z=1)
    corners = [0, 0, 220, 0, 220, 180, 0, 180, 0, 0]
    stroke = ada.put(room, "", x=90, y=90, type="stroke", points=corners, box=[220, 180], w=220, h=180, z=2)
    first.item(note).click()
    first.shows(f'.item.is-chosen[data-id="{note["id"]}"]')
    line = ActionChains(first.driver, duration=0).move_to_element_with_offset(first.item(stroke), -104, 0)
    line.click().perform()
    first.shows(f'.item.is-chosen[data-id="{stroke["id"]}"]')
    first.shows(".item.is-chosen .grip")
    line.click_and_hold().move_by_offset(-30, 0).release().perform()
    first.until(lambda: ada.elements(room)[1]["position"] == {"x": 60, "y": 90}, "it is dragged by its line")


def test_an_image_has_its_own_shape_and_is_shown_whole(pair, ada, pictures):
    first, second, room = pair
    image = ada.put(room, "", type="image", url=f"{pictures.address}/tall.png", alt="A tower of bricks, " * 15)
    item = first.item(image)
    first.until(lambda: first.box(item)[2:] == [160, 320], "half as wide as high")
    item.click()
    first.lacks("dialog")
    first.chord(Keys.SHIFT, Keys.ARROW_DOWN)
    first.until(lambda: ada.elements(room)[0]["content"].get("h") == 328, "it is higher")
    assert ada.elements(room)[0]["content"]["w"] == 164
    item.click()
    whole = first.shows("dialog .whole")
    first.until(lambda: first.run("const { width, height } = arguments[0].getBoundingClientRect(); return Math.abs(width * 2 - height) < 2", whole), "all of it")
    for width, height in ((320, 568), (568, 320), (1400, 860)):
        first.resize(width, height)
        assert first.run(IS_IN_VIEW, whole), "also below its long description"
    first.press(Keys.ESCAPE)
    first.lacks("dialog")
    first.press(Keys.ENTER)
    first.shows("dialog .whole")


def test_a_strangers_image_is_loaded_only_when_one_asks_for_it_or_has_answered(ada, ben, open_window, pictures):
    room = ben.room_with(ada, "Kitchen")
    for name in ("one", "two"):
        ben.put(room, "", x=60 if name == "one" else 460, type="image", url=f"{pictures.address}/{name}.png", alt=name)
    window = open_window()
    window.enter(ada, room)
    window.shows(".picture", "Its server learns your network address.")
    assert pictures.asked == []
    window.shows(".picture button", "Show image").click()
    window.shows(".picture img")
    window.until(lambda: pictures.asked == ["/one.png"], "only this one")
    window.write("Who are you?")
    window.until(lambda: len(window.all(".picture img")) == 2, "one has answered")


def test_an_image_that_cannot_be_shown_links_to_its_address_and_is_tried_again(pair, ada, pictures):
    first, _, room = pair
    pictures.missing.add("/late.png")
    ada.put(room, "", type="image", url=f"{pictures.address}/late.png", alt="The garden")
    card = first.shows(".picture", "The garden")
    assert "can’t be shown" in card.text
    assert first.shows(".picture a").get_attribute("href") == f"{pictures.address}/late.png"
    pictures.missing.clear()
    first.shows(".picture button", "Try again").click()
    first.shows(".picture img")
    first.lacks(".picture button")


def test_a_board_that_was_empty_is_empty_without_a_connection_too(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ada.room_with(ben, "Garden")
    window = open_window()
    window.enter(ada, room)
    window.shows(".plane .empty", "Nothing on the board yet")
    window.cut(True)
    window.shows(".banner button")
    window.shows(".plane .empty", "Nothing on the board yet")
    window.row("Garden").click()
    window.shows(".name-button", "Garden")
    window.shows(".plane .empty", "Nothing on the board yet")


def test_the_board_grows_with_the_text(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    note = ada.put(room, "words", x=100, y=80, w=200, h=100)
    window = open_window(width=3440, height=1440)
    window.enter(ada, room)
    item = window.item(note)
    window.until(lambda: window.box(item) == [150, 120, 300, 150], "one and a half times as large")
    assert window.run("return [getComputedStyle(arguments[0]).fontSize, getComputedStyle(document.querySelector('.tool svg')).width]", item) == ["22.5px", "28.5px"]
    window.drag(item, 90, 60)
    window.until(lambda: window.box(item)[:2] == [240, 180], "it is where it was dropped")
    window.until(lambda: ada.elements(room)[0]["position"] == {"x": 160, "y": 120}, "where it is for everybody")


def test_a_new_note_covers_no_other_and_is_in_view(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    for number in range(12):
        ada.put(room, f"note {number}", x=24 + number % 4 * 220, y=24 + number // 4 * 156, w=208, h=144)
    window = open_window(width=1280, height=620)
    window.enter(ada, room)
    window.until(lambda: len(window.all(".item")) == 12, "the board")
    window.shows(".tool").click()
    window.shows("dialog textarea").send_keys("one more" + Keys.CONTROL + Keys.ENTER)
    item = window.shows(".item", "one more")
    covered = "const [a, b] = [...arguments].map((e) => e.getBoundingClientRect()); return a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top"
    assert not [other for other in window.all(".item") if other != item and window.run(covered, item, other)]
    in_view = "const box = arguments[0].getBoundingClientRect(), pane = document.querySelector('.plane').getBoundingClientRect(); return box.top >= pane.top && box.bottom <= pane.bottom"
    window.until(lambda: window.run(in_view, item), "it is in view")


def test_the_board_is_one_stop_of_the_tab_key_and_its_elements_have_short_names(pair, ada):
    first, _, room = pair
    notes = [ada.put(room, f"note {number}", x=40 + 230 * number) for number in range(3)]
    ada.put(room, "", type="link", url="https://example.org/", title="a link", x=40, y=260)
    first.until(lambda: len(first.all(".item")) == 4, "the board")
    first.run("document.querySelector('.tool.end').focus()")
    first.press(Keys.TAB)
    assert first.focused()["name"] == "Note: note 0"
    assert first.run("return document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent").startswith("Arrow keys move")
    names = []
    for key in (Keys.PAGE_DOWN, Keys.PAGE_DOWN, Keys.PAGE_DOWN, Keys.PAGE_DOWN, Keys.PAGE_UP, Keys.HOME, Keys.END, Keys.HOME):
        first.press(key)
        names.append(first.focused()["name"][-6:])
    assert names == ["note 1", "note 2", "a link", "note 0", "a link", "note 0", "a link", "note 0"]
    first.press(Keys.TAB)
    assert "item" not in first.focused()["class"].split()
    first.chord(Keys.SHIFT, Keys.TAB)
    assert first.focused()["name"] == "Note: note 0"
    first.press(Keys.PAGE_DOWN)
    first.item(notes[1])
    first.press(Keys.DELETE + Keys.DELETE)
    first.until(lambda: len(ada.elements(room)) == 2, "two are deleted")
    first.until(lambda: first.run("return document.querySelectorAll('.item[tabindex=\"0\"]').length") == 1, "one stop")


def test_colours_have_names_and_stay_apart_in_high_contrast(pair, ada):
    first, _, room = pair
    for tint in (0, 2):
        ada.put(room, "words", x=60 + 230 * tint, tint=tint)
    first.command("Emulation.setEmulatedMedia", features=[{"name": "forced-colors", "value": "active"}])
    first.shows(".tool").click()
    first.shows("dialog textarea")
    assert first.run("return [...document.querySelectorAll('dialog .swatch')].map((e) => e.ariaLabel)") == ["Yellow", "Green", "Blue", "Pink", "White"]
    colours = lambda selector, part="": first.run(  # noqa: E731
        "return [...document.querySelectorAll(arguments[0])].map((e) => getComputedStyle(e, arguments[1]).backgroundColor)", selector, part)
    assert len(set(colours("dialog .swatch", "::before"))) == 5
    assert len(set(colours(".note"))) == 2


def test_what_comes_back_is_behind_what_it_was_behind(pair, ada):
    first, second, room = pair
    # From a client that sets no order.
    ada.put(room, "below", x=60, y=60)
    ada.put(room, "above", x=100, y=100)
    first.shows(".item", "above")
    first.run("arguments[0].focus()", first.shows(".item", "below"))
    first.press(Keys.DELETE)
    second.lacks(".item", "below")
    first.chord(Keys.CONTROL, "z")
    second.shows(".item", "below")
    for window in (first, second):
        depth = [int(window.shows(".item", text).value_of_css_property("z-index")) for text in ("below", "above")]
        assert depth == [0, 1]
