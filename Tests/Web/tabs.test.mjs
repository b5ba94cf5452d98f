import assert from "node:assert/strict";
import { test } from "node:test";
import { browser } from "./support/browser.mjs";
import { CHAOS } from "./support/network.mjs";
import { caughtUp, pair } from "./support/pair.mjs";

const SEEDS = Number(process.env.WEB_SEEDS ?? 40);

/**
 * Ada's tab in a browser, with a room's board open and a saved note on it. `newTab` opens another tab, which has no
 * network.
 */
async function world({ hasChannels = true, seed } = {}) {
  const { network, clock, server, a: { user }, b, roomId } = await pair({ seed });
  const tabs = hasChannels ? browser() : { ...browser(), BroadcastChannel: undefined };
  const one = await network.device(user, tabs);
  await caughtUp(clock, one);
  const { board } = one.parlor.open(roomId);
  const id = board.create({ type: "note", content: { text: "note" }, position: { x: 0, y: 0 } });
  await clock.until("the note is saved", () => board.snapshot.elements[0]?.state === "saved");
  const newTab = async () => {
    const tab = await network.device(user, { ...tabs, isOffline: true });
    await clock.advance(500);
    return { ...tab, board: tab.parlor.open(roomId).board };
  };
  const connect = async ({ parlor, wires }) => {
    wires.isOffline = false;
    parlor.wake();
    await clock.advance(300);
  };
  const stored = () => tabs.storage.readAll(`${user.id}/outbox/`);
  const { elements } = server.rooms.get(roomId);
  const saved = () => [...elements.values()].map(({ content, position }) => [content.text, position?.x]);
  const shown = (...devices) => devices.map(({ board, parlor }) => {
    assert.equal(board.snapshot.conflict, null);
    assert.deepEqual(parlor.unsent.snapshot, { waiting: 0, failed: 0, receipts: 0 });
    return board.snapshot.elements.map(({ content, position, state }) => [content.text, position?.x, state]);
  });
  return { network, clock, server, user, b, one: { ...one, board }, id, roomId, newTab, connect, stored, saved, shown };
}

/** A change of the first tab: made, then made again after the second tab has taken it over. */
const CHANGES = {
  "an edit": ({ board }, id, isLater) => board.edit(id, { text: isLater ? "a paragraph" : "a" }),
  "a move": ({ board }, id, isLater) => board.move(id, { x: isLater ? 2 : 1, y: 0 }),
};
const ENDS = { "an edit": ["a paragraph", 0], "a move": ["note", 2] };

for (const [name, change] of Object.entries(CHANGES)) {
  for (const order of ["other tab first", "same tab first", "other tab first, without channels"]) {
    // Without channels, nothing says which of two moves is newer: the one that is sent last wins.
    test(`${name} that goes on after another tab has taken it over is saved as it was last: ${order}`, async () => {
      const hasChannels = !order.endsWith("channels");
      const { one, id, newTab, connect, clock, saved, shown, stored } = await world({ hasChannels });
      one.wires.cut();
      await clock.advance(100);
      change(one, id, false);
      await clock.advance(100);
      const two = await newTab();
      change(one, id, true);
      await clock.advance(100);
      assert.equal((await stored()).length, 1);
      for (const tab of order.startsWith("other") ? [two, one] : [one, two]) await connect(tab);
      await caughtUp(clock, one, two);
      await clock.advance(20_000);
      assert.deepEqual(saved(), [ENDS[name]]);
      assert.deepEqual(shown(one, two), [0, 1].map(() => [[...ENDS[name], "saved"]]));
      assert.deepEqual(await stored(), []);
    });
  }
}

test("what another tab has sent shows as saved, and to go on editing is no conflict, also after a reload", async () => {
  const { one, id, newTab, connect, clock, saved, shown } = await world();
  one.wires.cut();
  await clock.advance(100);
  one.board.edit(id, { text: "a" });
  await clock.advance(100);
  const two = await newTab();
  await connect(two);
  assert.deepEqual(shown(one), [[["a", 0, "saved"]]]);
  one.board.edit(id, { text: "a paragraph" });
  two.wires.cut();
  // Both tabs are closed.
  for (const { parlor } of [one, two]) await Promise.all([parlor.stop(), clock.advance(5_000)]);
  const three = await newTab();
  await connect(three);
  await clock.advance(5_000);
  assert.deepEqual([saved(), shown(three)], [[["a paragraph", 0]], [[["a paragraph", 0, "saved"]]]]);
});

test("an edit that somebody else has changed meanwhile is a conflict in the end, with the newest text", async () => {
  const { one, id, b, roomId, newTab, connect, clock, saved } = await world();
  const { board: theirs } = b.parlor.open(roomId);
  await clock.advance(500);
  one.wires.cut();
  await clock.advance(100);
  one.board.edit(id, { text: "a" });
  await clock.advance(100);
  const two = await newTab();
  one.board.edit(id, { text: "a paragraph" });
  theirs.edit(theirs.snapshot.elements[0].id, { text: "theirs" });
  await clock.advance(500);
  for (const tab of [two, one]) await connect(tab);
  await clock.advance(20_000);
  assert.deepEqual(saved(), [["theirs", 0]]);
  for (const { board } of [one, two]) assert.equal(board.snapshot.conflict?.content.text, "a paragraph");
});

test("whatever a person changes in a tab, on any wires of two tabs, the last text and place are saved", async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { network, one, id, newTab, connect, clock, saved, shown, stored } = await world({ seed });
    const pick = (values) => values[Math.floor(network.random() * values.length)];
    one.wires.cut();
    one.board.edit(id, { text: "first" });
    await clock.advance(600);
    const tabs = [one, await newTab()];
    for (const { wires } of tabs) wires.chaos = CHAOS;
    let [text, x] = ["first", 0];
    for (let step = 1; step <= 30; step += 1) {
      const { parlor, wires } = pick(tabs);
      const roll = network.random();
      if (roll < 0.4) one.board.edit(id, { text: text = `text ${step}` });
      else if (roll < 0.7) one.board.move(id, { x: x = step, y: 0 });
      else if (roll < 0.8) wires.cut();
      else {
        wires.isOffline = false;
        parlor.wake();
      }
      // A person is slower than the channel between two tabs.
      await clock.advance(50 + Math.floor(network.random() * 400));
    }
    for (const { wires } of tabs) wires.chaos = null;
    for (const tab of tabs) await connect(tab);
    await caughtUp(clock, ...tabs);
    await clock.advance(60_000);
    assert.deepEqual(saved(), [[text, x]], `seed ${seed}`);
    assert.deepEqual(shown(...tabs), [0, 1].map(() => [[text, x, "saved"]]), `seed ${seed}`);
    assert.deepEqual(await stored(), [], `seed ${seed}`);
  }
});
