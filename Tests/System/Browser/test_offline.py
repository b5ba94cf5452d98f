"""Losing the server or the network: written messages are kept, and sent once."""

import signal

import pytest
from api_people import Person
from parlor import Parlor
from selenium.webdriver.common.keys import Keys


@pytest.fixture
def alone(own_parlor, open_window):
    """A person's room on a Parlor that the test may stop."""
    ada, ben = Person(own_parlor.address), Person(own_parlor.address)
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, "read me offline")
    window = open_window()
    window.enter(ada, room)
    window.shows(".bubble", "read me offline")
    return window, ada, room


def test_what_is_written_while_the_server_is_stopped_goes_out_once(own_parlor, alone):
    window, ada, room = alone
    assert own_parlor.stop() == 0
    window.shows(".banner")
    window.write("while away")
    window.shows(".state", "Waiting")
    window.shows(".banner", "1")
    window.shows(".room-row .last", "You: while away")
    own_parlor.start_again()
    window.lacks(".banner")
    window.wait_until_sent()
    window.reload()
    window.shows(".bubble", "while away")
    assert ada.texts(room).count("while away") == 1


def test_what_waits_survives_that_the_page_is_left_while_the_network_is_cut(pair, ada):
    first, second, room = pair
    first.set_offline(True)
    first.shows(".banner")
    first.write("cut off")
    first.shows(".state", "Waiting")
    second.shows(".presence", "away")
    first.go("about:blank")
    first.cut(False)
    first.visit(ada.address, room)
    second.shows(".bubble", "cut off")
    first.wait_until_sent()
    assert ada.texts(room) == ["cut off"]


def test_a_reload_in_the_middle_of_sending_loses_and_doubles_nothing(pair, ada):
    first, second, room = pair
    texts = [f"number {number}" for number in range(12)]
    for text in texts:
        first.write(text)
    first.reload()
    second.shows(".bubble", texts[-1])
    first.shows(".bubble", texts[-1])
    first.wait_until_sent()
    assert sorted(ada.texts(room)) == sorted(texts)
    assert second.texts(".bubble") == texts


COUNT_TRIES = """
    window.__tries = 0;
    window.WebSocket = class extends WebSocket { constructor(...parts) { super(...parts); __tries += 1; } };
    const { fetch } = window;
    window.fetch = (address, ...rest) => { __tries += String(address).includes("/socket.io/"); return fetch(address, ...rest); };"""

HOLD_TRIES = """
    Object.assign(window, { __holds: true, __held: [] });
    const { fetch } = window;
    window.fetch = (address, ...rest) => __holds && String(address).includes("/socket.io/")
        ? new Promise((_, fail) => __held.push(() => fail(new TypeError("held")))) : fetch(address, ...rest);"""


def test_the_button_that_connects_keeps_the_focus_while_the_page_tries_again(own_parlor, alone):
    window, _, _ = alone
    assert own_parlor.stop() == 0
    window.shows(".banner", "No connection")
    window.run(COUNT_TRIES)
    window.run("""
        document.querySelector(".banner button").focus();
        window.__changes = 0;
        new MutationObserver(() => (__changes += 1))
            .observe(document.querySelector(".banner"), { childList: true, characterData: true, subtree: true });""")
    for count in range(1, 4):
        window.run("dispatchEvent(new Event('online'))")
        window.until(lambda: window.run("return __tries") >= count, "another try")
    assert window.focused()["name"] == "Connect now"
    assert window.run("return __changes") == 0
    window.run(HOLD_TRIES)
    window.run("dispatchEvent(new Event('online'))")
    window.until(lambda: window.run("return __held.length"), "a try that lasts")
    window.shows(".banner", "No connection")
    window.press(Keys.ENTER)
    window.shows(".banner", "Connecting…")
    window.run("__held.splice(0).forEach((fail) => fail())")
    window.shows(".banner", "No connection")
    assert window.focused()["name"] == "Connect now"
    own_parlor.start_again()
    window.run("__holds = false; __held.splice(0).forEach((fail) => fail())")
    window.press(Keys.ENTER)
    window.lacks(".banner")


def test_a_server_that_does_not_answer_is_noticed_long_before_the_connection_counts_as_dead(own_parlor, alone):
    window, _, _ = alone
    own_parlor.process.signal(signal.SIGSTOP)
    try:
        window.write("into the void")
        window.shows(".banner", "longer than usual")
        assert not window.one(".banner button").is_displayed()
    finally:
        own_parlor.process.signal(signal.SIGCONT)
    window.wait_until_sent()
    window.write("and on")
    window.wait_until_sent()
    window.lacks(".banner")


def test_a_server_that_does_not_answer_over_http_is_noticed_too(own_parlor, alone):
    window, ada, room = alone
    window.until(lambda: ada.sees(ada, room) and ada.badges(room)["messages"] == 0, "nothing waits on the socket")
    own_parlor.process.signal(signal.SIGSTOP)
    try:
        window.shows(".name-button").click()
        window.shows(".name-form input").send_keys("Pantry" + Keys.ENTER)
        window.shows(".banner", "longer than usual")
    finally:
        own_parlor.process.signal(signal.SIGCONT)
    window.shows(".name-button", "Pantry")
    window.lacks(".banner")


