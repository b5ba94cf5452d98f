import assert from "node:assert/strict";
import { test } from "node:test";
import "./support/english.mjs";
import { ClientFailure } from "../../Clients/Web/parlor/parlor.js";
import { failureText } from "../../Clients/Web/page/texts.js";

test("a failure is told in the page's words, or the server's, and never in those of an error in the page", () => {
  assert.equal(failureText(ClientFailure.refused("forbidden", "no")), "You are not allowed to do this.");
  assert.equal(failureText(ClientFailure.refused("too_odd", "This is too odd.")), "This is too odd.");
  assert.equal(failureText(new TypeError("Cannot read properties of null")), "This did not work. Please try again.");
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
