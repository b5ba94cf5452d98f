"""One room in two windows side by side: each shows the other's changes."""

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys


def test_messages_go_both_ways_and_typing_comes_and_goes(pair):
    first, second, _ = pair
    second.write("Tea", send=False)
    first.shows(".typing-line", "typing")
    first.shows(".room-row .is-typing")
    second.press(Keys.ENTER)
    first.shows(".bubble", "Tea")
    first.lacks(".typing-line", "typing")
    second.until(lambda: second.last_state() == "Read", "read")
    first.until(lambda: first.run("return __announced.length"), "a screen reader says it")
    assert len(first.run("return __announced")) == 1 and "Tea" in first.run("return __announced[0]")
    first.write("is ready")
    second.shows(".bubble", "is ready")
    first.until(lambda: first.last_state() == "Read", "read")
    first.write("two lines" + Keys.SHIFT + Keys.ENTER + Keys.NULL + "here")
    second.until(lambda: "two lines\nhere" in second.texts(".bubble"), "a break")


def test_typing_ends_without_a_message(pair):
    first, second, _ = pair
    second.write("Never mind", send=False)
    first.shows(".typing-line", "typing")
    second.press(Keys.ESCAPE)
    first.lacks(".typing-line", "typing")


def test_a_room_is_renamed_for_both_and_its_name_cleared(pair):
    first, second, _ = pair
    for name, shown in (("<b>Hall</b>", "<b>Hall</b>"), ("", "Name this room")):
        first.shows(".name-button").click()
        field = first.shows(".name-form input")
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys((name or Keys.BACKSPACE) + Keys.ENTER)
        second.shows(".name-button", shown)
    second.row("Unnamed room")
    first.shows(".name-button").click()
    first.shows(".name-form input").send_keys("nothing of this" + Keys.ESCAPE)
    first.shows(".name-button", "Name this room")


def test_who_is_here_is_shown_in_the_open_room_alone_and_only_while_there_is_a_connection(ada, ben, open_window):
    kitchen, garden = ada.room_with(ben, "Kitchen"), ada.room_with(ben, "Garden")
    first, second = open_window(), open_window()
    second.enter(ben, garden)
    second.until(lambda: ada.sees(ben, garden), "Ben is in the garden")
    first.enter(ada, kitchen)
    first.shows(".presence", "away")
    first.lacks(".room-row.is-active")  # neither by Ben elsewhere, nor by Ada herself
    second.visit(ben.address, kitchen)
    first.shows(".presence.is-here")
    assert "Kitchen" in first.shows(".room-row.is-active").get_attribute("aria-label")
    assert "Someone is in this room now" in first.row("Kitchen").get_attribute("aria-label")
    first.set_offline(True)
    first.lacks(".presence")
    first.lacks(".is-active")
    first.set_offline(False)
    first.shows(".presence.is-here")
    first.row("Garden").click()
    first.shows(".name-button", "Garden")
    first.lacks(".room-row.is-active")
    first.shows(".presence", "away")


def test_badges_move_without_entering(pair, ben):
    first, second, room = pair
    second.visit(ben.address)
    first.shows(".presence", "away")
    first.write("one")
    first.write("two")
    second.until(lambda: second.badge("Kitchen") == "2" and second.driver.title.startswith("(2)"), "two unread")
    second.shows(".room-row .last", "two")
    second.row("Kitchen").click()
    second.shows(".fresh")
    first.until(lambda: first.last_state() == "Read", "read")
    second.until(lambda: second.badge("Kitchen") == "" and not second.driver.title.startswith("("), "none unread")


def test_a_room_that_somebody_else_makes_is_marked_and_announced_until_it_is_opened(ada, ben, open_window):
    ada.room_with(ben, "Old")
    window = open_window()
    window.enter(ada)
    window.lacks(".room-row .badge", "New")
    ben.room_with(ada, "Surprise")
    window.shows(".room-row .badge", "New")
    assert window.row("Surprise").get_attribute("aria-label").startswith("New, Surprise")
    window.until(lambda: window.driver.title.startswith("(1)"), "the title")
    window.until(lambda: any("made a room with you: Surprise" in said for said in window.run("return __announced")), "it is announced")
    window.row("Surprise").click()
    window.lacks(".room-row .badge", "New")
    window.until(lambda: window.driver.title.startswith("Surprise"), "the title")


