"""The web client in two windows side by side, each somebody's: what one does, the other sees."""

import uuid

import pytest
from api_people import PASSWORD
from selenium.webdriver.common.keys import Keys


@pytest.fixture
def pair(ada, ben, open_window):
    """A room of two people, open in a window of each."""
    room = ada.room_with(ben, "Kitchen")
    first, second = open_window(), open_window()
    first.log_in(ada, room)
    second.log_in(ben, room)
    return first, second, room


def test_somebody_registers_and_begins_a_room(parlor, ben, open_window):
    window, other = open_window(), open_window()
    other.log_in(ben)
    window.visit(parlor.address)
    window.shows(".swap button").click()
    name = "n" + uuid.uuid4().hex[:10]
    window.shows("input[name=username]").send_keys(name)
    window.one("input[name=firstName]").send_keys("Nova")
    window.one("input[name=password]").send_keys(PASSWORD + Keys.ENTER)
    window.shows(".side-head .primary").click()
    window.shows("dialog input").send_keys(ben.username)
    window.shows("dialog .person-row").click()
    window.shows("dialog form input").send_keys("Garden" + Keys.ENTER)
    window.shows(".name-button", "Garden")
    other.row("Garden")


def test_a_wrong_password_is_said(ada, open_window):
    window = open_window()
    window.visit(ada.address)
    window.shows("input[name=username]").send_keys(ada.username)
    window.one("input[name=password]").send_keys("not the password" + Keys.ENTER)
    window.shows(".problem")


def test_messages_go_both_ways_and_typing_comes_and_goes(pair):
    first, second, _ = pair
    second.write("Tea", send=False)
    first.shows(".typing-line")
    second.press(Keys.ENTER)
    first.shows(".bubble", "Tea")
    first.lacks(".typing-line")
    second.until(lambda: second.last_state() == "Read", "read")
    first.write("is ready")
    second.shows(".bubble", "is ready")
    first.until(lambda: first.last_state() == "Read", "read")


def test_a_room_is_renamed_for_both_and_its_name_cleared(pair):
    first, second, _ = pair
    for name, shown in (("<b>Hall</b>", "<b>Hall</b>"), ("", "Name this room")):
        first.shows(".name-button").click()
        field = first.shows(".name-form input")
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys((name or Keys.BACKSPACE) + Keys.ENTER)
        second.shows(".name-button", shown)
    first.shows(".name-button").click()
    first.shows(".name-form input").send_keys("nothing of this" + Keys.ESCAPE)
    first.shows(".name-button", "Name this room")


def test_badges_move_without_entering(pair, ben):
    first, second, room = pair
    second.visit(ben.address)
    first.shows(".presence", "away")
    first.write("one")
    first.write("two")
    second.until(lambda: second.badge("Kitchen") == "2" and second.driver.title.startswith("(2)"), "two unread")
    second.row("Kitchen").click()
    second.shows(".fresh")
    first.until(lambda: first.last_state() == "Read", "read")
    second.until(lambda: second.badge("Kitchen") == "" and not second.driver.title.startswith("("), "none unread")


def test_an_element_that_one_drags_moves_for_the_other(pair, ada):
    first, second, room = pair
    note = ada.put(room, "drag me")
    mine, theirs = first.item(note), second.item(note)
    before = theirs.get_attribute("style")
    first.drag(mine, 90, 100, release=False)
    second.until(lambda: theirs.get_attribute("style") != before, "it moves while it is dragged")
    first.drag(mine, 0, 0)
    def place(window, item):
        return window.run("const s = arguments[0].style; return s.transform || s.left + s.top", item)
    second.until(lambda: place(second, theirs) == place(first, mine), "the same place")


def test_elements_are_added_edited_deleted_and_cleared_for_both(pair, ada):
    first, second, room = pair
    note = ada.put(room, "old words")
    first.item(note).click()
    first.item(note).send_keys(Keys.ENTER)
    field = first.shows("dialog textarea")
    field.clear()
    field.send_keys("new words" + Keys.CONTROL + Keys.ENTER)
    second.shows(".item", "new words")
    second.all(".tool")[0].click()
    second.shows("dialog textarea").send_keys("from Ben")
    second.shows("dialog .primary").click()
    first.shows(".item", "from Ben")
    first.item(note).click()
    first.item(note).send_keys(Keys.DELETE)
    second.lacks(".item", "new words")
    first.shows(".tool.end").click()
    first.shows("dialog .danger").click()
    second.lacks(".item")
    assert ada.elements(room) == []


def test_a_message_is_deleted_for_both(pair):
    first, second, _ = pair
    first.write("a mistake")
    second.shows(".bubble", "a mistake")
    first.until(lambda: first.last_state() in ("Sent", "Read"), "sent")
    line = first.all(".line")[-1]
    first.run("arguments[0].focus()", line)
    line.send_keys(Keys.DELETE)
    first.shows("dialog .danger").click()
    second.lacks(".bubble", "a mistake")


def test_what_is_written_while_the_server_is_away_is_kept_over_a_reload_and_sent_once(own_parlor, open_window):
    from api_people import Person

    ada, ben = Person(own_parlor.address), Person(own_parlor.address)
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, "read me offline")
    window = open_window()
    window.log_in(ada, room)
    window.shows(".bubble", "read me offline")
    assert own_parlor.stop() == 0
    window.shows(".banner")
    window.write("while away")
    window.shows(".state", "Waiting")
    # The page itself comes from the server: it is left open, and its storage read anew by the next one.
    own_parlor.start_again()
    window.lacks(".banner")
    window.until(lambda: window.last_state() in ("Sent", "Read"), "sent")
    window.driver.refresh()
    window.shows(".bubble", "while away")
    assert ada.texts(room).count("while away") == 1


