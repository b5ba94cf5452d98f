"""Groups: making them, who is in them, and losing them."""

import pytest
from api_people import Person
from test_demo import AXE, CHECK
from selenium.webdriver.common.keys import Keys


@pytest.fixture
def people(parlor):
    """Four people. The first one has a room with each of the others."""
    ada, *others = (Person(parlor.address, name) for name in ("Ada", "Ben", "Cleo", "Dan"))
    for other in others:
        ada.room_with(other)
    return ada, *others


def choose(window, *names: str):
    for name in names:
        window.shows("dialog .person-row", name).click()


def open_people(window):
    """Opens the dialog with the people of the open group."""
    window.shows(".room-head > .icon-button:not(.back)").click()
    window.shows(".group-people li")


def listed(window) -> list[str]:
    """Returns the people of the dialog, with their roles."""
    return [text.replace("\n", " ") for text in window.texts(".group-people b")]


def menu_of(window, name: str) -> list[str]:
    window.shows(f"[aria-label='More about {name}'].icon-button").click()
    window.shows(".group-people :popover-open button")
    return window.texts(".group-people :popover-open button")


def room_of(window) -> str:
    return window.run("return location.hash").split("/")[2]


def test_a_group_is_made_of_several_people_who_then_see_each_others_names(people, open_window):
    ada, ben, cleo, dan = people
    first, second = open_window(), open_window()
    second.enter(ben)
    first.enter(ada)
    first.shows(".side-head .primary").click()
    first.shows("dialog .segments button", "Group").click()
    assert not first.shows("dialog .dialog-foot .primary").is_enabled()
    choose(first, "Ben", "Cleo", "Dan")
    first.shows("dialog .hint", "3 people chosen")
    first.shows("dialog .chip", "Dan").click()
    first.shows("dialog .hint", "2 people chosen")
    assert first.shows("dialog .person-row", "Dan").get_attribute("aria-checked") == "false"
    search = first.shows("dialog input[type=search]")
    search.send_keys("nobody has this name")
    first.lacks("dialog .person-row")
    assert first.texts("dialog .chip") == ["Ben", "Cleo"], "who is chosen stays so during a search"
    first.shows("dialog .primary").click()
    first.shows("dialog form .hint", "Ben, Cleo")
    first.shows("dialog button", "Back").click()
    first.shows("dialog .person-row[aria-checked=true]", "Cleo")
    choose(first, "Dan")
    first.shows("dialog .primary").click()
    first.shows("dialog form input").send_keys("Garden club" + Keys.ENTER)
    first.shows(".name-button", "Garden club")
    assert ada.roles(room_of(first)) == {"Ada": "owner", "Ben": "member", "Cleo": "member", "Dan": "member"}
    first.shows(".room-head .sub", "Ada & Ben & Cleo +1")
    first.shows(".presence", "Nobody else is here")
    second.until(lambda: "You are in a new group: Garden club" in second.run("return __announced"), "it is announced")
    row = second.row("Garden club")
    assert row.get_attribute("aria-label").startswith("New, Garden club, Group, 4 people, Ada & Ben & Cleo +1")
    row.click()
    first.shows(".presence.is-here", "Ben")
    cleo.send(room_of(first), "hello")
    dan.send(room_of(first), "good morning")
    second.shows(".who b", "Cleo")
    second.shows(".who b", "Dan")
    second.shows(".room-row .last", "Dan: good morning")
    second.shows(".segments button", "People").click()
    second.lacks(".room-row", "Garden club")


