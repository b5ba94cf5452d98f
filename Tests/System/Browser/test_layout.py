"""Nothing leaves its column, at common widths, in both languages, with the longest names and large text."""

import pytest
from api_people import Person
from selenium.webdriver.common.keys import Keys

WIDTHS = (320, 390, 768, 1024, 1280, 1440)

# What lies outside its column. Ancestors that scroll sideways, and texts that end in an ellipsis, may be longer. A
# column that hides what is beyond it has to be tall enough, too.
SPILLS = """
const columns = ".banner, .side, .room-head, .tabs, .chat, .board, .stage, dialog, .menu, .porch-view, .porch-form, body";
const apart = ".visually-hidden, .skip, [aria-hidden=true], .plane *, .swatches *";
const scrolls = (e) => ["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth;
const found = [];
if (innerWidth !== arguments[0]) found.push(`the window is ${innerWidth} wide`);
if (document.documentElement.scrollWidth > innerWidth) found.push(`the document is ${document.documentElement.scrollWidth} wide`);
function check(e, box, name) {
    const column = e.closest(columns);
    if (!column || !box.width || !box.height || e.closest(apart) || getComputedStyle(column).clipPath !== "none") return;
    for (let near = e.parentElement; near !== column && near !== column.parentElement; near = near.parentElement)
        if (scrolls(near) || getComputedStyle(near).textOverflow === "ellipsis") return;
    const edge = column.getBoundingClientRect();
    if (box.left < edge.left - 1 || box.right > edge.right + 1)
        found.push(`${name} from ${Math.round(box.left)} to ${Math.round(box.right)}, in ${column.className || column.tagName} from ${Math.round(edge.left)} to ${Math.round(edge.right)}`);
    if (getComputedStyle(column).overflowY === "hidden" && (box.top < edge.top - 1 || box.bottom > edge.bottom + 1))
        found.push(`${name} is cut at ${Math.round(edge.bottom)}, ends at ${Math.round(box.bottom)}`);
}
for (const e of document.querySelectorAll("dialog[open], :popover-open")) {
    const box = e.getBoundingClientRect();
    if (box.left < 0 || box.right > innerWidth || box.bottom > innerHeight) found.push(`${e.className || e.tagName} leaves the window`);
}
for (const e of document.querySelectorAll("dialog[open], .dialog-body"))
    if (e.scrollWidth > e.clientWidth) found.push(`${e.className || e.tagName} is ${e.clientWidth} wide, its content ${e.scrollWidth}`);
for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility({ visibilityProperty: true, opacityProperty: false })) continue;
    check(e, e.getBoundingClientRect(), e.className || e.tagName);
    if (getComputedStyle(e).textOverflow === "ellipsis") continue;
    for (const node of e.childNodes) {
        if (node.nodeType !== Node.TEXT_NODE || !node.data.trim()) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        if (!e.closest("option, .note")) check(e, range.getBoundingClientRect(), `“${node.data.slice(0, 20)}”`);
    }
}
return found;
"""


@pytest.fixture
def long_names(parlor):
    """Two people with the longest names, their room with one, and their groups with a third."""
    ada, ben = Person(parlor.address, "Ada" + "a" * 97), Person(parlor.address, "Ben" + "n" * 97)
    room = ada.room_with(ben, "Kitchen" + "n" * 93)
    ada.room_with(ben)
    cleo = Person(parlor.address, "Cleo" + "o" * 96)
    for name in ("Greenhouse" + "e" * 90, None):
        ben.send(ada.group_with(ben, cleo, name=name), "hello " + "o" * 200)
    ben.send(room, "hello " + "o" * 200, "https://example.org/" + "x" * 300)
    ada.put(room, "a note")
    ada.sign_in(device="device" * 30)
    return ada, room


