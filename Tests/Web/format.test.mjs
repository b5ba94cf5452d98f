import assert from "node:assert/strict";
import { mock, test } from "node:test";
import "./support/english.mjs";
import { setLanguage } from "../../Clients/Web/page/texts.js";
import { deviceName, folded, relativeTime } from "../../Clients/Web/page/format.js";

// Summer time ends on 25 October 2026 at 3:00, and begins on 29 March.
process.env.TZ = "Europe/Berlin";

function shown(now, time) {
  mock.timers.enable({ apis: ["Date"], now: new Date(now) });
  try {
    return relativeTime(time);
  } finally {
    mock.timers.reset();
  }
}

test("what is more than a day old is as many days old as the calendar says", () => {
  assert.equal(shown("2026-06-10T10:00", "2026-06-09T11:00"), "23h ago");
  assert.equal(shown("2026-06-10T10:00", "2026-06-09T09:00"), "yesterday");
  assert.equal(shown("2026-06-10T10:00", "2026-06-08T22:00"), "2d ago", "36 hours");
  assert.equal(shown("2026-06-10T10:00", "2026-06-04T09:00"), "6d ago");
  assert.equal(shown("2026-06-10T10:00", "2026-06-03T22:00"), "Jun 3");
});

test("days are counted also where summer time begins or ends", () => {
  assert.equal(shown("2026-10-25T23:45", "2026-10-25T00:15"), "24h ago", "a day of 25 hours");
  assert.equal(shown("2026-10-26T00:30", "2026-10-24T23:30"), "2d ago", "26 hours");
  assert.equal(shown("2026-03-30T00:30", "2026-03-28T23:00"), "2d ago", "24.5 hours");
  assert.equal(shown("2026-03-30T12:00", "2026-03-28T12:00"), "2d ago", "47 hours");
});

test("a browser is named by itself and its system", () => {
  const chrome = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36";
  assert.equal(deviceName(`Mozilla/5.0 (X11; Linux x86_64) ${chrome}`), "Chrome · Linux");
  assert.equal(deviceName(`Mozilla/5.0 (Linux; Android 14) ${chrome}`), "Chrome · Android");
  assert.equal(deviceName(`Mozilla/5.0 (Windows NT 10.0) ${chrome} Edg/130.0`), "Edge · Windows");
  assert.equal(deviceName("Mozilla/5.0 (Macintosh; Intel Mac OS X 14.5; rv:132.0) Gecko/20100101 Firefox/132.0"), "Firefox · macOS");
  assert.equal(deviceName("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Version/18.0 Mobile Safari/604.1"), "Safari · iPhone");
  assert.equal(deviceName("python-httpx/0.27"), "python-httpx/0.27");
  assert.equal(deviceName(""), "");
});

test("minutes in German are not metres", () => {
  setLanguage("de");
  assert.equal(shown("2026-06-10T10:23", "2026-06-10T10:00"), "vor 23 Min.");
});

test("a search finds names by letters without accents, in upper and lower case", () => {
  assert.deepEqual(["Søren", "ŁUKASZ", "Zoë", "Straße", "İpek", "Ｎ"].map(folded), ["soren", "lukasz", "zoe", "strasse", "ipek", "ｎ"]);
});
