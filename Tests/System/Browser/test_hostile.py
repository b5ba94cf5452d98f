"""Hostile texts in every field: shown as text, without executing any of it."""

from api_people import Person
from selenium.webdriver.common.keys import Keys

HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"><svg onload=alert(1)>", "javascript:alert(1)",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>", "{{constructor.constructor('alert(1)')()}}",
    "data:text/html,<script>alert(1)</script>", "\u202etxt.exe", "'; DROP TABLE rooms; --",
    "https://example.org/\"onmouseover=\"alert(1)", "[x](javascript:alert(1))", "</textarea><script>alert(1)</script>",
]  # fmt: skip


def test_hostile_texts_are_shown_as_text_and_run_nothing(ada, parlor, open_window):
    ben = Person(parlor.address, first_name="<img src=x onerror=alert(1)>")
    room = ada.room_with(ben, "<script>alert(1)</script>")
    ben.send(room, *HOSTILE)
    for number, text in enumerate(HOSTILE):
        y = 20 + 170 * number
        ben.put(room, text, x=20, y=y)
        ben.put(room, text, x=260, y=y, type="link", url=text, title=text)
        ben.put(room, text, x=560, y=y, type="image", url=text, alt=text)
        # "constructor" is a type like any other, and what every object has.
        ben.put(room, text, x=860, y=y, type=f"card{number}" if number else "constructor", html=text, tint=text, w=text, z=text)
    window = open_window(height=3200)
    window.enter(ada, room)
    window.until(lambda: len(window.all(".item")) == 4 * len(HOSTILE), "the board")
    window.until(lambda: set(HOSTILE) <= set(window.texts(".bubble")), "the messages, as they were written")
    window.shows(".name-button", "<script>alert(1)</script>")
    window.shows(".presence", "<img src=x onerror=alert(1)>")
    window.row("<script>alert(1)</script>")
    assert set(HOSTILE) <= set(window.texts(".item .note"))
    links = window.run("return [...document.querySelectorAll('.bubble a, .plane a')].map((a) => [a.protocol, a.rel])")
    assert links
    for link in links:
        assert link[0] in ("http:", "https:") and "noopener" in link[1]
    assert window.run("return document.querySelectorAll('iframe, script:not([src]), [onerror], [onload], [onmouseover]').length") == 0
    # Dialogs, too: that of the element, and that of a new room with the person.
    notes = [item for item in window.all(".item") if item.text == HOSTILE[0]]
    window.run("arguments[0].focus(); arguments[0].dispatchEvent(new MouseEvent('dblclick', { bubbles: true }))", notes[0])
    assert window.shows("dialog textarea").get_attribute("value") == HOSTILE[0]
    window.press(Keys.ESCAPE)
    window.lacks("dialog")
    window.shows(".segments button", "People").click()
    window.shows(".person-head", "<img src=x onerror=alert(1)>")
    window.shows(".person-head .icon-button").click()
    window.shows("dialog h2", "<img src=x onerror=alert(1)>")
