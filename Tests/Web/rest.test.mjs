import assert from "node:assert/strict";
import { test } from "node:test";
import { caughtUp, pair, texts } from "./support/pair.mjs";

/** Ada's page with a room open, and Bob with the same room. */
async function two() {
  const { clock, server, a, b, roomId } = await pair();
  const mine = a.parlor.open(roomId);
  const theirs = b.parlor.open(roomId);
  await clock.advance(3_000);
  const isPresent = () => server.isPresent(roomId, a.user.id);
  const fetches = () => server.calls.filter((call) => call === `GET /rooms/${roomId}/messages`).length;
  const badges = () => a.parlor.rooms.get(roomId).badges;
  return { clock, server, a, b, roomId, mine, theirs, isPresent, fetches, badges };
}

test("a room that nobody looks at is left: its badges rise, and what has happened is there once on waking", async () => {
  const { clock, a, b, mine, theirs, roomId, isPresent, fetches, badges } = await two();
  theirs.conversation.send("deleted later");
  theirs.conversation.send("before");
  await clock.advance(1_000);
  a.parlor.rest();
  await clock.advance(1_000);
  assert.equal(isPresent(), false);
  assert.deepEqual([a, b].map(({ parlor }) => parlor.rooms.get(roomId).present), [null, []]);
  assert.deepEqual([texts(mine.conversation), mine.conversation.snapshot.isVerified], [["deleted later", "before"], false]);
  theirs.conversation.send("meanwhile");
  theirs.board.create({ type: "note" });
  const deleting = theirs.conversation.delete(theirs.conversation.snapshot.items[0].id);
  await clock.advance(3_000);
  await deleting;
  assert.deepEqual(badges(), { messages: 2, elements: 1 });
  assert.deepEqual(texts(mine.conversation), ["deleted later", "before"]);
  const before = fetches();
  a.parlor.wake();
  await clock.advance(1_000);
  assert.equal(isPresent(), true);
  assert.deepEqual([texts(mine.conversation), mine.conversation.snapshot.isVerified], [["before", "meanwhile"], true]);
  assert.deepEqual([mine.board.snapshot.elements.length, mine.board.snapshot.isVerified], [1, true]);
  assert.deepEqual(badges(), { messages: 2, elements: 0 });
  assert.deepEqual([a, b].map(({ parlor }) => parlor.rooms.get(roomId).present), [[b.user.id], [a.user.id]]);
  assert.equal(fetches(), before, "the pages that are shown are not fetched again");
  theirs.conversation.send("after");
  await clock.advance(1_000);
  assert.deepEqual(texts(mine.conversation), ["before", "meanwhile", "after"]);
});

test("a connection lost while nobody looks comes back without the room, and what waits is sent", async () => {
  const { clock, a, mine, theirs, isPresent } = await two();
  a.wires.cut();
  mine.conversation.send("mine");
  a.parlor.rest();
  await clock.advance(1_000);
  theirs.conversation.send("theirs");
  a.wires.isOffline = false;
  await caughtUp(clock, a);
  await clock.advance(5_000);
  assert.equal(isPresent(), false);
  assert.deepEqual(texts(theirs.conversation), ["theirs", "mine"]);
  a.parlor.wake();
  await clock.advance(1_000);
  assert.equal(isPresent(), true);
  assert.deepEqual(texts(mine.conversation), ["theirs", "mine"]);
});

test("events that cannot be repeated are fetched on waking, not before", async () => {
  const { clock, server, a, mine, theirs, isPresent, fetches } = await two();
  a.parlor.rest();
  await clock.advance(1_000);
  const before = fetches();
  [...a.wires.sockets][0].deliver(`42["sync:done",{"recovered":false,"cursor":"cursor:${server.log.length}"}]`);
  await clock.advance(60_000);
  assert.deepEqual([isPresent(), fetches()], [false, before]);
  server.log.length = 0;
  theirs.conversation.send("meanwhile");
  a.parlor.wake();
  await clock.advance(1_000);
  assert.deepEqual([texts(mine.conversation), fetches()], [["meanwhile"], before + 1]);
});

test("a room that is opened while nobody looks is loaded on waking; one that is closed then is not joined", async () => {
  const { clock, a, mine, theirs, isPresent, roomId, badges } = await two();
  mine.close();
  theirs.conversation.send("hello");
  theirs.board.create({ type: "note" });
  await clock.advance(1_000);
  a.parlor.rest();
  const again = a.parlor.open(roomId);
  await clock.advance(60_000);
  assert.deepEqual([isPresent(), badges()], [false, { messages: 1, elements: 1 }]);
  a.parlor.wake();
  await clock.advance(1_000);
  assert.deepEqual([isPresent(), texts(again.conversation), badges().elements], [true, ["hello"], 0]);
  a.parlor.rest();
  again.close();
  a.parlor.wake();
  await clock.advance(60_000);
  assert.equal(isPresent(), false);
});

test("a rest and a wake within a moment change nothing", async () => {
  const { clock, a, mine, theirs, isPresent, badges } = await two();
  for (let count = 0; count < 3; count += 1) {
    a.parlor.rest();
    a.parlor.wake();
  }
  theirs.board.create({ type: "note" });
  theirs.conversation.send("hello");
  await clock.advance(1_000);
  assert.deepEqual([isPresent(), texts(mine.conversation), badges().elements], [true, ["hello"], 0]);
  assert.equal(mine.conversation.snapshot.isVerified, true);
});