def test_a_group_is_made_and_changed_by_keyboard_alone(people, open_window):
    ada, ben, *_ = people
    window = open_window()
    window.enter(ada)
    window.row("Unnamed room")
    window.run("document.querySelector('.side-head .primary').focus()")
    window.press(Keys.ENTER)
    window.shows("dialog .person-row")
    window.chord(Keys.SHIFT, Keys.TAB)
    window.press(Keys.ARROW_RIGHT)
    window.shows("dialog .tick")
    window.press(Keys.TAB, Keys.ARROW_DOWN, Keys.SPACE, Keys.ARROW_DOWN, Keys.SPACE)
    window.shows("dialog .hint", "2 people chosen")
    assert window.focused()["isVisible"] and "person-row" in window.focused()["class"]
    while window.focused()["name"] != "Next":
        window.press(Keys.TAB)
    window.press(Keys.ENTER)
    window.shows("dialog form")
    window.press("By keys" + Keys.ENTER)
    window.shows(".name-button", "By keys")
    room = room_of(window)
    chosen = [name for name in ada.roles(room) if name != "Ada"]
    window.run("document.querySelector('.room-head > .icon-button:not(.back)').focus()")
    window.press(Keys.ENTER)
    window.shows(".group-people li", chosen[0])
    while window.focused()["name"] != f"More about {chosen[0]}":
        window.press(Keys.TAB)
        assert window.focused()["isVisible"]
    window.press(Keys.ENTER)
    window.until(lambda: "New room" in window.focused()["name"], "the menu has the focus")
    window.press(Keys.ARROW_DOWN, Keys.ENTER)
    window.until(lambda: ada.roles(room)[chosen[0]] == "owner", "an owner")
    window.shows(".group-people .badge", "Owner")
    window.until(lambda: window.focused()["name"] == f"More about {chosen[0]}", "the row keeps the focus")
    window.press(Keys.ESCAPE)
    window.lacks("dialog")
    assert "icon-button" in window.focused()["class"]


def test_owners_add_remove_and_set_roles_and_all_see_it_at_once(people, open_window):
    ada, ben, cleo, dan = people
    room = ada.group_with(ben, name="Garden club")
    first, second = open_window(), open_window()
    first.enter(ada, room)
    second.enter(ben, room)
    for window in (first, second):
        open_people(window)
    second.until(lambda: listed(second) == ["Ada Owner", "Ben You"], "the people")
    second.lacks("dialog button", "Add people")
    assert menu_of(second, "Ada") == ["New room for two"]
    second.press(Keys.ESCAPE)
    first.shows(".group-people small", "here now")
    first.shows("dialog button", "Add people").click()
    first.shows("dialog .hint", "They will see everything")
    first.lacks(f'dialog .person-row[data-id="{ben.id}"]')
    choose(first, "Cleo", "Dan")
    first.until(lambda: first.all("dialog .dialog-foot .primary")[-1], "the button").click()
    for window in (first, second):
        window.until(lambda window=window: [name.split()[0] for name in listed(window)] == ["Ada", "Ben", "Cleo", "Dan"], "who was added")
    assert menu_of(first, "Ben") == ["New room for two", "Make owner", "Remove from group"]
    first.shows(":popover-open button", "Make owner").click()
    second.until(lambda: listed(second)[1] == "Ben You Owner", "his role")
    assert menu_of(second, "Cleo") == ["New room for two", "Make owner", "Remove from group"]
    second.shows(":popover-open button", "Remove").click()
    second.shows("dialog h2", "Remove Cleo?")
    second.shows("dialog .danger").click()
    for window in (first, second):
        window.until(lambda window=window: [name.split()[0] for name in listed(window)] == ["Ada", "Ben", "Dan"], "who was removed")
    assert menu_of(first, "Ada") == ["Make member"], "there is another owner"
    first.shows(":popover-open button", "Make member").click()
    first.lacks("dialog button", "Add people")
    assert ada.roles(room) == {"Ada": "member", "Ben": "owner", "Dan": "member"}


def test_whoever_is_removed_while_the_room_is_open_is_shown_why_it_closes(people, open_window):
    ada, ben, cleo, _ = people
    room = ada.group_with(ben, cleo, name="Garden club")
    ben.send(room, "hello")
    window = open_window()
    window.enter(ben, room)
    window.shows(".bubble", "hello")
    window.write("half a sentence", send=False)
    open_people(window)
    menu_of(window, "Cleo")
    ada.remove(room, ben)
    window.shows(".empty h2", "Ada has removed you from Garden club")
    window.lacks("dialog")
    window.lacks(".room-row", "Garden club")
    window.lacks(".composer textarea")
    window.until(lambda: "Ada has removed you from Garden club" in window.run("return __announced"), "it is announced")
    window.until(lambda: window.focused()["name"] == "Back to rooms", "the focus")
    window.press(Keys.ENTER)
    window.shows(".empty h1", "Pick a room")


def test_a_room_that_is_ones_own_again_opens_where_its_end_was_shown(people, open_window):
    ada, ben, *_ = people
    room = ada.group_with(ben, name="Garden club")
    ben.send(room, "hello")
    window = open_window()
    window.enter(ben, room)
    window.shows(".bubble", "hello")
    ada.remove(room, ben)
    window.shows(".empty h2", "Ada has removed you from Garden club")
    ada.add(room, ben)
    window.shows(".bubble", "hello")
    window.write("back again")
    window.wait_until_sent()
    window.row("Garden club")


