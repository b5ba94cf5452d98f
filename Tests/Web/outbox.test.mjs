import assert from "node:assert/strict";
import { test } from "node:test";
import { TabChannel } from "../../Clients/Web/parlor/channel.js";
import { Outbox } from "../../Clients/Web/parlor/outbox.js";
import { browserPlatform, memoryStorage } from "../../Clients/Web/parlor/parlor.js";
import { Clock } from "./support/clock.mjs";

const LANE = "room/messages";

/** An outbox whose sends are noted and not answered, unless `answers`. */
function makeOutbox(storage, { now, answers = false, BroadcastChannel } = {}) {
  const clock = new Clock();
  const sent = [];
  const platform = browserPlatform({ ...clock, now: now ?? clock.now, random: () => 0.5 });
  const outbox = new Outbox({
    platform, storage, prefix: "me/outbox/", channel: new TabChannel({ BroadcastChannel }, "parlor"),
    send: async ({ change }) => {
      sent.push(change.text);
      return answers ? { type: "done", value: {} } : new Promise(() => {});
    },
  });
  return { outbox, clock, sent, type: (text) => outbox.append(LANE, text, { type: "message", text }) };
}

const stored = async (storage) => (await storage.readAll("me/outbox/")).map(([, { change }]) => change.text);

test("a message typed at any moment of another's write is stored", async () => {
  for (let turns = 0; turns < 30; turns += 1) {
    const storage = memoryStorage();
    const { outbox, clock, type } = makeOutbox(storage);
    await outbox.start();
    type("one");
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    type("two");
    await clock.advance(0);
    assert.deepEqual(await stored(storage), ["one", "two"], `${turns} turns later`);
  }
});

test("what is typed while stored messages are read is sent after them", async () => {
  const storage = memoryStorage();
  const first = makeOutbox(storage);
  await first.outbox.start();
  first.type("one");
  await first.clock.advance(0);
  const { readAll } = storage;
  let letRead;
  storage.readAll = (prefix) => new Promise((resolve) => { letRead = () => resolve(readAll(prefix)); });
  const { outbox, clock, sent, type } = makeOutbox(storage, { answers: true });
  outbox.start();
  type("two");
  await clock.advance(1_000);
  assert.deepEqual(sent, []);
  letRead();
  await clock.advance(0);
  assert.deepEqual(sent, ["one", "two"]);
});

/** Notes the errors that go to `reportError` during a test. */
function noteReports(t) {
  const reports = [];
  const { reportError } = globalThis;
  globalThis.reportError = ({ message }) => reports.push(message);
  t.after(() => { globalThis.reportError = reportError; });
  return reports;
}

/** Runs `body` during the next write. */
function duringWrite(storage, body) {
  const { write } = storage;
  storage.write = (changes) => {
    storage.write = write;
    body();
    return write(changes);
  };
}

test("what is typed during a write is stored, and sent in its turn, even if a follower of the lane throws", async (t) => {
  const reports = noteReports(t);
  for (const answers of [false, true]) {
    const storage = memoryStorage();
    const { outbox, clock, sent, type } = makeOutbox(storage, { answers });
    await outbox.start();
    outbox.follow(LANE, (entry) => {
      if (entry || outbox.entries(LANE)[0]?.isKept) throw new Error("a follower");
    });
    duringWrite(storage, () => type("two"));
    type("one");
    await clock.advance(0);
    assert.deepEqual(await stored(storage), answers ? [] : ["one", "two"]);
    assert.deepEqual(sent, answers ? ["one", "two"] : ["one"]);
    assert.ok(reports.splice(0).includes("a follower"));
  }
});

test("what is typed during a removal is stored, even if other tabs cannot be notified", async (t) => {
  const reports = noteReports(t);
  class BroadcastChannel {
    postMessage() {
      throw new Error("a closed channel");
    }
  }
  const storage = memoryStorage();
  const { outbox, clock, type } = makeOutbox(storage, { BroadcastChannel });
  await outbox.start();
  const entry = type("one");
  await clock.advance(0);
  duringWrite(storage, () => type("two"));
  outbox.remove(entry);
  await clock.advance(0);
  assert.deepEqual(await stored(storage), ["two"]);
  assert.deepEqual(reports, ["a closed channel"]);
});

test("messages stay in the order typed after a start with an earlier clock", async () => {
  const storage = memoryStorage();
  for (const [index, texts] of [["one", "two"], ["three"]].entries()) {
    const { outbox, clock, type } = makeOutbox(storage, { now: () => 2_000 - index * 1_000 });
    await outbox.start();
    texts.forEach(type);
    await clock.advance(0);
  }
  assert.deepEqual(await stored(storage), ["one", "two", "three"]);
  const { outbox, clock, sent, type } = makeOutbox(storage, { now: () => 0, answers: true });
  outbox.start();
  type("four");
  await clock.advance(0);
  assert.deepEqual(sent, ["one", "two", "three", "four"]);
});