def test_a_reload_in_the_middle_of_sending_loses_and_doubles_nothing(pair, ada):
    first, _, room = pair
    texts = [f"number {number}" for number in range(20)]
    for text in texts:
        first.write(text)
    first.driver.refresh()
    first.until(lambda: len([text for text in ada.texts(room) if text in texts]) == 20, "all are there")
    assert sorted(ada.texts(room)) == sorted(texts)


def test_two_tabs_of_one_person_are_signed_in_and_out_together(pair):
    first, _, _ = pair
    driver = first.driver
    driver.execute_script("window.open(location.href)")
    driver.switch_to.window(driver.window_handles[1])
    first.shows(".composer textarea")
    first.shows("[aria-haspopup]").click()
    first.until(lambda: first.all(".menu .button"), "the menu")[-1].click()
    first.shows("input[name=username]")
    driver.switch_to.window(driver.window_handles[0])
    first.shows("input[name=username]")


def test_a_failed_message_is_shown_and_sent_by_retry(pair, ada):
    first, _, room = pair
    # What goes out is spoilt, so that the server refuses it.
    first.run("""
        const send = WebSocket.prototype.send;
        window.__spoil = true;
        WebSocket.prototype.send = function (text) {
            const isSpoilt = window.__spoil && typeof text === "string" && text.includes("message:send");
            return send.call(this, isSpoilt ? text.replace(/"text":"[^"]*"/, '"text":""') : text);
        };""")
    first.write("refuse me")
    first.shows(".state.is-failed")
    first.run("window.__spoil = false")
    first.shows(".state.is-failed .text-button").click()
    first.until(lambda: first.last_state() in ("Sent", "Read"), "sent")
    assert ada.texts(room) == ["refuse me"]


def test_a_room_opens_at_its_first_unread_message(ada, ben, open_window):
    room = ada.room_with(ben, "Long")
    ben.send(room, *(f"old {number}" for number in range(120)))
    window = open_window()
    window.log_in(ada, room)
    window.shows(".fresh")
    window.shows(".bubble", "old 0")
    window.shows(".jump").click()
    window.shows(".bubble", "old 119")


HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"><svg onload=alert(1)>", "javascript:alert(1)",
    "{{constructor.constructor('alert(1)')()}}", "\u202etxt.exe", "'; DROP TABLE rooms; --", "a\u0000b".replace("\u0000", ""),
]  # fmt: skip


def test_hostile_texts_are_shown_as_text_and_run_nothing(ada, ben, open_window):
    room = ada.room_with(ben, "<img src=x onerror=alert(1)>")
    ben.send(room, *HOSTILE)
    for number, text in enumerate(HOSTILE):
        ben.put(room, text, x=20 + 10 * number, y=20 + 60 * number)
        ben.put(room, text, x=320, y=20 + 60 * number, type="link", url=text, title=text)
        ben.put(room, text, x=620, y=20 + 60 * number, type="image", url=text, alt=text)
    window = open_window()
    window.log_in(ada, room)
    for text in HOSTILE[:4]:
        window.shows(".bubble", text)
    window.shows(".name-button", "<img src=x onerror=alert(1)>")
    window.until(lambda: len(window.all(".item")) == 3 * len(HOSTILE), "the board")
    links = [link.get_attribute("href") for link in window.all(".bubble a, .plane a")]
    assert not [link for link in links if link and not link.startswith("http")]
    assert window.reports() == []


def test_everything_is_reached_by_keyboard_with_a_visible_focus(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    window = open_window()
    window.log_in(ada)
    window.row("Kitchen")
    seen = []
    for _ in range(12):
        window.press(Keys.TAB)
        seen.append(window.run("""
            const e = document.activeElement, style = getComputedStyle(e);
            return [e.className || e.tagName, style.outlineStyle !== "none" || style.boxShadow !== "none"];"""))
        if "room-row" in seen[-1][0]:
            break
    assert "room-row" in seen[-1][0] and all(is_visible for _, is_visible in seen), seen
    window.press(Keys.ENTER)
    window.shows(".composer textarea")
    window.until(lambda: window.run("return document.activeElement.tagName") == "TEXTAREA", "the focus is where one writes")
    window.press("by keys" + Keys.ENTER)
    window.shows(".bubble", "by keys")
    assert ada.texts(room) == ["by keys"]


def test_the_theme_follows_the_system_and_the_choice(ada, ben, open_window):
    ada.room_with(ben, "Kitchen")
    light, dark = open_window(), open_window(dark=True)
    for window in (light, dark):
        window.log_in(ada)
        window.row("Kitchen")

    def brightness(window) -> int:
        colour = window.run("return getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])

    assert brightness(light) > 600 and brightness(dark) < 200
    light.shows("[aria-haspopup]").click()
    light.until(lambda: light.all(".menu [role=radio]"), "the choices")[2].click()
    light.until(lambda: brightness(light) < 200, "dark by choice")


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_narrow_screen_shows_one_thing_at_a_time_and_nothing_beside_it(ada, ben, open_window, width):
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, "a word that is long: " + "x" * 200)
    window = open_window()
    window.log_in(ada)
    window.resize(width, 780, touch=True)
    window.visit(ada.address)

    def overflow() -> int:
        return window.run("return document.documentElement.scrollWidth - innerWidth")

    window.row("Kitchen")
    assert overflow() <= 0
    window.row("Kitchen").click()
    window.shows(".bubble", "a word")
    assert overflow() <= 0
