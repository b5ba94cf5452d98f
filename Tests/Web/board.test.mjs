import assert from "node:assert/strict";
import { test } from "node:test";
import { boards, pair } from "./support/pair.mjs";

const shown = (board) => board.snapshot.elements.map(({ content, position, state }) => [content.text, position?.x, state]);

test("an element shows at once, keeps its id, and the moves of one turn are one call", async () => {
  const { clock, server, mine, theirs } = await boards();
  const id = mine.create({ type: "note", content: { text: "n" }, position: { x: 0, y: 0 } });
  assert.deepEqual(shown(mine), [["n", 0, "saving"]]);
  await clock.advance(100);
  for (let x = 1; x <= 100; x += 1) mine.move(id, { x, y: 0 });
  assert.deepEqual(shown(mine), [["n", 100, "saving"]]);
  await clock.advance(100);
  assert.deepEqual(shown(theirs), [["n", 100, "saved"]]);
  assert.equal(mine.snapshot.elements[0].id, id);
  assert.equal(server.calls.filter((call) => call === "element:update").length, 1);
});

test("an element created, edited and deleted offline is never sent, also across a reload", async () => {
  const { network, clock, server, a, roomId, mine } = await boards();
  a.wires.cut();
  const [kept, dropped] = [mine.create({ type: "note", content: { text: "kept" } }), mine.create({ type: "note", content: { text: "dropped" } })];
  mine.edit(kept, { text: "edited" });
  mine.delete(dropped);
  await clock.advance(1_000);
  await a.parlor.stop();
  const again = await network.device(a.user, { storage: a.storage });
  const board = again.parlor.open(roomId).board;
  await clock.until("it is saved", () => again.parlor.unsent.snapshot.waiting === 0 && board.snapshot.isVerified);
  assert.deepEqual(shown(board), [["edited", undefined, "saved"]]);
  assert.equal(board.snapshot.elements[0].id, kept);
  assert.equal(server.rooms.get(roomId).elements.size, 1);
});

test("a deleted element comes back for both as it was, once, also if the answer to that is lost", async () => {
  const { clock, a, server, roomId, mine, theirs } = await boards();
  const id = mine.create({ type: "note", content: { text: "n", w: 300, z: 7 }, position: { x: 5, y: 6 } });
  await clock.advance(100);
  const [element] = mine.snapshot.elements;
  mine.delete(id);
  await clock.advance(100);
  assert.deepEqual(shown(theirs), []);
  a.wires.answersToLose = 1;
  const again = mine.restore(element);
  assert.equal(mine.snapshot.elements[0].id, again);
  await clock.advance(30_000);
  for (const board of [mine, theirs]) {
    const [{ type, content, position, state }] = board.snapshot.elements;
    assert.deepEqual({ type, content, position, state }, { type: "note", content: { text: "n", w: 300, z: 7 }, position: { x: 5, y: 6 }, state: "saved" });
  }
  assert.equal(server.rooms.get(roomId).elements.size, 1);
});

test("offline, a deletion that is undone is never sent, and the element's unsent changes are", async () => {
  const { clock, server, a, roomId, mine, theirs } = await boards();
  const stored = mine.create({ type: "note", content: { text: "stored" }, position: { x: 1, y: 0 } });
  await clock.advance(100);
  a.wires.cut();
  await clock.advance(100);
  mine.edit(stored, { text: "edited" });
  const unsent = mine.create({ type: "note", content: { text: "unsent" }, position: { x: 2, y: 0 } });
  const elements = [...mine.snapshot.elements];
  mine.delete(stored);
  mine.delete(unsent);
  assert.deepEqual(shown(mine), []);
  assert.equal(mine.restore(elements[0]), stored);
  mine.restore(elements[1]);
  assert.deepEqual(shown(mine), [["edited", 1, "saving"], ["unsent", 2, "saving"]]);
  a.wires.isOffline = false;
  a.parlor.wake();
  await clock.until("all is sent", () => a.parlor.unsent.snapshot.waiting === 0);
  await clock.advance(1_000);
  assert.deepEqual(shown(theirs), [["edited", 1, "saved"], ["unsent", 2, "saved"]]);
  assert.equal(server.calls.filter((call) => call === "element:delete").length, 0);
  assert.equal(server.rooms.get(roomId).elements.size, 2);
});

