import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStorage } from "../../Clients/Web/parlor/parlor.js";
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

/**
 * Ada, who is offline in the open room with three unread messages. `stored` returns the messages whose receipts are
 * stored.
 */
async function offline() {
  const world = await unread(3);
  const { clock, a, roomId } = world;
  const { conversation } = a.parlor.open(roomId);
  await clock.advance(1_000);
  a.wires.cut();
  await clock.advance(100);
  const stored = async ({ storage } = a) => {
    const kept = await storage.readAll(`${a.user.id}/cache/receipts/`);
    return kept.flatMap(([, ids]) => ids);
  };
  const ids = conversation.snapshot.items.map(({ id }) => id);
  /** Starts a page with what is stored now. What the page before it stores from now on goes nowhere: it has ended. */
  const restart = async (options) => {
    const storage = memoryStorage();
    await storage.write(await a.storage.readAll(""));
    return world.network.device(a.user, { storage, ...options });
  };
  return { ...world, conversation, stored, ids, restart };
}

const receipts = ({ parlor }) => parlor.unsent.snapshot.receipts;

for (const [end, time] of [["ends later", 5_000], ["ends at once", 0]]) {
  test(`what was read on a page that ${end} without a connection is sent at the next start, once`, async () => {
    const { clock, a, roomId, calls, conversation, stored, ids, restart } = await offline();
    conversation.noteVisible(ids);
    assert.equal(receipts(a), 3);
    await clock.advance(time);
    if (time === 0) void a.parlor.flush();
    await clock.advance(100);
    assert.equal((await stored()).length, 3);
    const next = await restart();
    await caughtUp(clock, next);
    await clock.advance(1_000);
    assert.deepEqual([next.parlor.rooms.get(roomId).badges.messages, receipts(next), await stored(next)], [0, 0, []]);
    assert.equal(calls("messages:mark-read") + calls(`POST /rooms/${roomId}/messages/read`), 1);
  });
}

test("what two tabs have read without a connection is stored beside each other", async () => {
  const { network, clock, a, server, roomId, conversation, stored, ids, restart } = await offline();
  const other = await network.device(a.user, { storage: a.storage, isOffline: true });
  const { conversation: same } = other.parlor.open(roomId);
  await clock.advance(100);
  conversation.noteVisible(ids.slice(0, 1));
  same.noteVisible(ids.slice(1));
  await clock.advance(5_000);
  assert.deepEqual([(await stored()).length, receipts(a), receipts(other)], [3, 1, 2]);
  const next = await restart();
  await caughtUp(clock, next);
  await clock.advance(1_000);
  assert.deepEqual([server.rooms.get(roomId).badges(a.user.id).messages, await stored(next)], [0, []]);
});

test("receipts that the server will never take are stored no more, and signing out leaves none", async () => {
  for (const isRefused of [true, false]) {
    const { clock, a, server, roomId, conversation, stored, ids, restart } = await offline();
    conversation.noteVisible(ids);
    await clock.advance(5_000);
    if (isRefused) server.rooms.delete(roomId);
    const next = await restart({ isOffline: !isRefused });
    await clock.advance(5_000);
    assert.equal(receipts(next), isRefused ? 0 : 3);
    if (!isRefused) await Promise.all([next.parlor.session.logout(), clock.advance(5_000)]);
    assert.deepEqual(await stored(next), []);
  }
});

test("with its newest messages in view, an open room never shows any as unread; out of view, each counts", async () => {
  const { clock, a, roomId, badge, write } = await unread(1);
  const { rooms } = a.parlor;
  const { conversation, close } = a.parlor.open(roomId);
  const see = (isAtEnd) => conversation.noteVisible(conversation.snapshot.items.map(({ id }) => id), isAtEnd);
  await clock.advance(1_000);
  see(true);
  const seen = new Set();
  const noteShown = ({ unreadMessages }) => seen.add(`${unreadMessages} ${badge()} ${rooms.get(roomId).hasUnread}`);
  const end = rooms.subscribe(noteShown);
  for (let count = 0; count < 3; count += 1) {
    write();
    await clock.advance(16);
    see(true);
    await clock.advance(count * 1_000);
  }
  assert.deepEqual([...seen], ["0 0 false"]);
  end();
  await clock.advance(1_000);
  conversation.noteVisible([]);
  write();
  await clock.advance(200);
  assert.deepEqual([badge(), rooms.snapshot.unreadMessages], [1, 1], "the page is hidden");
  see(true);
  assert.equal(badge(), 0);
  await clock.advance(3_000);
  close();
  write();
  await clock.advance(1_000);
  assert.equal(badge(), 1, "the room is closed");
});