def test_a_failed_message_is_shown_and_sent_by_retry(pair, ada):
    first, _, room = pair
    # What goes out is spoilt, so that the server refuses it.
    first.run("""
        const send = WebSocket.prototype.send;
        window.__spoils = true;
        WebSocket.prototype.send = function (text) {
            const isSpoilt = window.__spoils && typeof text === "string" && text.includes("message:send");
            return send.call(this, isSpoilt ? text.replace(/"text":"[^"]*"/, '"text":""') : text);
        };""")
    first.write("refuse me")
    first.shows(".state.is-failed")
    first.run("window.__spoils = false")
    first.shows(".state.is-failed .text-button").click()
    first.wait_until_sent()
    assert ada.texts(room) == ["refuse me"]


def test_a_page_whose_connection_the_server_ends_says_so_and_connects_on_demand(tmp_path, open_window):
    parlor = Parlor("one", tmp_path / "parlor", "--rate-limits", "on", "--max-sockets-per-person", "1")
    ada, ben = Person(parlor.address), Person(parlor.address)
    room = ada.room_with(ben, "Kitchen")
    first, second = open_window(), open_window()
    first.enter(ada, room)
    first.until(lambda: ben.sees(ada, room), "the first page's connection")
    second.enter(ada, room)
    first.shows(".banner", "ended")
    ben.send(room, "missed")
    first.shows(".banner button").click()
    first.shows(".bubble", "missed")
    first.lacks(".banner")
    second.shows(".banner", "ended")
    for window in (first, second):
        window.go("about:blank")
    assert parlor.stop() == 0, parlor.process.log()


REFUSE_ROOMS = """
const { fetch } = window;
window.fetch = (address, ...rest) => localStorage.refuses && /\\/api\\/rooms/.test(address)
    ? Promise.resolve(new Response('{"error":{"code":"service_unavailable","message":"busy"}}', { status: 503 })) : fetch(address, ...rest);"""

def test_what_is_stored_and_cannot_be_loaded_again_is_said_to_be_old_until_it_can(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ada.send(room, *(f"old {number}" for number in range(60)))
    window = open_window()
    window.enter(ada, room)
    window.shows(".bubble", "old 59")
    for key in ("rooms", f"{room}/messages"):
        stored = f"{ada.id}/cache/{key}"
        window.until(lambda: window.stored(stored), f"{key} is stored")
    window.run("localStorage.refuses = 1")
    with window.scripted(REFUSE_ROOMS):
        window.reload()
    window.shows(".bubble", "old 59")
    window.shows(".chat .notice", "out of date")
    window.shows(".side .notice", "out of date")
    window.shows(".bubble", "old 59").click()
    window.run("document.querySelector('.scroller').scrollTop = 0")
    window.shows(".bubble", "old 10")
    assert window.texts(".start") == ["Try again"], "it is not the beginning"
    assert window.one(".line").get_attribute("aria-setsize") == "-1"
    # At once, because the page also tries again by itself.
    window.run("""
        delete localStorage.refuses;
        document.querySelector(".start button").click();
        document.querySelector(".side .notice button").click();""")
    window.lacks(".notice")
    window.until(lambda: window.texts(".start") == ["The beginning of this room"], "all messages")


def test_without_a_connection_a_room_that_was_never_opened_here_says_once_why_it_is_empty(ada, ben, open_window):
    ben.send(ada.room_with(ben, "Kitchen"), "not here yet")
    ada.room_with(ben, "Garden")
    window = open_window()
    window.enter(ada)
    window.row("Kitchen")
    window.set_offline(True)
    window.shows(".banner", "No connection")
    window.row("Garden").click()
    window.shows(".chat h2", "Say hello")
    window.row("Kitchen").click()
    window.shows(".chat h2", "could not be loaded")
    window.lacks(".chat p", "cannot be reached")
    window.lacks(".room .button", "Try again")


def test_older_messages_that_failed_to_load_are_loaded_alone_also_without_a_connection(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ada.send(room, *(f"old {number}" for number in range(130)))
    window = open_window()
    window.enter(ada, room)
    window.shows(".bubble", "old 129").click()
    # The socket stays unusable once it is lost, while requests arrive again.
    window.run("""
        Object.assign(window, { __refuses: true, __asked: [] });
        const { fetch } = window;
        window.fetch = async (address, ...rest) => {
            if (String(address).includes("/socket.io/")) throw new TypeError("refused");
            if (!/messages\\?/.test(address)) return fetch(address, ...rest);
            if (__refuses) throw new TypeError("refused");
            __asked.push(address);
            return fetch(address, ...rest);
        };
        document.querySelector(".scroller").scrollTop = 0;""")
    window.shows(".start", "Try again")
    window.run("""
        WebSocket.prototype.send = () => {};
        Object.defineProperty(navigator, "onLine", { get: () => false });
        dispatchEvent(new Event("offline"));""")
    window.shows(".banner")
    window.run("__refuses = false; document.querySelector('.start button').click()")
    window.until(
        lambda: window.run("return __asked.length") and window.texts(".start")[0] in ("", "The beginning of this room"),
        "older messages")  # fmt: skip
    assert all("before=" in address for address in window.run("return __asked"))
