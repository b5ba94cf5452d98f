import assert from "node:assert/strict";
import { test } from "node:test";
import { browser } from "./support/browser.mjs";
import { boards, caughtUp, pair } from "./support/pair.mjs";

/**
 * Ada goes offline and edits the elements "one", "two" and "three", while Bob edits the first and deletes the second.
 * Then she connects again: `device` is hers, whose room is closed unless `isOpen`.
 */
async function conflicts({ isOpen = false } = {}) {
  const { network, clock, server, a: { user }, b, roomId } = await pair();
  const tabs = browser();
  const device = await network.device(user, tabs);
  await caughtUp(clock, device);
  const [room, { board: theirs }] = [device.parlor.open(roomId), b.parlor.open(roomId)];
  const ids = ["one", "two", "three"].map((text) => room.board.create({ type: "note", content: { text } }));
  await clock.until("all have them", () => device.parlor.unsent.snapshot.waiting === 0 && theirs.snapshot.elements.length === 3);
  await whileOffline({ clock, device }, () => {
    for (const id of ids) room.board.edit(id, { text: "mine" });
    if (!isOpen) room.close();
    const [one, two] = theirs.snapshot.elements;
    theirs.edit(one.id, { text: "theirs" });
    theirs.delete(two.id);
  });
  const open = async ({ parlor } = device) => {
    const { board } = parlor.open(roomId);
    await clock.until("it is verified", () => board.snapshot.isVerified);
    return board;
  };
  const newTab = async () => {
    const tab = await network.device(user, tabs);
    await caughtUp(clock, tab);
    return tab;
  };
  const [first, second] = [{ id: ids[0], type: "note", content: { text: "mine" } }, { id: ids[1], type: "note", content: { text: "mine" }, isDeleted: true }];
  const stored = async () => (await tabs.storage.readAll(`${user.id}/outbox/`)).map(([, { id, change }]) => [id, change.content?.text]);
  return { clock, server, device, roomId, board: room.board, theirs, ids, first, second, open, newTab, stored };
}

/** Runs `work` while the device has no connection. */
async function whileOffline({ clock, device: { parlor, wires } }, work) {
  wires.cut();
  await clock.advance(100);
  work();
  await clock.advance(1_000);
  wires.isOffline = false;
  parlor.wake();
  await clock.until("all is sent", () => parlor.unsent.snapshot.waiting === 0);
  await clock.advance(1_000);
}

const shown = (board) => board.snapshot.elements.map(({ content, state }) => [content.text, state]);

test("what others were faster than while no board was open is shown when it opens, and other elements' edits are sent", async () => {
  const { device, roomId, theirs, first, second, open } = await conflicts();
  assert.deepEqual(device.parlor.unsent.snapshot, { waiting: 0, failed: 2, receipts: 0 });
  assert.deepEqual(shown(theirs), [["theirs", "saved"], ["mine", "saved"]]);
  const { board } = device.parlor.open(roomId);
  assert.equal(board.snapshot.conflict, null, "its element is not loaded yet");
  await open();
  assert.deepEqual(shown(board), [["theirs", "saved"], ["mine", "saved"]]);
  assert.deepEqual(board.snapshot.conflict, first);
  board.dismissConflict();
  assert.deepEqual(board.snapshot.conflict, second);
});

test("a conflict survives the board's closing and a reload, and is not sent again", async () => {
  const { clock, server, device, board, theirs, first, second, open, newTab } = await conflicts({ isOpen: true });
  assert.deepEqual(board.snapshot.conflict, first);
  const updates = () => server.calls.filter((call) => call === "element:update").length;
  const sent = updates();
  await device.parlor.stop();
  const tab = await newTab();
  await clock.advance(60_000);
  const again = await open(tab);
  assert.deepEqual(tab.parlor.unsent.snapshot, { waiting: 0, failed: 2, receipts: 0 });
  assert.deepEqual(again.snapshot.conflict, first);
  again.retry(first.id);
  again.discard(first.id);
  await clock.advance(1_000);
  assert.equal(updates(), sent);
  assert.deepEqual(shown(again), shown(theirs));
  again.dismissConflict();
  assert.deepEqual(again.snapshot.conflict, second);
});

test("a dismissed conflict is gone for good, also in another tab, and the others stay", async () => {
  const { clock, first, second, open, newTab, stored } = await conflicts();
  const [one, two] = [await open(), await open(await newTab())];
  assert.deepEqual(two.snapshot.conflict, first);
  one.dismissConflict(one.snapshot.conflict);
  await clock.advance(10);
  assert.deepEqual([one, two].map(({ snapshot }) => snapshot.conflict), [second, second]);
  assert.deepEqual(await stored(), [[second.id, "mine"]]);
  // The other tab's dialog was about the one that is gone, and not about the next one.
  two.dismissConflict(first);
  assert.deepEqual(two.snapshot.conflict, second);
  two.dismissConflict();
  await clock.advance(10);
  assert.deepEqual([one, two].map(({ snapshot }) => snapshot.conflict), [null, null]);
  assert.deepEqual(await stored(), []);
  assert.equal((await open(await newTab())).snapshot.conflict, null);
});

