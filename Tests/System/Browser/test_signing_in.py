"""Creating an account, signing in and out, and two tabs of one person."""

import uuid

from api_people import PASSWORD, Person
from parlor import Parlor
from selenium.webdriver.common.keys import Keys
from window import Window


def fill(window, username: str, password: str):
    window.shows("input[name=username]").send_keys(username)
    window.one("input[name=password]").send_keys(password + Keys.ENTER)


def test_somebody_registers_and_starts_two_rooms_with_one_person(parlor, ben, open_window):
    window, other = open_window(), open_window()
    other.enter(ben)
    other.shows(".rooms .empty")
    window.visit(parlor.address)
    window.shows(".swap button").click()
    name = "n" + uuid.uuid4().hex[:10]
    window.shows("input[name=firstName]").send_keys("Nova")
    fill(window, name, PASSWORD)
    window.shows(".rooms .empty .primary").click()
    window.shows("dialog input").send_keys(ben.username)
    window.shows("dialog .person-row", ben.username).click()
    window.shows("dialog form input").send_keys("Garden" + Keys.ENTER)
    window.shows(".name-button", "Garden")
    other.row("Garden")
    window.shows(".side-head .primary").click()
    window.shows("dialog .person-row", ben.username).click()
    window.shows("dialog form input").send_keys(Keys.ENTER)
    window.shows(".name-button", "Name this room")
    assert "Nova" in other.row("Unnamed room").text and "Nova" in other.row("Garden").text
    other.row("Unnamed room").click()
    other.shows(".room-head .sub", "Created")
    other.shows(".room-head .sub", "Nova")


def test_a_wrong_password_is_reported_and_the_right_one_signs_in(ada, open_window):
    window = open_window()
    window.visit(ada.address)
    fill(window, ada.username, "not the password")
    window.shows(".problem")
    window.one("input[name=username]").clear()
    window.one("input[name=password]").clear()
    fill(window, ada.username, PASSWORD)
    window.shows(".side-head")


def test_what_is_wrong_with_a_field_stands_next_to_it_in_the_language_of_the_page(ada, open_window):
    window = open_window()
    window.visit(ada.address)
    window.shows(".segments button", "Deutsch").click()
    window.shows(".swap button", "Konto anlegen").click()
    problem = lambda name: window.run(  # noqa: E731
        "const e = document.querySelector(`input[name=${arguments[0]}]`).closest('.field').querySelector('.problem'); return e.hidden ? '' : e.innerText", name)
    button = window.shows("form .primary")
    button.click()
    assert (problem("username"), problem("email"), problem("password")) == ("Bitte ausfüllen.", "", "Bitte ausfüllen.")
    assert window.focused()["tag"] == "INPUT"
    window.one("input[name=username]").send_keys("a b")
    fill(window, "", "short")
    assert "3 bis 32" in problem("username") and "8 bis 128" in problem("password")
    window.one("input[name=username]").send_keys(Keys.CONTROL + "a" + Keys.NULL + ada.username)
    window.one("input[name=password]").send_keys(Keys.CONTROL + "a" + Keys.NULL + PASSWORD)
    button.click()
    window.until(lambda: "vergeben" in problem("username"), "the name is taken")
    # The refused name is selected, so this replaces it.
    name = "n" + uuid.uuid4().hex[:10]
    window.press(name)
    # As a browser may let it pass, and no server does.
    window.run("document.querySelector('input[name=email]').type = 'text'")
    window.one("input[name=email]").send_keys("müller@example.org")
    button.click()
    window.until(lambda: "ohne Umlaute" in problem("email"), "the server's refusal")
    assert "`" not in window.one(".porch-form").text
    window.until(lambda: window.run("return document.activeElement.name") == "email", "the field has the focus")
    # What was typed stays if the language or the form changes.
    window.shows(".segments button", "English").click()
    assert window.focused()["name"] == "English"
    window.shows(".swap button", "Sign in").click()
    assert window.shows("input[name=username]").get_attribute("value") == name
    window.one("form .primary").click()
    window.until(lambda: "wrong" in problem("password"), "a wrong password")
    assert window.run("return document.activeElement.name") == "password"


