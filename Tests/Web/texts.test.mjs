import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import "./support/english.mjs";
import { ClientFailure, failureSentence } from "../../Clients/Web/parlor/parlor.js";
import { failureText, setLanguage } from "../../Clients/Web/page/texts.js";
import de from "../../Clients/Web/page/texts/de.js";
import en from "../../Clients/Web/page/texts/en.js";

test("both languages have the same texts", () => {
  assert.deepEqual(Object.keys(de), Object.keys(en));
});

test("a failure has the same sentence as in the screens for iOS, by its code, and never the server's or an error's words", async () => {
  const catalogue = JSON.parse(await readFile(new URL("../../Clients/iOS/Localizable.xcstrings", import.meta.url), "utf8")).strings;
  // What fails only there.
  const others = ["in_use", "left", "not_discarded", "not_forgotten", "removed", "unreadable"].map((code) => `error.${code}`);
  const keys = Object.keys(catalogue).filter((key) => key.startsWith("error.") && !others.includes(key));
  assert.ok(keys.length > 20);
  for (const language of ["en", "de"]) {
    const words = (key) => catalogue[key].localizations[language].stringUnit.value;
    for (const key of keys) assert.equal(failureSentence({ code: key.slice("error.".length) }, language), words(key), key);
    setLanguage(language);
    for (const failure of [ClientFailure.refused("constructor", "This is too odd."), new TypeError("Cannot read properties of null"), null]) {
      assert.equal(failureText(failure), words("error.internal_error"));
    }
  }
});

test("who has to wait is told how long", () => {
  const wait = (retryAfter) => failureSentence(ClientFailure.refused("rate_limited", "no", { retryAfter }));
  assert.equal(wait(600_000), "Too many attempts. Please try again in 10 minutes.");
  assert.equal(wait(12_000), "Too many attempts. Please try again in 12 seconds.");
  assert.equal(wait(null), "Too many attempts. Please wait a moment.");
  const slow = ClientFailure.refused("rate_limited", "no", { retryAfter: 300_000 });
  for (const language of ["de", "de-DE", "de_AT", "DE"]) {
    assert.equal(failureSentence(slow, language), "Zu viele Versuche. Bitte in 5 Minuten erneut versuchen.");
  }
  for (const language of ["en", "en-GB", "fr", "den", "constructor", ""]) {
    assert.equal(failureSentence(slow, language), "Too many attempts. Please try again in 5 minutes.");
  }
});

test("a refusal of a field names it", () => {
  assert.equal(ClientFailure.refused("invalid_field", "`email` has to be an e-mail address, in ASCII.").field, "email");
  assert.equal(ClientFailure.refused("invalid_field", "no").field, null);
  assert.equal(ClientFailure.refused("forbidden", "`email`").field, null);
});

test("a stored language that is none of the page's is ignored", async () => {
  globalThis.localStorage = { getItem: () => "constructor" };
  try {
    const { language } = await import("../../Clients/Web/page/texts.js?again");
    assert.equal(language(), "en");
  } finally {
    delete globalThis.localStorage;
  }
});
