import assert from "node:assert/strict";
import { test } from "node:test";
import { caughtUp, pair } from "./support/pair.mjs";

/** Ada, who has not opened a room in which bob has written `count` messages, and she one after each tenth. */
async function unread(count) {
  const { network, clock, server, a, b, roomId } = await pair();
  const [adas, bobs] = [a, b].map(({ user }) => server.openSession(user).token);
  for (let number = 1; number <= count; number += 1) {
    server.answer("POST", `/rooms/${roomId}/messages`, { text: "x", tempId: `b${number}` }, bobs);
    if (number % 10 === 0) server.answer("POST", `/rooms/${roomId}/messages`, { text: "y", tempId: `a${number}` }, adas);
  }
  // Else joining brings the messages, as events since the cursor.
  a.wires.dropAll();
  await clock.advance(100);
  await caughtUp(clock, a);
  await clock.advance(1_000);
  const badge = () => a.parlor.rooms.get(roomId).badges.messages;
  const calls = (name) => server.calls.filter((call) => call === name).length;
  const pages = () => calls(`GET /rooms/${roomId}/messages`);
  const write = () => server.answer("POST", `/rooms/${roomId}/messages`, { text: "z", tempId: `z${clock.now()}` }, bobs);
  assert.equal(badge(), count);
  return { network, clock, server, a, roomId, badge, calls, pages, write };
}

test("marking a room as read reaches all unread messages, in few requests, and asks for no more than it needs", async () => {
  const { clock, a, roomId, badge, calls, pages, write } = await unread(650);
  await Promise.all([a.parlor.rooms.markAllRead(roomId), clock.advance(1_000)]);
  assert.deepEqual([badge(), pages(), calls("messages:mark-read")], [0, 4, 2]);
  write();
  await clock.advance(1_000);
  await Promise.all([a.parlor.rooms.markAllRead(roomId), clock.advance(1_000)]);
  assert.deepEqual([badge(), pages()], [0, 5]);
  await a.parlor.rooms.markAllRead(roomId);
  assert.equal(pages(), 5);
});

test("a room whose badge counts more than there is to find is searched to its beginning, and no farther", async () => {
  const { clock, a, roomId, badge, pages } = await unread(30);
  [...a.wires.sockets][0].deliver(`42["room:badges",${JSON.stringify({ roomId, badges: { messages: 31, elements: 0 }, hasUnread: true })}]`);
  await Promise.all([a.parlor.rooms.markAllRead(roomId), clock.advance(1_000)]);
  assert.deepEqual([badge(), pages()], [0, 1]);
});

test("a connection lost while a room is marked as read delays that", async () => {
  const { clock, a, roomId, badge, pages } = await unread(450);
  const marking = a.parlor.rooms.markAllRead(roomId);
  await clock.advance(1);
  assert.equal(pages(), 1);
  a.wires.cut();
  await clock.advance(60_000);
  assert.equal(badge(), 450);
  a.wires.isOffline = false;
  a.parlor.wake();
  await caughtUp(clock, a);
  await Promise.all([marking, clock.advance(5_000)]);
  assert.equal(badge(), 0);
});

test("signing out ends the search for unread messages", async () => {
  const { clock, a, roomId, pages, calls } = await unread(450);
  const marking = a.parlor.rooms.markAllRead(roomId);
  await clock.advance(1);
  assert.equal(pages(), 1);
  await Promise.all([a.parlor.session.logout(), marking, clock.advance(60_000)]);
  assert.deepEqual([pages(), calls("messages:mark-read")], [1, 0]);
});

test("at the end of a room, all up to there is read, loaded or not; what comes later is not", async () => {
  const { clock, a, roomId, badge, pages, write } = await unread(300);
  const { conversation } = a.parlor.open(roomId);
  const newest = () => conversation.snapshot.items.at(-1).message.seq;
  await clock.advance(1_000);
  assert.deepEqual([conversation.snapshot.items.length, pages()], [50, 1]);
  const end = newest();
  write();
  await clock.advance(100);
  conversation.markReadUpTo(end);
  await clock.advance(3_000);
  assert.deepEqual([badge(), pages()], [1, 3]);
  for (let count = 0; count < 3; count += 1) {
    conversation.markReadUpTo(newest());
    await clock.advance(3_000);
    assert.equal(badge(), 0);
    write();
    await clock.advance(10);
    conversation.markReadUpTo(newest());
    await clock.advance(600);
    conversation.markReadUpTo(newest());
  }
  assert.equal(pages(), 3, "the messages that were not loaded are looked for once");
});

test("what was skipped without a connection is read with the next one, also after the room was left", async () => {
  const { clock, a, roomId, badge } = await unread(300);
  const { conversation, close } = a.parlor.open(roomId);
  await clock.advance(1_000);
  a.wires.cut();
  await clock.advance(100);
  conversation.markReadUpTo(conversation.snapshot.items.at(-1).message.seq);
  await clock.advance(30_000);
  assert.equal(badge(), 300);
  a.wires.isOffline = false;
  a.parlor.wake();
  await caughtUp(clock, a);
  conversation.markReadUpTo(conversation.snapshot.items.at(-1).message.seq);
  close();
  await clock.advance(5_000);
  assert.equal(badge(), 0);
});