def test_a_room_without_a_connection_says_who_has_removed_one_when_there_is_one(people, open_window):
    ada, ben, *_ = people
    room = ada.group_with(ben, name="Garden club")
    window = open_window()
    window.enter(ben, room)
    window.shows(".presence")
    window.set_offline(True)
    window.shows(".banner", "No connection")
    window.write("never sent")
    window.shows(".banner", "1 change")
    ada.remove(room, ben)
    window.set_offline(False)
    window.shows(".empty h2", "Ada has removed you from Garden club")
    window.lacks(".room-row", "Garden club")
    assert ada.texts(room) == []


def test_a_room_that_one_has_opened_before_being_added_opens_once_it_is_ones_own(people, open_window):
    ada, ben, cleo, _ = people
    room = ada.group_with(ben, name="Garden club")
    window = open_window()
    window.enter(cleo)
    window.run("location.hash = arguments[0]", f"#/room/{room}")
    window.shows(".empty h2", "not available")
    ada.add(room, cleo)
    window.shows(".name-button", "Garden club")
    window.account_menu("Sign out")
    window.shows("input[name=username]")


def test_leaving_a_group_asks_first_and_leads_to_the_list(people, open_window):
    ada, ben, *_ = people
    room = ada.group_with(ben, name="Garden club")
    window = open_window()
    window.enter(ada, room)
    open_people(window)
    window.shows("dialog button", "Leave group").click()
    window.shows("dialog h2", "Leave Garden club?")
    window.shows("dialog button", "Cancel").click()
    window.lacks("dialog h2", "Leave")
    window.shows("dialog button", "Leave group").click()
    window.shows("dialog .danger").click()
    window.shows(".toast", "You have left Garden club")
    window.shows(".empty h1", "Pick a room")
    window.lacks(".room-row", "Garden club")
    assert ben.roles(room) == {"Ben": "owner"}
    second = open_window()
    second.enter(ben, room)
    open_people(second)
    second.shows("dialog button", "Leave group").click()
    second.shows("dialog p", "You are the last one here")


def test_an_unnamed_group_has_its_peoples_names_in_both_languages(people, open_window):
    ada, *others = people
    ada.group_with(*others)
    window = open_window()
    window.enter(ada)
    row = window.row("Ada & Ben & Cleo +1")
    assert "Ada & Ben & Cleo +1, Group, 4 people" in row.get_attribute("aria-label")
    window.account_menu("Deutsch")
    row = window.row("Ada & Ben & Cleo +1")
    assert "Gruppe, 4 Personen" in row.get_attribute("aria-label")
    row.click()
    open_people(window)
    window.shows("dialog h2", "Personen in dieser Gruppe")
    window.shows(".group-people .badge", "Leitung")
    window.shows("dialog button", "Personen hinzufügen")


@pytest.mark.parametrize("form", ["light", "dark", "phone"])
def test_no_screen_of_groups_has_a_serious_finding_and_all_is_large_enough_to_touch(people, open_window, form):
    ada, ben, *others = people
    room = ada.group_with(ben, *others, name="Garden club")
    ben.send(room, "hello")
    isPhone = form == "phone"
    window = open_window(dark=form == "dark", **({"width": 390, "height": 844, "touch": True} if isPhone else {}))
    window.enter(ben)
    findings = {}

    def check(name: str):
        window.run(AXE)
        if found := window.driver.execute_async_script(CHECK):
            findings[name] = found
        small = window.run("""
            return [...document.querySelectorAll("dialog[open] button, dialog[open] input, .room-head button")]
                .filter((e) => e.checkVisibility() && e.getClientRects().length)
                .map((e) => [e.className, e.getBoundingClientRect().width, e.getBoundingClientRect().height])
                .filter(([, width, height]) => width < 43.9 || height < 43.9)""")
        if isPhone and small:
            findings[f"{name}, sizes"] = small

    window.row("Garden club")
    check("list")
    window.shows(".side-head .primary").click()
    window.shows("dialog .segments button", "Group").click()
    window.shows("dialog .person-row").click()
    window.shows("dialog .chip")
    check("choosing people")
    window.press(Keys.ESCAPE)
    window.lacks("dialog")
    window.row("Garden club").click()
    window.shows(".bubble", "hello")
    open_people(window)
    check("people")
    menu_of(window, "Ada")
    check("menu")
    ada.remove(room, ben)
    window.shows(".empty h2", "removed")
    check("removed")
    assert findings == {}
