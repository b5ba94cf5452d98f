import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Replay } from "./support/replay.mjs";

// ParlorClient's tests make these histories, and replay the same ones (AnyOrderTests.swift).
const file = new URL("../../Clients/ParlorClient/Tests/ParlorClientTests/Messages/interleavings.json", import.meta.url);
const histories = JSON.parse(readFileSync(file, "utf8"));

test("there are histories", () => assert.ok(histories.length > 0));

for (const history of histories) {
  test(`the history of seed ${history.seed} ends as in ParlorClient`, () => new Replay(history).run());
}
