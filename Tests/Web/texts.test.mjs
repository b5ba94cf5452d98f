import assert from "node:assert/strict";
import { test } from "node:test";
import "./support/english.mjs";
import { ClientFailure } from "../../Clients/Web/parlor/parlor.js";
import { failureText, setLanguage } from "../../Clients/Web/page/texts.js";
import de from "../../Clients/Web/page/texts/de.js";
import en from "../../Clients/Web/page/texts/en.js";

test("both languages have the same texts", () => {
  assert.deepEqual(Object.keys(de), Object.keys(en));
});

/** The codes of the contract that something a person does on a screen can cause. */
const CODES = [
  "invalid_credentials", "username_taken", "email_taken", "invalid_field", "malformed_request", "rate_limited", "service_unavailable", "payload_too_large", "forbidden", "blocked",
  "room_not_found", "message_not_found", "element_not_found", "user_not_found", "version_conflict", "unauthenticated", "invalid_token",
];

test("a failure is told in the page's words, in the language of the page, and never in the server's or in those of an error in the page", () => {
  const kinds = ["offline", "signed_out", "not_kept"].map((kind) => new ClientFailure(kind, "no"));
  const failures = [...CODES.map((code) => ClientFailure.refused(code, "`x` is no.")), ...kinds];
  for (const [language, general] of [["de", "Das hat nicht geklappt. Bitte erneut versuchen."], ["en", "This did not work. Please try again."]]) {
    setLanguage(language);
    assert.deepEqual(failures.filter((failure) => /[`_]/.test(failureText(failure)) || failureText(failure) === general).map(({ code }) => code), []);
    assert.equal(failureText(ClientFailure.refused("too_odd", "This is too odd.")), general);
    assert.equal(failureText(new TypeError("Cannot read properties of null")), general);
  }
});

test("who has to wait is told how long", () => {
  const wait = (retryAfter) => failureText(ClientFailure.refused("rate_limited", "no", { retryAfter }));
  assert.equal(wait(600_000), "Too many attempts. Please try again in 10 minutes.");
  assert.equal(wait(12_000), "Too many attempts. Please try again in 12 seconds.");
  assert.equal(wait(null), "Too many attempts. Please wait a moment.");
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
