"""A window of Chromium on the page, and what a person does in it."""

import time

from api_people import PASSWORD
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

WAIT = 15.0  # seconds; a busy machine is no failure

WATCH = """
window.__reports = [];
document.addEventListener("securitypolicyviolation", (e) => __reports.push(`${e.violatedDirective} ${e.blockedURI}`));
window.alert = () => __reports.push("alert");
"""


class Window:
    def __init__(self, width: int = 1400, height: int = 860, dark: bool = False, language: str = "en"):
        options = webdriver.ChromeOptions()
        for argument in (
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            f"--window-size={max(width, 500)},{height}", f"--lang={language}",
        ):  # fmt: skip
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])
        self.command("Page.addScriptToEvaluateOnNewDocument", source=WATCH)

    def command(self, name: str, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def resize(self, width: int, height: int, touch: bool = False):
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)

    # What is there

    def all(self, selector: str):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def run(self, script: str, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, condition, what: str):
        """What the condition returns once it is true; what is not there yet is false."""
        end = time.monotonic() + WAIT
        while True:
            try:
                if value := condition():
                    return value
            except WebDriverException:
                pass  # it has gone, or is not there yet
            assert time.monotonic() < end, f"{what}: not within {WAIT} s"
            time.sleep(0.05)

    def shows(self, selector: str, text: str = ""):
        """The first that matches, once it is visible and has the text in it."""
        def found():
            return next((e for e in self.all(selector) if e.is_displayed() and text in e.text), None)
        return self.until(found, f"{selector} with {text!r}")

    def lacks(self, selector: str, text: str = ""):
        self.until(
            lambda: not any(e.is_displayed() and text in e.text for e in self.all(selector)),
            f"no {selector} with {text!r}")

    def reports(self) -> list[str]:
        """What ran that may not, and errors of the page's own code."""
        try:
            ran = self.run("return window.__reports || []")
        except WebDriverException:
            ran = []
        severe = [
            entry["message"] for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE" and "Failed to load resource" not in entry["message"]
            and "WebSocket connection" not in entry["message"]
        ]  # fmt: skip
        return ran + severe

    # What a person does

    def visit(self, address: str, room: str = ""):
        self.driver.get("about:blank")
        self.driver.get(f"{address}/" + (f"#/room/{room}" if room else ""))

    def log_in(self, person, room: str = ""):
        self.visit(person.address)
        self.shows("input[name=username]").send_keys(person.username)
        self.one("input[name=password]").send_keys(PASSWORD + Keys.ENTER)
        self.shows(".side-head")
        if room:
            self.visit(person.address, room)
            self.shows(".composer textarea")

    def write(self, text: str, send: bool = True):
        self.shows(".composer textarea").send_keys(text + (Keys.ENTER if send else ""))

    def last_message(self) -> str:
        return self.all(".bubble")[-1].text

    def last_state(self) -> str:
        return self.all(".state")[-1].text

    def row(self, title: str):
        return self.until(
            lambda: next((row for row in self.all(".room-row") if title in row.text), None), f"a row of {title!r}")

    def badge(self, title: str) -> str:
        return "".join(badge.text for badge in self.row(title).find_elements(By.CSS_SELECTOR, ".badge:not(.quiet)"))

    def item(self, element: dict):
        return self.shows(f'.item[data-id="{element["id"]}"]')

    def drag(self, item, x: int, y: int, release: bool = True):
        moves = ActionChains(self.driver).move_to_element(item).click_and_hold().move_by_offset(x // 2, y // 2)
        moves = moves.move_by_offset(x - x // 2, y - y // 2)
        (moves.release() if release else moves).perform()

    def press(self, *keys: str):
        ActionChains(self.driver).send_keys(*keys).perform()

    def save_picture(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(path))

    def close(self):
        self.driver.quit()