test("an edit of an outdated version shows the server's, and reports it once", async () => {
  const { clock, mine, theirs } = await boards();
  const id = mine.create({ type: "note", content: { text: "first" } });
  await clock.advance(100);
  const theirId = theirs.snapshot.elements[0].id;
  mine.edit(id, { text: "mine" });
  theirs.edit(theirId, { text: "theirs" });
  await clock.advance(1_000);
  const [text] = shown(mine)[0];
  assert.deepEqual(shown(mine), shown(theirs));
  const loser = text === "mine" ? theirs : mine;
  assert.equal(loser.snapshot.conflict.content.text, text === "mine" ? "theirs" : "mine");
  loser.dismissConflict();
  assert.equal(loser.snapshot.conflict, null);
});

test("each edit that others were faster than is reported, also if they deleted the element", async () => {
  const { clock, a, mine, theirs } = await boards();
  const ids = ["one", "two"].map((text) => mine.create({ type: "note", content: { text } }));
  await clock.advance(1_000);
  a.wires.cut();
  await clock.advance(100);
  for (const id of ids) mine.edit(id, { text: "mine" });
  const [one, two] = theirs.snapshot.elements;
  theirs.edit(one.id, { text: "theirs" });
  theirs.delete(two.id);
  await clock.advance(1_000);
  a.wires.isOffline = false;
  a.parlor.wake();
  await clock.until("all is sent", () => a.parlor.unsent.snapshot.waiting === 0);
  assert.deepEqual(shown(mine), [["theirs", undefined, "saved"]]);
  for (const [id, gone] of [[ids[0], {}], [ids[1], { isDeleted: true }]]) {
    assert.deepEqual(mine.snapshot.conflict, { id, type: "note", content: { text: "mine" }, ...gone });
    mine.dismissConflict();
  }
  assert.equal(mine.snapshot.conflict, null);
});

test("an edit while another one moves the element keeps both", async () => {
  const { clock, mine, theirs } = await boards();
  const id = mine.create({ type: "note", content: { text: "n" }, position: { x: 0, y: 0 } });
  await clock.advance(100);
  theirs.move(theirs.snapshot.elements[0].id, { x: 9, y: 0 });
  mine.edit(id, { text: "edited" });
  await clock.advance(1_000);
  assert.deepEqual(shown(mine), [["edited", 9, "saved"]]);
  assert.deepEqual(shown(theirs), [["edited", 9, "saved"]]);
  assert.equal(mine.snapshot.conflict, null);
});

test("a lost answer to an edit is no conflict", async () => {
  const { clock, a, mine } = await boards();
  const id = mine.create({ type: "note", content: { text: "n" } });
  await clock.advance(100);
  a.wires.answersToLose = 1;
  mine.edit(id, { text: "edited" });
  await clock.advance(20_000);
  assert.deepEqual(shown(mine), [["edited", undefined, "saved"]]);
  assert.equal(mine.snapshot.conflict, null);
});

test("a clearing removes all elements, and those created after it stay", async () => {
  const { clock, mine, theirs } = await boards();
  for (let count = 0; count < 5; count += 1) mine.create({ type: "note", content: { text: String(count) } });
  await clock.advance(500);
  const clearing = theirs.clear();
  assert.deepEqual(shown(theirs), []);
  await clock.advance(500);
  await clearing;
  mine.create({ type: "note", content: { text: "after" } });
  await clock.advance(1_000);
  assert.deepEqual(shown(mine), [["after", undefined, "saved"]]);
  assert.deepEqual(shown(theirs), [["after", undefined, "saved"]]);
});

test("a clearing without a network fails, and all elements are back", async () => {
  const { clock, b, mine, theirs } = await boards();
  mine.create({ type: "note", content: { text: "n" } });
  await clock.advance(500);
  b.wires.cut();
  await clock.advance(100);
  const clearing = theirs.clear().catch((error) => error.kind);
  await clock.advance(60_000);
  assert.equal(await clearing, "offline");
  assert.deepEqual(shown(theirs), [["n", undefined, "saved"]]);
});

