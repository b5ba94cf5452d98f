"""A window of Chromium on the page, and a person's actions in it."""

import base64
import json
import re
from contextlib import contextmanager

from parlor import until
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

# What a browser reports of a server that is down, or of an address that nobody answers: no fault of the page.
EXPECTED = re.compile(r"Failed to load resource|WebSocket connection|net::ERR_")

WATCH = """
window.__reports = [];
document.addEventListener("securitypolicyviolation", (e) => __reports.push(`${e.violatedDirective} ${e.blockedURI}`));
addEventListener("error", (e) => e.message && __reports.push(e.message));
addEventListener("unhandledrejection", (e) => __reports.push(String(e.reason)));
for (const name of ["alert", "confirm", "prompt"]) window[name] = () => __reports.push(name);
window.__announced = [];
addEventListener("DOMContentLoaded", () => {
    const live = document.getElementById("live");
    if (live) new MutationObserver(() => live.textContent && __announced.push(live.textContent))
        .observe(live, { childList: true, characterData: true, subtree: true });
});
"""
KEEP_SESSION = """
const [session, done] = arguments;
const request = indexedDB.open(`parlor ${location.origin}`, 1);
request.onupgradeneeded = () => request.result.createObjectStore("entries");
request.onerror = () => done(String(request.error));
request.onsuccess = () => {
    const writing = request.result.transaction("entries", "readwrite");
    writing.objectStore("entries").put(session, "session");
    writing.oncomplete = () => { request.result.close(); done(""); };
    writing.onabort = () => done(String(writing.error));
};
"""
READ_STORED = """
const [key, done] = arguments;
const request = indexedDB.open(`parlor ${location.origin}`);
request.onsuccess = () => {
    const reading = request.result.transaction("entries").objectStore("entries").get(key);
    reading.onsuccess = () => { request.result.close(); done(reading.result ?? null); };
};
"""