def test_a_room_that_cannot_be_made_says_why_and_another_person_can_be_chosen(tmp_path, open_window):
    parlor = Parlor("one", tmp_path / "parlor", "--rate-limits", "on", "--max-unanswered-rooms", "1")
    ada, ben = Person(parlor.address, "Ada"), Person(parlor.address, "Ben")
    ada.room_with(ben, "First")
    window = open_window()
    window.enter(ada)
    window.row("First")
    window.shows(".side-head .primary").click()
    window.shows("dialog .person-row", "Ben").click()
    window.shows("dialog form .primary").click()
    window.shows("dialog .problem", "has not written in any yet")
    assert "button" in window.focused()["class"]
    window.shows("dialog .button", "Back").click()
    window.shows("dialog .person-row", "Ben")
    window.go("about:blank")
    assert parlor.stop() == 0, parlor.process.log()


def test_one_changes_the_password_by_keyboard_and_ends_other_sessions(ada, open_window):
    window, other = open_window(), open_window()
    for each in (window, other):
        each.visit(ada.address)
        fill(each, ada.username, PASSWORD)
        each.shows(".side-head")
    window.run("arguments[0].focus()", window.shows("[aria-haspopup]"))
    window.press(Keys.ENTER)
    window.shows(".menu")
    while window.focused()["name"] != "Change password":
        window.press(Keys.TAB)
        assert window.focused()["isVisible"]
    window.press(Keys.ENTER)
    window.shows("dialog input")
    window.press("not the password" + Keys.TAB + Keys.TAB + "another one" + Keys.ENTER)
    window.shows("dialog .problem", "current password is wrong")
    assert window.run("return document.activeElement.name") == "currentPassword"
    window.cut(False, latency=6_000)
    window.press(PASSWORD + Keys.ENTER)
    window.shows("dialog .hint", "takes longer")
    window.cut(False)
    window.shows(".toast", "changed")
    window.lacks("dialog")
    other.shows(".problem", "ended")
    fill(other, ada.username, "another one")
    other.shows(".side-head")
    window.account_menu("Where you are signed in")
    rows = lambda: window.texts(".sign-ins li")  # noqa: E731
    window.until(lambda: len(rows()) == 2, "the two windows")
    assert "This device" in rows()[0] and "Chrome" in rows()[0] and "This device" not in rows()[1]
    window.all(".sign-ins button")[0].click()
    window.until(lambda: len(rows()) == 1, "one is left")
    assert window.focused()["class"] == "sign-ins"
    other.shows(".problem", "ended")
    ada.password = "another one"
    ada.sign_in()
    ada.sign_in()
    window.press(Keys.ESCAPE)
    window.account_menu("Where you are signed in")
    window.until(lambda: len(rows()) == 3, "two others")
    window.shows("dialog .danger", "everywhere else").click()
    window.until(lambda: len(rows()) == 1, "none")
    window.cut(True)
    window.press(Keys.ESCAPE)
    window.account_menu("Where you are signed in")
    window.shows("dialog", "could not be loaded")