test("a clearing that fails drops no unsent change", async () => {
  const { clock, b, mine, theirs } = await boards();
  mine.create({ type: "note", content: { text: "n" } });
  await clock.advance(500);
  b.wires.cut();
  await clock.advance(100);
  theirs.create({ type: "note", content: { text: "offline" } });
  theirs.edit(theirs.snapshot.elements[0].id, { text: "edited" });
  const clearing = theirs.clear().catch((error) => error.kind);
  assert.deepEqual(shown(theirs), []);
  await clock.advance(60_000);
  assert.equal(await clearing, "offline");
  assert.deepEqual(shown(theirs), [["edited", undefined, "saving"], ["offline", undefined, "saving"]]);
  b.wires.isOffline = false;
  b.parlor.wake();
  await clock.until("they are saved", () => b.parlor.unsent.snapshot.waiting === 0);
  await clock.advance(500);
  assert.deepEqual(shown(mine), [["edited", undefined, "saved"], ["offline", undefined, "saved"]]);
});

test("a clearing drops the changes that were made before it, and keeps those made during it", async () => {
  const { clock, b, mine, theirs } = await boards();
  for (const text of ["first", "second", "third"]) theirs.create({ type: "note", content: { text } });
  // The first is being sent, and the others wait for it.
  await clock.advance(1);
  const clearing = theirs.clear();
  theirs.create({ type: "note", content: { text: "during" } });
  await clock.advance(1_000);
  await clearing;
  assert.equal(b.parlor.unsent.snapshot.waiting, 0);
  assert.deepEqual(shown(theirs), [["during", undefined, "saved"]]);
  assert.deepEqual(shown(mine), [["during", undefined, "saved"]]);
});

test("a room that is gone leaves nothing of its board in the cache", async () => {
  const { clock, server, a, roomId, mine } = await boards();
  await clock.advance(1_000);
  mine.create({ type: "note" });
  await clock.advance(100);
  server.toPerson(a.user.id, "room:removed", { roomId });
  await clock.advance(2_000);
  assert.equal(await a.storage.read(`${a.user.id}/cache/${roomId}/elements`), undefined);
});

/** Ada opens a room with an element, while the server refuses joins. */
async function refused(refusal) {
  const { clock, server, a, b, roomId } = await pair();
  const { board } = b.parlor.open(roomId);
  board.create({ type: "note" });
  await clock.advance(3_000);
  server.joinRefusal = refusal;
  const mine = a.parlor.open(roomId);
  await clock.advance(1_000);
  const shown = () => [mine.conversation, mine.board].map(({ snapshot }) => [snapshot.isVerified, snapshot.failure?.code ?? null]);
  return { clock, server, a, mine, theirs: board, shown };
}

test("a board whose room cannot be joined for now says so as the conversation does, and joins it later", async () => {
  const { clock, server, mine, theirs, shown } = await refused([503, "service_unavailable"]);
  assert.deepEqual(shown(), [[false, "service_unavailable"], [false, "service_unavailable"]]);
  assert.equal(mine.board.snapshot.elements.length, 1);
  server.joinRefusal = null;
  await clock.advance(60_000);
  assert.deepEqual(shown(), [[true, null], [true, null]]);
  theirs.create({ type: "note" });
  await clock.advance(1_000);
  assert.equal(mine.board.snapshot.elements.length, 2);
});

test("a board whose room can never be joined says so as the conversation does", async () => {
  const { clock, shown } = await refused([403, "forbidden"]);
  assert.deepEqual(shown(), [[false, "forbidden"], [false, "forbidden"]]);
  await clock.advance(60_000);
  assert.deepEqual(shown(), [[false, "forbidden"], [false, "forbidden"]]);
});

test("after a rest, too, a board whose room cannot be joined is not verified until it is", async () => {
  const { clock, server, a, shown } = await refused(null);
  assert.deepEqual(shown(), [[true, null], [true, null]]);
  a.parlor.rest();
  await clock.advance(1_000);
  server.joinRefusal = [503, "service_unavailable"];
  a.parlor.wake();
  await clock.advance(1_000);
  assert.deepEqual(shown(), [[false, "service_unavailable"], [false, "service_unavailable"]]);
  server.joinRefusal = null;
  await clock.advance(60_000);
  assert.deepEqual(shown(), [[true, null], [true, null]]);
});

test("the conversation and the board of a room join it with one request", async () => {
  const { clock, server, a, roomId } = await pair();
  const joins = () => server.calls.filter((call) => call === "room:join").length;
  const room = a.parlor.open(roomId);
  await clock.advance(1_000);
  assert.equal(joins(), 1);
  a.parlor.rest();
  await clock.advance(1_000);
  a.parlor.wake();
  await clock.advance(1_000);
  assert.equal(joins(), 2);
  assert.deepEqual([room.conversation, room.board].map(({ snapshot }) => snapshot.isVerified), [true, true]);
});