class Window:
    """One browser, with a storage of its own. Tests use it one after the other: `reset` removes everything of the last one."""

    def __init__(self, traced: str = "", stores: bool = True):
        """Opens a browser. If `traced` names categories of Chromium's trace, `trace` returns what was recorded.

        With `stores` false, the person has blocked site data."""
        options = webdriver.ChromeOptions()
        for argument in (
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--disable-features=BackForwardCache", "--force-prefers-reduced-motion", "--lang=en",
        ):  # fmt: skip
            options.add_argument(argument)
        options.page_load_strategy = "none"
        if not stores:
            options.add_experimental_option("prefs", {"profile.default_content_setting_values.cookies": 2})
        logs = {"browser": "ALL"}
        if traced:
            logs["performance"] = "ALL"
            options.add_experimental_option("perfLoggingPrefs", {"enableNetwork": False, "traceCategories": traced})
        options.set_capability("goog:loggingPrefs", logs)
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.main = self.driver.current_window_handle
        self.origins = set()
        self.command("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        self.command("Network.enable")

    def reset(self, width: int = 1400, height: int = 860, dark: bool = False, touch: bool = False):
        for handle in self.driver.window_handles:
            if handle != self.main:
                self.driver.switch_to.window(handle)
                self.driver.close()
        self.driver.switch_to.window(self.main)
        self.cut(False)
        self.go("about:blank")
        for origin in self.origins:
            self.command("Storage.clearDataForOrigin", origin=origin, storageTypes="all")
        self.origins.clear()
        self.resize(width, height, touch)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])
        self.driver.get_log("browser")

    def command(self, name: str, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def resize(self, width: int, height: int, touch: bool = False):
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self.command("Emulation.setTouchEmulationEnabled", enabled=touch)

    def cut(self, is_cut: bool, latency: int = 0):
        """Sets the network's state for open connections and new ones. The latency is in milliseconds."""
        self.command(
            "Network.emulateNetworkConditions", offline=is_cut, latency=latency, downloadThroughput=-1, uploadThroughput=-1)

    def set_offline(self, is_offline: bool):
        """Cuts the network or restores it, and the page notices at once."""
        self.cut(is_offline)
        self.run("dispatchEvent(new Event(arguments[0]))", "offline" if is_offline else "online")

    @contextmanager
    def scripted(self, source: str):
        """Runs a script before the page's own in each document that is opened meanwhile."""
        script = self.command("Page.addScriptToEvaluateOnNewDocument", source=source)
        try:
            yield
        finally:
            self.command("Page.removeScriptToEvaluateOnNewDocument", **script)

    def trace(self) -> list[dict]:
        """Returns the trace's events since the last call."""
        def collect() -> list[dict]:
            messages = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
            return [message["params"] for message in messages if message["method"] == "Tracing.dataCollected"]

        events = until(collect, what="the trace")
        # After an answer, the driver starts the recording again only when it is asked once more.
        collect()
        return events

    # What is there

    def all(self, selector: str):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def run(self, script: str, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, condition, what: str):
        """Waits until the condition is true, and returns its value; a missing element counts as false."""

        def found():
            try:
                return condition()
            except (WebDriverException, IndexError):
                return None  # it has gone, or is not there yet

        return until(found, what=what)

    def shows(self, selector: str, text: str = ""):
        """Waits for the first match that is visible and contains the text."""
        return self.until(lambda: self._found(selector, text), f"{selector} with {text!r}")

    def lacks(self, selector: str, text: str = ""):
        self.until(lambda: not self._found(selector, text), f"no {selector} with {text!r}")

    def _found(self, selector: str, text: str):
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].find("
            "(e) => e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length"
            " && (e.innerText ?? e.textContent).includes(arguments[1])) ?? null", selector, text)  # fmt: skip

    def texts(self, selector: str) -> list[str]:
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText.trim())", selector)

    def reports(self) -> list[str]:
        """Returns policy violations, and errors of the page's own code."""
        try:
            ran = self.run("return window.__reports || []")
        except WebDriverException:
            ran = []
        return ran + [
            entry["message"] for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE" and not EXPECTED.search(entry["message"])
        ]  # fmt: skip

    def stored(self, key: str):
        """Returns what the page has stored in its browser."""
        return self.driver.execute_async_script(READ_STORED, key)

    # What a person does

    def go(self, address: str):
        """Opens the address, and waits only for the document; tests wait for what the page shows."""
        self.driver.get(address)
        self.until(
            lambda: self.run("return document.readyState === 'loading' ? '' : location.href").startswith(address), address)

    def visit(self, address: str, room: str = ""):
        if self.driver.current_url.startswith(address):
            self.go("about:blank")
        self.origins.add(address)
        self.go(f"{address}/" + (f"#/room/{room}" if room else ""))

    def visit_link(self, link: str):
        """Opens a link of `parlor --demo`."""
        self.origins.add(link.split("/#")[0])
        self.driver.get(link.strip())
        self.shows("dialog .primary").click()
        self.shows(".side-head")

    def reload(self):
        self.run("window.__isOld = true")
        self.driver.refresh()
        self.until(lambda: self.run("return !window.__isOld && document.readyState === 'complete'"), "a reload")

    def enter(self, person, room: str = ""):
        """Opens the page as a person who has signed in before."""
        self.origins.add(person.address)
        self.go(f"{person.address}/healthz")
        problem = self.driver.execute_async_script(KEEP_SESSION, person.session)
        assert not problem, problem
        self.visit(person.address, room)
        self.shows(".side-head")
        if room:
            self.shows(".composer textarea")

    def account_menu(self, button: str = ""):
        """Opens the account menu, and presses one of its buttons."""
        self.shows(".side-head [aria-haspopup]").click()
        self.shows(".side-head .menu")
        if button:
            self.shows(".side-head .menu button", button).click()

    def account_screens(self):
        """Opens the account menu and its dialogs, one after the other, and yields a name for each."""
        self.account_menu()
        yield "account"
        for number, (name, content) in enumerate((("password", "dialog form"), ("sign-ins", ".sign-ins li"))):
            self.run("document.querySelectorAll('.side-head .menu > .button')[arguments[0]].click()", number)
            self.shows(content)
            yield name
            self.press(Keys.ESCAPE)
            self.lacks("dialog")
            self.account_menu()
        self.press(Keys.ESCAPE)
        self.lacks(".side-head .menu")

    def open_tab(self) -> str:
        """Opens another tab of the same person, at the same address, in front."""
        address = self.driver.current_url
        self.driver.switch_to.new_window("tab")
        self.command("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        self.go(address)
        return self.driver.current_window_handle

    def write(self, text: str, send: bool = True):
        self.shows(".composer textarea").send_keys(text + (Keys.ENTER if send else ""))

    def last_state(self) -> str:
        return (self.texts(".line .state") or [""])[-1]

    def wait_until_sent(self):
        self.until(lambda: self.last_state() in ("Sent", "Read"), "the last message, sent,")

    def row(self, title: str):
        return self.shows(".room-row", title)

    def badge(self, title: str) -> str:
        return self.row(title).find_element(By.CSS_SELECTOR, ".badge:not(.quiet)").text

    def item(self, element: dict):
        return self.shows(f'.item[data-id="{element["id"]}"]')

    def box(self, item) -> dict:
        """Returns an element's position on its board, and its size."""
        return self.run(
            "const e = arguments[0], box = e.getBoundingClientRect(), plane = e.closest('.surface').getBoundingClientRect();"
            "return [box.x - plane.x, box.y - plane.y, box.width, box.height].map(Math.round)", item)  # fmt: skip

    def drag(self, item, x: int, y: int, release: bool = True):
        moves = ActionChains(self.driver, duration=0).move_to_element(item).click_and_hold()
        moves = moves.move_by_offset(x // 2, y // 2).move_by_offset(x - x // 2, y - y // 2)
        (moves.release() if release else moves).perform()

    def release(self):
        ActionChains(self.driver).release().perform()

    def swipe(self, item, x: int, y: int, end: str = "touchEnd"):
        """Moves a finger from the middle of the item, in steps; by (0, 0), it taps. The window has to be one with touch."""
        box = self.run("const box = arguments[0].getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]", item)
        for step in range(11 if x or y else 1):
            point = {"x": box[0] + x * step / 10, "y": box[1] + y * step / 10}
            self.command("Input.dispatchTouchEvent", type="touchMove" if step else "touchStart", touchPoints=[point])
        self.command("Input.dispatchTouchEvent", type=end, touchPoints=[])

    def press(self, *keys: str):
        ActionChains(self.driver).send_keys(*keys).perform()

    def chord(self, modifier: str, key: str):
        ActionChains(self.driver).key_down(modifier).send_keys(key).key_up(modifier).perform()

    def focused(self) -> dict:
        """Returns the focused element, and whether the focus is visible."""
        return json.loads(self.run("""
            const e = document.activeElement, style = getComputedStyle(e);
            const around = getComputedStyle(e.closest(".composer-box, .search") ?? e);
            const isVisible = [style, around].some((s) => s.outlineStyle !== "none" || s.boxShadow !== "none");
            return JSON.stringify({ tag: e.tagName, class: e.className, name: e.getAttribute("aria-label") ?? e.innerText, isVisible });
            """))

    def save_picture(self, path):
        """Takes a PNG, or a small WebP, without the pointer over anything."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.command("Input.dispatchMouseEvent", type="mouseMoved", x=0, y=0)
        if path.suffix == ".png":
            self.driver.save_screenshot(str(path))
        else:
            picture = self.command("Page.captureScreenshot", format="webp", quality=82)
            path.write_bytes(base64.b64decode(picture["data"]))

    def close(self):
        self.driver.quit()