def test_a_room_that_moves_to_the_top_of_the_list_keeps_the_focus(ada, ben, open_window):
    quiet, other = ada.room_with(ben, "Quiet"), ada.room_with(ben, "Other")
    ben.send(other, "hello")
    window = open_window()
    window.enter(ada)
    window.until(lambda: [text.split("\n")[0] for text in window.texts(".room-row .title")] == ["Other", "Quiet"], "the order")
    window.run("arguments[0].focus()", window.row("Quiet"))
    ben.send(quiet, "hello")
    window.until(lambda: [text.split("\n")[0] for text in window.texts(".room-row .title")] == ["Quiet", "Other"], "the order")
    assert "Quiet" in window.focused()["name"] and "room-row" in window.focused()["class"]


def test_badges_of_the_board_move_without_entering(pair, ben):
    first, second, room = pair
    second.visit(ben.address)
    first.shows(".presence", "away")
    first.all(".tool")[0].click()
    first.shows("dialog textarea").send_keys("a note")
    first.shows("dialog .primary").click()
    second.shows(".room-row .badge.quiet", "1")
    second.row("Kitchen").click()
    second.lacks(".room-row .badge.quiet", "1")
    second.shows(".item", "a note")


def long_chat(sender, ada, ben, open_window, count: int = 60):
    """Returns a room with more messages than fit, and a window in which ada has opened it."""
    room = ada.room_with(ben, "Kitchen")
    sender.send(room, *(f"old {number}" for number in range(count)))
    window = open_window()
    window.enter(ada, room)
    return room, window


FROM_END = "const e = document.querySelector('.scroller'); return Math.round(e.scrollHeight - e.scrollTop - e.clientHeight)"


def test_who_writes_several_lines_stays_at_the_end_and_reads_what_arrives(ada, ben, open_window):
    room, window = long_chat(ada, ada, ben, open_window)
    window.shows(".bubble", "old 59")
    for _ in range(5):
        window.write("line" + Keys.SHIFT + Keys.ENTER + Keys.NULL, send=False)
    window.driver.execute_async_script(TWO_FRAMES)
    window.write("x", send=False)
    window.driver.execute_async_script(TWO_FRAMES)
    assert window.run(FROM_END) == 0
    window.lacks(".jump")
    ben.send(room, "while you write")
    window.until(lambda: window.run(IS_IN_VIEW, "while you write"), "the message")
    window.until(lambda: all(m["readStatus"] for m in ben.messages(room) if m["senderId"] == ben.id), "it is read")
    # Somebody scrolls up a little, and the field, which loses two lines, shows the end again.
    window.run("document.querySelector('.scroller').scrollBy(0, -70)")
    window.shows(".jump")
    window.write(Keys.BACKSPACE * 7, send=False)
    window.lacks(".jump")
    ben.send(room, "and then")
    window.until(lambda: window.run(IS_IN_VIEW, "and then"), "the next message")