def screens(window, language: str):
    """Yields each screen that a person who is signed in sees, with its name."""
    window.shows(".room-row", "Kitchen")
    yield "list"
    window.shows(".segments button", {"en": "People", "de": "Personen"}[language]).click()
    window.shows(".person-head")
    yield "people"
    window.shows(".segments button", {"en": "Rooms", "de": "Räume"}[language]).click()
    yield from window.account_screens()
    window.shows(".side-head .primary").click()
    window.shows("dialog .person-row")
    yield "somebody for a room"
    window.shows("dialog .segments button", {"en": "Group", "de": "Gruppe"}[language]).click()
    for row in window.until(lambda: window.all("dialog .tick"), "boxes")[:2]:
        row.click()
    window.shows("dialog .chip")
    yield "people for a group"
    window.shows("dialog .dialog-foot .primary").click()
    window.shows("dialog form input")
    yield "new group"
    window.shows("dialog .dialog-foot .button").click()
    window.shows("dialog .segments button", {"en": "One person", "de": "Eine Person"}[language]).click()
    window.lacks("dialog .tick")
    window.shows("dialog .person-row").click()
    window.shows("dialog form input")
    yield "new room"
    window.press(Keys.ESCAPE)
    window.lacks("dialog")
    window.row("Kitchen").click()
    window.shows(".bubble")
    yield "room"
    window.run("document.querySelector('.name-button').click()")
    window.shows(".name-form")
    yield "renaming"
    window.press(Keys.ESCAPE)
    window.run("location.hash = '#/'")
    window.row("Greenhouse").click()
    window.shows(".bubble")
    yield "group"
    window.shows(".room-head > .icon-button:not(.back)").click()
    window.shows(".group-people li")
    yield "people of a group"
    window.shows(".group-people .icon-button").click()
    window.shows(".group-people :popover-open button")
    yield "menu of a person"
    window.press(Keys.ESCAPE)
    window.lacks(".group-people :popover-open")
    window.press(Keys.ESCAPE)
    window.lacks("dialog")
    window.run("location.hash = '#/'")
    window.shows(".side-head")


def porch(window):
    window.shows("input[name=username]")
    yield "sign in"
    window.shows(".swap button").click()
    window.shows("input[name=firstName]")
    yield "register"
    window.shows(".swap button").click()


def spills(window, screens, sizes) -> dict:
    found = {}
    for width in sizes:
        window.resize(width, 800)
        for name in screens():
            if here := window.run(SPILLS, width):
                found[f"{name}, {width}"] = here[:4]
    return found


@pytest.mark.parametrize("language", ["en", "de"])
def test_nothing_leaves_its_column(long_names, open_window, language):
    ada, _ = long_names
    window = open_window()
    window.visit(ada.address)
    window.shows("input[name=username]")
    window.run("localStorage['parlor.language'] = arguments[0]", language)
    window.reload()
    found = spills(window, lambda: porch(window), WIDTHS)
    window.enter(ada)
    found |= spills(window, lambda: screens(window, language), WIDTHS)
    # As somebody sees it who has chosen larger letters.
    try:
        for size, widths in ((24, (320, 412)), (32, (320, 412, 1280))):
            window.command("Page.setFontSizes", fontSizes={"standard": size, "fixed": 13})
            large = spills(window, lambda: screens(window, language), widths)
            found |= {f"{name}, {size} px": here for name, here in large.items()}
    finally:
        window.command("Page.setFontSizes", fontSizes={"standard": 16, "fixed": 13})
    assert found == {}, "\n".join(f"{name}: {here}" for name, here in found.items())


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_long_name_leaves_room_for_whether_its_owner_is_here(parlor, open_window, language):
    ada, ben = Person(parlor.address), Person(parlor.address, "Bartholomew Featherstonehaugh Smyt")
    room = ada.room_with(ben, "Kitchen")
    window = open_window()
    window.enter(ada, room)
    window.run("localStorage['parlor.language'] = arguments[0]", language)
    window.reload()
    words = {"en": " is away", "de": " ist nicht hier"}[language]
    for width in WIDTHS:
        window.resize(width, 800)
        assert window.shows(".presence", words).get_attribute("textContent") == ben.session["user"]["firstName"] + words
        assert window.run("""
            const edge = document.querySelector(".presence").getBoundingClientRect().right;
            const said = document.querySelector(".presence span:last-child").getBoundingClientRect();
            return said.right <= edge + 0.5 && said.right <= innerWidth"""), width