def test_two_tabs_of_one_person_refresh_once_and_sign_out_together(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    window = open_window()
    # The access token has expired, so both tabs need another. A refresh token that is used twice would end the session.
    ada.session["expiresAt"] = "2020-01-01T00:00:00.000Z"
    ada.session["token"] = "no longer one"
    window.enter(ada, room)
    first = window.driver.current_window_handle
    second = window.open_tab()
    window.shows(".composer textarea")
    window.write("from the second tab")
    window.wait_until_sent()
    window.driver.switch_to.window(first)
    window.shows(".bubble", "from the second tab")
    window.write("from the first tab")
    window.wait_until_sent()
    window.driver.switch_to.window(second)
    window.shows(".bubble", "from the first tab")
    refreshes = window.run(
        "return performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/auth/refresh')).length")
    assert refreshes == 0, "the first tab has refreshed for both"
    window.account_menu("Sign out")
    window.shows("input[name=username]")
    window.driver.switch_to.window(first)
    window.shows("input[name=username]")


def test_a_dialog_ends_with_its_room_and_its_account(ada, ben, open_window):
    window = open_window()
    window.enter(ada)
    kitchen = ada.room_with(ben, "Kitchen")
    ada.room_with(ben, "Garden")
    window.row("Garden").click()
    window.shows(".name-button", "Garden")
    window.all(".tool")[0].click()
    window.shows("dialog textarea").send_keys("about the garden")
    window.run("location.hash = arguments[0]", f"#/room/{kitchen}")
    window.shows(".name-button", "Kitchen")
    window.lacks("dialog")
    window.all(".tool")[0].click()
    window.shows("dialog textarea").send_keys("private")
    first = window.driver.current_window_handle
    window.open_tab()
    window.account_menu("Sign out")
    window.shows("input[name=username]")
    window.driver.switch_to.window(first)
    window.shows("input[name=username]")
    window.lacks("dialog")


def test_what_is_half_written_outlives_a_session_that_ends_by_itself_but_for_its_writer_only(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    window = open_window()
    window.enter(ada, room)
    for person, shown in ((ada, "half a mess"), (ben, "")):
        window.shows(".composer textarea").clear()
        window.write("half a mess", send=False)
        ada.end_other_sessions()
        window.shows(".problem", "ended")
        fill(window, person.username, PASSWORD)
        window.row("Kitchen").click()
        assert window.shows(".composer textarea").get_attribute("value") == shown


def test_what_is_half_written_outlives_a_reload_but_no_sign_out_and_stands_in_the_list(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    ben.send(room, "hello")
    window = open_window()
    window.enter(ada, room)
    window.write("half a mess", send=False)
    window.lacks(".room-row .last", "Draft")
    window.until(lambda: window.stored(f"{ada.id}/cache/drafts/{room}") == "half a mess", "it is stored")
    window.reload()
    window.until(lambda: window.one(".composer textarea").get_attribute("value") == "half a mess", "the draft")
    window.visit(ada.address)
    window.shows(".room-row .last", "Draft: half a mess")
    assert "Draft: half a mess" in window.one(".room-row").get_attribute("aria-label")
    window.row("Kitchen").click()
    window.shows(".composer textarea").send_keys("age" + Keys.ENTER)
    window.wait_until_sent()
    window.write("never said", send=False)
    window.account_menu("Sign out")
    fill(window, ada.username, PASSWORD)
    window.shows(".room-row .last", "You: half a message")
    window.row("Kitchen").click()
    assert window.shows(".composer textarea").get_attribute("value") == ""


def test_what_is_half_written_in_one_tab_outlives_a_session_whose_end_another_tab_finds_out(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    window = open_window()
    window.enter(ada, room)
    window.write("half a mess", send=False)
    first = window.driver.current_window_handle
    # So that this tab does not find out itself.
    window.cut(True)
    second = window.open_tab()
    window.shows(".composer textarea")
    ada.end_other_sessions()
    window.shows(".problem", "ended")
    window.driver.switch_to.window(first)
    window.shows(".problem", "ended")
    window.cut(False)
    window.driver.switch_to.window(second)
    fill(window, ada.username, PASSWORD)
    window.row("Kitchen")
    window.driver.switch_to.window(first)
    window.row("Kitchen").click()
    assert window.shows(".composer textarea").get_attribute("value") == "half a mess"


def test_where_site_data_is_blocked_one_signs_in_and_writes_and_reads_that_it_does_not_last(ada, ben):
    room = ada.room_with(ben, "Kitchen")
    window = Window(stores=False)
    try:
        window.reset()
        window.visit(ada.address, room)
        fill(window, ada.username, PASSWORD)
        window.shows(".toast", "sign in again")
        window.write("stored nowhere here")
        window.wait_until_sent()
        window.all(".tool")[0].click()
        window.shows("dialog textarea").send_keys("a note")
        window.shows("dialog .primary").click()
        window.until(lambda: [element["content"]["text"] for element in ben.elements(room)] == ["a note"], "the note")
        assert ben.texts(room) == ["stored nowhere here"]
        assert not window.reports()
        window.reload()
        window.shows("input[name=username]")
    finally:
        window.close()


def test_a_draft_that_was_sent_in_one_tab_is_gone_in_the_other(ada, ben, open_window):
    room = ada.room_with(ben, "Kitchen")
    window = open_window()
    window.enter(ada, room)
    held = lambda: window.one(".composer textarea").get_attribute("value")  # noqa: E731
    window.write("send me once", send=False)
    window.until(lambda: window.stored(f"{ada.id}/cache/drafts/{room}") == "send me once", "it is stored")
    first = window.driver.current_window_handle
    window.open_tab()
    window.until(lambda: held() == "send me once", "the draft")
    window.write("")
    window.wait_until_sent()
    window.driver.switch_to.window(first)
    window.until(lambda: held() == "", "it is gone here, too")
    assert ada.texts(room) == ["send me once"]