def test_the_field_has_the_height_of_its_text_in_every_width_and_after_it_was_hidden(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    window = open_window()
    window.enter(ada, room)
    fits = "const area = document.querySelector('.composer textarea'); return area.clientHeight > 0 && area.scrollHeight - area.clientHeight"
    window.write("some words that take more than one line on a phone, and one on a desk, " * 2, send=False)
    for width in (1400, 390, 320, 700, 1400):
        window.resize(width, 860)
        window.until(lambda: window.run(fits) == 0, f"all of the text at {width}")
    window.resize(390, 860)
    window.shows('[role="tab"]', "Board").click()
    window.driver.refresh()
    window.shows('[role="tab"]', "Chat").click()
    window.until(lambda: window.run(fits) == 0, "all of the text after it was hidden")


def test_what_is_typed_after_a_press_on_a_message_goes_to_the_field(ada, ben, open_window):
    _, window = long_chat(ben, ada, ben, open_window)
    window.shows(".fresh")
    window.shows(".jump").click()
    window.shows(".bubble", "old 59").click()
    window.press("ok")
    assert window.one(".composer textarea").get_attribute("value") == "ok"
    # Esc leaves the field for the messages, where keys scroll.
    window.press(Keys.ESCAPE)
    window.until(lambda: window.focused()["class"] == "scroller", "the messages have the focus")
    window.press(Keys.PAGE_UP)
    window.shows(".jump")
    window.press("!" + Keys.ENTER)
    window.shows(".bubble", "ok!")
    window.lacks(".fresh")


def test_a_message_that_is_too_long_is_not_sent_and_says_by_how_much(pair):
    first, _, _ = pair
    first.run("""
        const area = document.querySelector(".composer textarea");
        area.value = "x".repeat(4003);
        area.dispatchEvent(new Event("input", { bubbles: true }));
        area.focus();""")
    first.shows(".composer .left", "3 characters too many")
    first.press(Keys.ENTER)
    first.until(lambda: "3 characters too many" in first.run("return __announced").__str__(), "it is announced")
    first.lacks(".bubble")


def test_a_message_that_the_server_refuses_says_so_and_is_edited_and_sent(pair, ada):
    first, second, room = pair
    marks = "\u0301" * 129
    first.write("half a word", send=False)
    first.run("""
        const area = document.querySelector(".composer textarea");
        area.value = arguments[0];
        area.dispatchEvent(new Event("input", { bubbles: true }));""", f"accents: a{marks}")
    first.press(Keys.ENTER)
    first.shows(".state.is-failed", "This is not accepted. Please change it.")
    first.write("and more", send=False)
    first.shows(".state.is-failed button", "Edit").click()
    first.lacks(".bubble")
    assert first.run("return document.activeElement === document.querySelector('.composer textarea')")
    # The cursor is after the text, before what was in the field.
    first.press(*[Keys.BACKSPACE] * 130, "b")
    value = lambda: first.one(".composer textarea").get_attribute("value")  # noqa: E731
    first.until(lambda: value() == "accents: b\nand more", "the text, and what was there")
    first.press(Keys.ENTER)
    second.shows(".bubble", "accents: b\nand more")
    assert ada.texts(room) == ["accents: b\nand more"]


def test_a_message_that_shows_nothing_is_not_sent(pair, ada):
    first, _, room = pair
    for text in ("\u200b\u2060", "\u2800 \u3164", "\u202e"):
        first.write(text)
        assert first.run("return document.querySelector('.composer [type=submit]').disabled"), text.encode()
        first.one(".composer textarea").clear()
    first.write("\u200bseen")
    first.wait_until_sent()
    assert ada.texts(room) == ["\u200bseen"]


def test_a_message_is_deleted_for_both(pair):
    first, second, _ = pair
    first.write("a mistake")
    second.shows(".bubble", "a mistake")
    first.wait_until_sent()
    line = first.all(".line")[-1]
    first.run("arguments[0].focus()", line)
    line.send_keys(Keys.DELETE)
    first.shows("dialog .danger").click()
    second.lacks(".bubble", "a mistake")
    first.lacks(".bubble", "a mistake")


def test_who_deletes_messages_by_keyboard_keeps_the_focus_among_them(pair):
    first, _, _ = pair
    for text in ("one", "two", "three"):
        first.write(text)
        first.wait_until_sent()
    first.press(Keys.ARROW_UP, Keys.ARROW_UP)
    first.until(lambda: "two" in first.focused()["name"], "the second has the focus")
    for left in ("three", "one"):
        first.press(Keys.DELETE)
        first.shows("dialog .danger")
        first.press(Keys.TAB + Keys.ENTER)
        first.until(lambda: left in first.focused()["name"], f"{left} has the focus")
    first.press(Keys.DELETE)
    first.shows("dialog .danger")
    first.press(Keys.TAB + Keys.ENTER)
    first.shows(".chat-empty h2")
    first.until(lambda: first.focused()["tag"] == "TEXTAREA", "the composer has the focus")


def test_a_room_opens_at_its_first_unread_message(ada, ben, open_window):
    _, window = long_chat(ben, ada, ben, open_window, count=70)
    window.shows(".fresh")
    window.shows(".bubble", "old 0")
    window.shows(".jump").click()
    window.shows(".bubble", "old 69")
    window.lacks(".jump")


HOLD_FRAMES = """
    const frame = requestAnimationFrame.bind(window), held = [];
    window.requestAnimationFrame = (run) => held.push(run);
    window.__release = () => { window.requestAnimationFrame = frame; held.forEach((run) => frame(run)); };"""
FETCHES = "return performance.getEntriesByType('resource').filter(({ name }) => name.includes('/messages?')).length"


def test_a_room_opens_at_its_first_unread_message_also_if_all_has_come_before_the_first_frame(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, *(f"old {number}" for number in range(40)))
    window = open_window()
    with window.scripted(HOLD_FRAMES):
        window.enter(ada, room)
    # The second page comes when the connection has caught up.
    window.until(lambda: window.run(FETCHES) >= 2 and ada.sees(ada, room), "the messages")
    window.run("setTimeout(__release, 500)")
    window.shows(".fresh")
    assert ada.badges(room)["messages"] > 0


def test_who_jumps_to_the_latest_message_has_read_the_room(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, *(f"number {number}" for number in range(670)))
    window = open_window()
    window.enter(ada)
    window.until(lambda: window.badge("Kitchen") == "99+" and window.driver.title.startswith("(99+)"), "all are unread")
    window.row("Kitchen").click()
    window.shows(".fresh")
    window.until(lambda: window.run(IS_IN_VIEW, "number 0"), "the first of them, however far back")
    window.shows(".jump", "new messages").click()
    window.shows(".bubble", "number 669")
    window.until(lambda: window.badge("Kitchen") == "" and window.driver.title.startswith("Kitchen"), "none is unread")
    window.until(lambda: ada.badges(room)["messages"] == 0, "the server knows")


def test_who_goes_to_the_end_without_a_connection_has_no_unread_messages_in_the_list(ada, ben, open_window):
    _, window = long_chat(ben, ada, ben, open_window, count=150)
    window.shows(".fresh")
    window.until(lambda: window.badge("Kitchen") == "99+", "some are unread")
    window.until(lambda: window.run(IS_IN_VIEW, "old 0"), "the first of them")
    window.set_offline(True)
    window.shows(".banner")
    # What had to be drawn for that.
    window.driver.execute_async_script(TWO_FRAMES)
    window.shows(".jump", "new messages").click()
    window.until(lambda: window.badge("Kitchen") == "" and window.driver.title.startswith("Kitchen"), "none is unread")


def test_what_was_skipped_is_read_also_if_it_was_never_loaded(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, *(f"number {number}" for number in range(70)))
    window = open_window()
    window.enter(ada)
    # Nothing older is loaded until the person is at the end.
    window.run("""
        const { fetch } = window;
        window.fetch = (address, ...rest) => /messages.*before=/.test(address) && !window.__isAtEnd
            ? new Promise(() => {}) : fetch(address, ...rest);""")
    window.row("Kitchen").click()
    window.shows(".jump")
    window.run("window.__isAtEnd = true")
    window.shows(".jump").click()
    window.until(lambda: ada.badges(room)["messages"] == 0, "all are read")


# As if the server had counted many unread messages.
COUNT_MANY = """
    const { text } = Response.prototype;
    Response.prototype.text = async function () {
        return (await text.call(this)).replace(/"messages":\\d+/g, '"messages":5000');
    };"""


def test_a_room_with_too_much_to_read_opens_at_its_newest_message(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, *(f"number {number}" for number in range(70)))
    window = open_window()
    with window.scripted(COUNT_MANY):
        window.enter(ada)
    window.until(lambda: window.badge("Kitchen") == "99+", "they are many")
    window.row("Kitchen").click()
    window.shows(".bubble", "number 69")
    window.until(lambda: ada.badges(room)["messages"] == 0, "all are read")
    assert window.run(FROM_END) == 0 and not window.all(".fresh")


def test_a_room_is_marked_as_read_in_the_list_by_mouse_and_by_keyboard(ada, ben, open_window):
    rooms = [ada.room_with(ben, name) for name in ("Kitchen", "Garden", "Attic")]
    for room in rooms[:2]:
        ben.send(room, *(f"number {number}" for number in range(3)))
    window = open_window()
    window.enter(ada)
    window.until(lambda: window.badge("Kitchen") == "3", "it is unread")
    ActionChains(window.driver).context_click(window.row("Kitchen")).perform()
    window.shows(".menu-item", "Mark as read").click()
    window.until(lambda: window.badge("Kitchen") == "" and ada.badges(rooms[0])["messages"] == 0, "it is read")
    assert "Kitchen" in window.focused()["name"], "the focus is where it was"
    window.run("arguments[0].focus()", window.row("Garden"))
    window.press(Keys.F10)
    window.shows(".menu-item", "Mark as read")
    window.press(Keys.ESCAPE)
    window.lacks(".menu-item")
    assert "Garden" in window.focused()["name"]
    for move, change in (("down", lambda: ada.room_with(ben, "Cellar")), ("up", lambda: ben.send(rooms[1], "one more"))):
        window.press(Keys.F10)
        window.shows(".menu-item", "Mark as read")
        change()
        window.lacks(".menu-item")
        window.until(lambda: "room-row" in window.focused()["class"], f"the row went {move}, and has the focus")
    window.press(Keys.SHIFT + Keys.F10)
    window.shows(".menu-item", "Mark as read")
    window.press(Keys.ENTER)
    window.until(lambda: window.badge("Garden") == "" and ada.badges(rooms[1])["messages"] == 0, "it is read")
    assert window.texts(".room-row[aria-haspopup]") == [], "where nothing is unread, the browser's own menu opens"


def test_a_page_that_stays_hidden_leaves_its_room_and_returns_to_it(pair):
    first, second, _ = pair
    page = first.driver.current_window_handle
    first.write("hello")
    second.shows(".bubble", "hello")
    first.driver.switch_to.new_window("tab")
    second.shows(".presence", "away")
    second.write("are you there?")
    titles = lambda: [target["title"] for target in first.command("Target.getTargets")["targetInfos"]]  # noqa: E731
    first.until(lambda: any(title.startswith("(1) Kitchen") for title in titles()), "the hidden page's title")
    first.driver.switch_to.window(page)
    first.shows(".bubble", "are you there?")
    second.shows(".presence.is-here")
    second.until(lambda: second.last_state() == "Read", "read")
    assert first.texts(".bubble") == ["hello", "are you there?"]


NOTICES = """
window.__notices = [];
window.Notification = class {
    static permission = "default";
    static async requestPermission() { return (this.permission = window.__answer ?? "granted"); }
    constructor(title, options) {
        Object.assign(this, options, { title });
        for (const other of __notices) if (other.tag === this.tag) other.close();
        __notices.push(this);
    }
    close() { this.isClosed = true; }
};
let isHidden = false;
Object.defineProperty(Document.prototype, "hidden", { get: () => isHidden });
window.__hide = (is) => { isHidden = is; document.dispatchEvent(new Event("visibilitychange", { bubbles: true })); };
"""
SHOWN = "return __notices.filter((one) => !one.isClosed).map(({ title, body }) => `${title}: ${body}`)"


def test_a_hidden_page_shows_notifications_of_messages_once_they_are_turned_on(ada, ben, open_window):
    kitchen, garden = ada.room_with(ben, "Kitchen"), ada.room_with(ben)
    name = ben.session["user"]["firstName"]
    window = open_window()
    with window.scripted(NOTICES):
        window.enter(ada, kitchen)
        window.run("__hide(true)")
        ben.send(garden, "before")
        window.until(lambda: window.badge("Unnamed room") == "1", "it is unread")
        window.run("__hide(false)")
        for answer, chosen in (("denied", "Off"), ("granted", "On")):
            window.run("window.__answer = arguments[0]; Notification.permission = 'default'", answer)
            window.account_menu()
            window.shows(".menu .segments button", "On").click()
            window.shows(".menu [aria-checked=true]", chosen)
            window.press(Keys.ESCAPE)
            window.lacks(".menu .segments")
        window.run("__hide(true)")
        ben.send(garden, "one", "two")
        ben.send(kitchen, "tea?")
        expected = {f"{name}: 3 unread messages\ntwo", f"{name} · Kitchen: tea?"}
        window.until(lambda: set(window.run(SHOWN)) == expected, "a notification for each room with new messages")
        ada.read(garden, *[message["id"] for message in ada.messages(garden)])
        left = [f"{name} · Kitchen: tea?"]
        window.until(lambda: window.run(SHOWN) == left, "the one that was read elsewhere has gone")
        window.run("__notices.find((one) => one.title.includes('Kitchen')).onclick()")
        window.run("__hide(false)")
        window.until(lambda: window.run(SHOWN) == [], "a page in view has none")
        window.shows(".bubble", "tea?")


def test_the_enter_that_accepts_a_candidate_of_an_input_method_sends_nothing(pair, ada):
    first, _, room = pair
    first.write("にほん", send=False)
    # As Safari reports it: the composition is over already.
    first.run("""
        const area = document.querySelector(".composer textarea");
        for (const key of ["Enter", "Escape"])
            area.dispatchEvent(new KeyboardEvent("keydown", { key, keyCode: 229, bubbles: true, cancelable: true }));""")
    assert first.one(".composer textarea").get_attribute("value") == "にほん"
    assert first.focused()["tag"] == "TEXTAREA"
    first.write("ご")
    first.wait_until_sent()
    assert ada.texts(room) == ["にほんご"]


def test_a_name_half_written_is_not_saved_by_switching_to_another_window(pair, ada):
    first, second, _ = pair
    page = first.driver.current_window_handle
    first.shows(".name-button").click()
    first.shows(".name-form input").send_keys(Keys.CONTROL + "a" + Keys.NULL + Keys.BACKSPACE)
    first.driver.switch_to.new_window("tab")
    first.driver.switch_to.window(page)
    first.shows(".name-form input").send_keys("Pantry")
    second.shows(".name-button", "Kitchen")
    first.shows(".composer textarea").click()
    second.shows(".name-button", "Pantry")


NOTE_COUNTS = """
    window.__counts = [];
    const note = () => __counts.push(
        document.title.split(" ")[0], document.querySelector(".room-row .badge:not(.quiet)").textContent);
    new MutationObserver(note).observe(document, { childList: true, characterData: true, subtree: true });"""


# Delays the room's own events, so that the list of rooms knows of a message before the conversation does.
DELAY_NEW_MESSAGES = """
const { get, set, ...rest } = Object.getOwnPropertyDescriptor(WebSocket.prototype, "onmessage");
Object.defineProperty(WebSocket.prototype, "onmessage", { ...rest, get, set(take) {
    set.call(this, (event) => event.data.includes('"message:new",') ? setTimeout(take, 300, event) : take(event));
} });"""


def test_the_first_message_of_an_empty_room_never_counts_as_unread(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    window = open_window()
    with window.scripted(DELAY_NEW_MESSAGES):
        window.enter(ada, room)
    window.shows(".chat-empty h2")
    window.run(NOTE_COUNTS)
    ben.send(room, "hello")
    window.shows(".bubble", "hello")
    window.until(lambda: all(message["readStatus"] for message in ben.messages(room)), "it is read")
    assert set(window.run("return __counts")) == {"Kitchen", ""}


def test_messages_that_arrive_in_view_never_count_as_unread(pair, ben):
    first, _, room = pair
    first.run(NOTE_COUNTS)
    for number in range(4):
        ben.send(room, f"number {number}")
        first.shows(".bubble", f"number {number}")
    first.until(lambda: all(message["readStatus"] for message in ben.messages(room)), "they are read")
    assert set(first.run("return __counts")) == {"Kitchen", ""}
    # While the reader has scrolled up, they count.
    for number in range(3):
        ben.send(room, "tall\n" * 30 + f"line {number}")
        first.shows(".bubble", f"line {number}")
    first.until(lambda: all(message["readStatus"] for message in ben.messages(room)), "they are read")
    first.run("document.querySelector('.scroller').scrollTop = 0")
    first.shows(".jump")
    ben.send(room, "out of view")
    first.until(lambda: first.badge("Kitchen") == "1" and first.driver.title.startswith("(1)"), "one unread")


def test_rows_that_stay_keep_their_place_and_the_focus_when_a_message_arrives(ada, ben, open_window):
    room, window = long_chat(ada, ada, ben, open_window)
    window.shows(".bubble", "old 59")
    window.write("", send=False)
    window.press(Keys.ARROW_UP)
    window.until(lambda: "old 59" in window.focused()["name"], "the last message has the focus")
    window.run("""
        window.__moved = 0;
        const gone = new Set();
        new MutationObserver((changes) => changes.forEach(({ removedNodes, addedNodes }) => {
            removedNodes.forEach((row) => gone.add(row));
            addedNodes.forEach((row) => gone.has(row) && (__moved += 1));
        })).observe(document.querySelector(".lines"), { childList: true });""")
    for number in range(8):
        ben.send(room, f"new {number}")
        window.shows(".bubble", f"new {number}")
    window.lacks(".line.arriving")
    assert window.run("return __moved") == 0
    assert "old 59" in window.focused()["name"]


IS_IN_VIEW = """
    const bubble = [...document.querySelectorAll(".bubble")].find((bubble) => bubble.textContent === arguments[0]);
    const box = bubble?.getBoundingClientRect(), view = document.querySelector(".scroller").getBoundingClientRect();
    return Boolean(box && box.top >= view.top && box.bottom <= view.bottom);"""


def return_to_messages_that_came_while_hidden(window, sender, room: str, count: int = 30):
    """Sends more messages than fit into the view while another tab is in front of the page."""
    page = window.driver.current_window_handle
    sender.send(room, "seen")
    window.shows(".bubble", "seen")
    window.until(lambda: all(message["readStatus"] for message in sender.messages(room)), "it is read")
    window.driver.switch_to.new_window("tab")
    sender.send(room, *(f"number {number}" for number in range(count)))
    titles = lambda: [target["title"] for target in window.command("Target.getTargets")["targetInfos"]]  # noqa: E731
    window.until(lambda: any(title.startswith(f"({count}) Kitchen") for title in titles()), "the hidden page's title")
    window.driver.switch_to.window(page)


def test_messages_that_came_while_hidden_are_read_from_the_first_and_then_count_no_more(pair, ben):
    first, _, room = pair
    return_to_messages_that_came_while_hidden(first, ben, room)
    first.until(lambda: first.run(IS_IN_VIEW, "number 0"), "the first of them")
    first.shows(".jump.has-new", "new messages")

    def are_read() -> bool:
        first.run("document.querySelector('.scroller').scrollBy(0, 100)")
        return all(message["readStatus"] for message in ben.messages(room))

    first.until(are_read, "all are read by scrolling down")
    first.until(lambda: first.driver.title.startswith("Kitchen"), "the title without a count")
    first.lacks(".jump")


def test_who_writes_instead_of_reading_what_came_while_hidden_sees_the_end(pair, ben):
    first, second, room = pair
    return_to_messages_that_came_while_hidden(first, ben, room)
    first.shows(".jump.has-new", "new messages")
    first.write("I am back")
    first.wait_until_sent()
    second.shows(".bubble", "I am back")
    first.until(lambda: first.last_state() == "Read", "read")
    assert first.run(IS_IN_VIEW, "I am back")
    first.lacks(".jump")


def test_a_message_that_is_deleted_after_one_has_scrolled_away_from_it_does_not_move_the_view(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, *(f"old {number}" for number in range(30)))
    ada.read(room, *(message["id"] for message in ada.messages(room)))
    window = open_window()
    window.enter(ada, room)
    window.shows(".bubble", "old 28").click()
    window.until(lambda: "old 28" in window.focused()["name"], "the message has the focus")
    window.run("document.querySelector('.scroller').scrollBy(0, -500)")
    window.until(lambda: not window.run(IS_IN_VIEW, "old 28"), "it is out of view")
    window.shows(".jump")
    other = window.shows(".bubble", "old 15")
    top = lambda: window.run("return arguments[0].getBoundingClientRect().top", other)  # noqa: E731
    before = top()
    ben.delete(room, "old 28")
    window.until(lambda: "old 29" in window.focused()["name"], "the next message has the focus")
    assert top() == before


# The next connections have not caught up until the test lets them.
HOLD_CAUGHT_UP = """
    window.__held = [];
    const { get, set, ...rest } = Object.getOwnPropertyDescriptor(WebSocket.prototype, "onmessage");
    Object.defineProperty(WebSocket.prototype, "onmessage", { ...rest, get, set(take) {
        set.call(this, (event) => event.data.includes('"sync:done",') ? __held.push(() => take(event)) : take(event));
    } });
    // Without polling, all goes through the WebSocket.
    const { fetch } = window;
    window.fetch = async (address, ...rest) => {
        if (String(address).includes("/socket.io/")) throw new TypeError("refused");
        return fetch(address, ...rest);
    };"""
TWO_FRAMES = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"


def test_who_goes_to_the_end_while_the_network_is_cut_stays_there_when_it_returns(pair, ben):
    first, _, room = pair
    return_to_messages_that_came_while_hidden(first, ben, room, count=70)
    first.until(lambda: first.run(IS_IN_VIEW, "number 0"), "the first of them")
    first.run(HOLD_CAUGHT_UP)
    first.set_offline(True)
    first.shows(".banner")
    first.run("const e = document.querySelector('.scroller'); e.scrollTop = e.scrollHeight")
    first.lacks(".jump")
    first.set_offline(False)
    first.until(lambda: first.run("return __held.length"), "the connection")
    first.lacks(".banner")
    first.driver.execute_async_script(TWO_FRAMES)
    first.run("__held.splice(0).forEach((go) => go())")
    first.driver.execute_async_script(TWO_FRAMES)
    assert first.run(IS_IN_VIEW, "number 69")


HOLD_OLDER_MESSAGES = """
    window.__held = [];
    const { fetch } = window, { send } = WebSocket.prototype;
    window.fetch = async (address, ...rest) => {
        // Without polling, all goes through the WebSocket.
        if (String(address).includes("/socket.io/")) throw new TypeError("refused");
        if (/messages.*before=/.test(address)) await new Promise((go) => __held.push(go));
        return fetch(address, ...rest);
    };
    // A cursor that the server does not know, as after a long absence.
    WebSocket.prototype.send = function (text) {
        return send.call(this, String(text).replace(/"since":"[^"]*"/, '"since":"none"'));
    };"""


def test_what_came_in_a_long_absence_is_read_from_the_first_also_if_a_message_arrives_before_all_is_fetched(
    ada, ben, open_window
):
    room, window = long_chat(ada, ada, ben, open_window)
    ben.send(room, "seen")
    window.shows(".bubble", "seen")
    window.until(lambda: all(m["readStatus"] for m in ben.messages(room) if m["senderId"] == ben.id), "it is read")
    window.run(HOLD_OLDER_MESSAGES)
    window.set_offline(True)
    window.shows(".banner")
    ben.send(room, *(f"number {number}" for number in range(70)))
    window.set_offline(False)
    window.until(lambda: window.run("return __held.length"), "the request for what came first")
    ben.send(room, "and another")
    window.shows(".bubble", "and another")
    window.driver.execute_async_script(TWO_FRAMES)
    window.run("__held.splice(0).forEach((go) => go())")
    window.until(lambda: window.run(IS_IN_VIEW, "number 0"), "the first of them")
    window.shows(".jump.has-new", "new messages")


CALENDAR = """
const Real = Date;
let shift = 0;
window.Date = class extends Real {
    constructor(...parts) { super(...(parts.length ? parts : [Real.now() + shift])); }
    static now() { return Real.now() + shift; }
};
const wait = setTimeout, long = [];
window.setTimeout = (work, time, ...rest) => (time > 60_000 && long.push(work), wait(work, time, ...rest));
window.__tomorrow = () => { shift += 86_400_000; long.splice(0).forEach((work) => work()); };
"""


@pytest.mark.parametrize("language, days", [("en", ("Today", "Yesterday")), ("de", ("Heute", "Gestern"))])
def test_the_line_of_a_day_says_which_it_is_also_after_midnight(ada, ben, open_window, language, days):
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, *(f"number {number}" for number in range(200)))
    window = open_window()
    with window.scripted(CALENDAR):
        window.enter(ada, room)
        window.run("localStorage['parlor.language'] = arguments[0]", language)
        window.reload()
        window.shows(".jump", "").click()
        window.shows(".bubble", "number 199")
        window.run("document.querySelector('.scroller').scrollTop = 0")
        window.shows(".day", days[0])
        top = window.run("return document.querySelector('.scroller').scrollTop")
        window.run("__tomorrow()")
        window.shows(".day", days[1])
        assert window.run("return document.querySelector('.scroller').scrollTop") == top
        window.run("__tomorrow()")
        window.until(lambda: any(character.isdigit() for character in window.texts(".day")[0]), "a date")


def test_a_long_message_is_folded_until_one_asks_for_all_of_it(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, "\n".join(f"line {number}" for number in range(60)), "short")
    window = open_window()
    window.enter(ada, room)
    window.shows(".bubble", "short")
    height = "return document.querySelector('.bubble').offsetHeight"
    assert window.run(height) < 500 and len(window.all(".is-folded")) == 1
    window.shows(".is-folded button", "Show all").click()
    window.lacks(".is-folded")
    assert window.run(height) > 1_000
    # The row leaves the document and returns.
    ben.send(room, *(f"number {number}" for number in range(80)))
    scroll = """
        const scroller = document.querySelector(".scroller");
        scroller.scrollTop = arguments[0];
        return scroller.innerText.includes(arguments[1]);"""
    window.until(lambda: window.run(scroll, 1_000_000, "number 79"), "the end")
    window.until(lambda: window.run(scroll, 0, "line 59"), "all of the long one")
    assert window.all(".is-folded") == []