test("a newer edit ends a conflict when the server has it, and a deletion ends it at once", async () => {
  const { clock, device, theirs, ids, first, second, open, stored } = await conflicts();
  const board = await open();
  board.move(ids[0], { x: 1, y: 1 });
  await clock.advance(1_000);
  assert.deepEqual(board.snapshot.conflict, first);
  board.edit(ids[0], { text: "newer" });
  assert.deepEqual(board.snapshot.conflict, first);
  await clock.advance(1_000);
  assert.deepEqual(board.snapshot.conflict, second);
  assert.deepEqual(shown(theirs), [["newer", "saved"], ["mine", "saved"]]);
  board.dismissConflict();

  await whileOffline({ clock, device }, () => {
    board.edit(ids[2], { text: "lost" });
    theirs.edit(theirs.snapshot.elements[1].id, { text: "theirs" });
  });
  assert.deepEqual(board.snapshot.conflict, { ...first, id: ids[2], content: { text: "lost" } });
  board.delete(ids[2]);
  assert.equal(board.snapshot.conflict, null);
  await clock.advance(1_000);
  assert.deepEqual(await stored(), []);
  assert.deepEqual(shown(theirs), [["newer", "saved"]]);
});

test("of an element that is in conflict twice, the newest edit is kept", async () => {
  const { clock, device, theirs, ids, first, second, open, stored } = await conflicts();
  const board = await open();
  await whileOffline({ clock, device }, () => {
    board.edit(ids[0], { text: "newest" });
    theirs.edit(theirs.snapshot.elements[0].id, { text: "theirs again" });
  });
  assert.deepEqual(await stored(), [[second.id, "mine"], [first.id, "newest"]]);
  board.dismissConflict();
  assert.deepEqual(board.snapshot.conflict, { ...first, content: { text: "newest" } });
  // It says when the element is deleted later.
  theirs.delete(theirs.snapshot.elements[0].id);
  await clock.advance(1_000);
  assert.deepEqual(board.snapshot.conflict, { ...first, content: { text: "newest" }, isDeleted: true });
});

test("an edit behind one in conflict conflicts as well, rather than replace what the person has not seen", async () => {
  const { clock, a, mine, theirs } = await boards();
  const id = mine.create({ type: "note", content: { text: "first" } });
  await clock.advance(500);
  theirs.edit(theirs.snapshot.elements[0].id, { text: "theirs" });
  mine.edit(id, { text: "mine" });
  await clock.advance(1);
  mine.edit(id, { text: "newest" });
  await clock.until("all is sent", () => a.parlor.unsent.snapshot.waiting === 0);
  await clock.advance(500);
  assert.deepEqual([mine, theirs].map(shown), [[["theirs", "saved"]], [["theirs", "saved"]]]);
  assert.deepEqual(mine.snapshot.conflict, { id, type: "note", content: { text: "newest" } });
  assert.equal(a.parlor.unsent.snapshot.failed, 1);
});

test("an edit of a new element that others delete before its answer arrives is kept", async () => {
  const { clock, server, a, roomId, mine, theirs } = await boards();
  const id = mine.create({ type: "note", content: { text: "first" } });
  while (server.rooms.get(roomId).elements.size === 0) await clock.advance(1);
  await whileOffline({ clock, device: a }, () => {
    mine.edit(id, { text: "mine" });
    theirs.delete(theirs.snapshot.elements[0].id);
  });
  assert.deepEqual(mine.snapshot.conflict, { id, type: "note", content: { text: "mine" }, isDeleted: true });
});

test("a board at rest shows the content that others were faster with", async () => {
  const { clock, a, mine, theirs } = await boards();
  const id = mine.create({ type: "note", content: { text: "first" } });
  await clock.advance(500);
  a.parlor.rest();
  await clock.advance(500);
  theirs.edit(theirs.snapshot.elements[0].id, { text: "theirs" });
  await clock.advance(500);
  mine.edit(id, { text: "mine" });
  await clock.advance(500);
  assert.deepEqual(shown(mine), [["theirs", "saved"]]);
  assert.deepEqual(mine.snapshot.conflict, { id, type: "note", content: { text: "mine" } });
});

test("a clearing drops the conflicts", async () => {
  const { clock, device, open, stored } = await conflicts();
  const board = await open();
  const clearing = board.clear();
  await clock.advance(1_000);
  await clearing;
  assert.equal(board.snapshot.conflict, null);
  assert.equal(device.parlor.unsent.snapshot.failed, 0);
  assert.deepEqual(await stored(), []);
});
