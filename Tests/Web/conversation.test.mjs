import assert from "node:assert/strict";
import { test } from "node:test";
import { messageText } from "../../Clients/Web/parlor/parlor.js";
import { caughtUp, pair, states, texts } from "./support/pair.mjs";

test("a message shows at once, keeps its id, and goes from sending over sent to read", async () => {
  const { clock, a, b, roomId } = await pair();
  const [mine, theirs] = [a.parlor.open(roomId).conversation, b.parlor.open(roomId).conversation];
  await clock.advance(100);
  const id = mine.send("  hello ");
  assert.deepEqual(states(mine), ["sending"]);
  await clock.advance(100);
  assert.deepEqual(mine.snapshot.items.map((item) => [item.id, item.text, item.state]), [[id, "hello", "sent"]]);
  theirs.noteVisible(theirs.snapshot.items.map((item) => item.id));
  await clock.advance(1_000);
  assert.deepEqual(states(mine), ["read"]);
  assert.equal(mine.send(" \n "), null);
});

test("a room that is opened before the rooms are loaded shows who has read once they are", async () => {
  const { network, clock, a, b, roomId } = await pair();
  const theirs = b.parlor.open(roomId).conversation;
  const fresh = await network.device(a.user);
  assert.equal(fresh.parlor.rooms.get(roomId), undefined);
  const mine = fresh.parlor.open(roomId).conversation;
  await clock.advance(100);
  mine.send("hello");
  await clock.until("it has come", () => theirs.snapshot.items.length === 1);
  theirs.noteVisible(theirs.snapshot.items.map((item) => item.id));
  await clock.advance(1_000);
  await clock.until("it is read", () => states(mine)[0] === "read");
});

test("a listener runs once for the changes of a turn, and a snapshot without a change is the same object", async () => {
  const { clock, a, roomId } = await pair();
  const mine = a.parlor.open(roomId).conversation;
  await clock.advance(100);
  const before = mine.snapshot;
  mine.invalidate();
  assert.equal(mine.snapshot, before);
  let count = 0;
  mine.subscribe(() => { count += 1; });
  mine.send("one");
  mine.send("two");
  await Promise.resolve();
  assert.equal(count, 1);
});

test("messages sent offline wait in order, survive a reload, and are stored once", async () => {
  const { network, clock, server, a, b, roomId } = await pair();
  a.wires.cut();
  const mine = a.parlor.open(roomId).conversation;
  for (const text of ["one", "two", "three"]) mine.send(text);
  await clock.advance(5_000);
  assert.deepEqual(states(mine), ["sending", "sending", "sending"]);
  assert.deepEqual(a.parlor.unsent.snapshot, { waiting: 3, failed: 0, receipts: 0 });
  await a.parlor.stop();
  const again = await network.device(a.user, { storage: a.storage });
  const shown = again.parlor.open(roomId).conversation;
  await clock.until("all are stored", () => server.rooms.get(roomId).messages.length === 3);
  await clock.advance(1_000);
  assert.deepEqual(texts(shown), ["one", "two", "three"]);
  assert.deepEqual(states(shown), ["sent", "sent", "sent"]);
  assert.deepEqual(await a.storage.readAll(`${a.user.id}/outbox/`), []);
  assert.deepEqual(texts(b.parlor.open(roomId).conversation), []);
});

test("a lost answer is requested again under the same tempId", async () => {
  const { clock, server, a, roomId } = await pair();
  const mine = a.parlor.open(roomId).conversation;
  await clock.advance(100);
  a.wires.answersToLose = 2;
  mine.send("once");
  await clock.until("it is sent", () => states(mine)[0] === "sent");
  await caughtUp(clock, a);
  assert.equal(server.rooms.get(roomId).messages.length, 1);
  assert.deepEqual(texts(mine), ["once"]);
});

test("a text that is blank or too long as the server counts is not sent", async () => {
  const { clock, server, a, roomId } = await pair();
  const mine = a.parlor.open(roomId).conversation;
  await clock.advance(100);
  // A scalar of two UTF-16 units counts once.
  const longest = "🎈".repeat(messageText.limit);
  assert.deepEqual([" ", `${longest}x`, ` ${longest}\n`].map((text) => messageText.canBeSent(text)), [false, false, true]);
  assert.equal(messageText.count(" \n a👍🏽e\u0301 \t"), 5);
  assert.equal(mine.send(`${longest}x`), null);
  mine.send(` ${longest}\n`);
  await clock.advance(500);
  assert.deepEqual(server.rooms.get(roomId).messages.map(({ text }) => text), [longest]);
  assert.deepEqual(states(mine), ["sent"]);
});

test("a refused message fails, those behind it are sent, and it can be discarded", async () => {
  const { clock, a, roomId } = await pair();
  const mine = a.parlor.open(roomId).conversation;
  await clock.advance(100);
  const id = mine.send("a\u0000b");
  mine.send("after");
  await clock.advance(500);
  assert.deepEqual(states(mine), ["sent", "failed"]);
  assert.equal(mine.snapshot.items[1].failure.code, "invalid_field");
  mine.retry(id);
  await clock.advance(500);
  assert.deepEqual(states(mine), ["sent", "failed"]);
  assert.equal(mine.discard(id), true);
  assert.deepEqual(states(mine), ["sent"]);
});

test("a storage that refuses fails a message that cannot be sent, and a retry stores it until it can", async () => {
  const { clock, a, roomId } = await pair();
  const mine = a.parlor.open(roomId).conversation;
  await clock.advance(100);
  const write = a.storage.write;
  a.storage.write = async () => { throw new Error("full"); };
  mine.send("sent");
  await clock.advance(100);
  a.wires.cut();
  const id = mine.send("kept?");
  await clock.advance(100);
  assert.deepEqual(states(mine), ["sent", "failed"]);
  assert.equal(mine.snapshot.items[1].failure.code, "not_kept");
  a.storage.write = write;
  mine.retry(id);
  await clock.advance(100);
  assert.deepEqual(states(mine), ["sent", "sending"]);
  assert.equal((await a.storage.readAll(`${a.user.id}/outbox/`)).length, 1);
  a.wires.isOffline = false;
  await clock.until("it is sent", () => states(mine)[1] === "sent");
});

test("a gap is filled, and messages deleted meanwhile stay away", async () => {
  const { clock, server, a, b, roomId } = await pair();
  const mine = a.parlor.open(roomId).conversation;
  await clock.advance(100);
  const deliver = [...a.wires.sockets][0].deliver;
  [...a.wires.sockets][0].deliver = (text, event) => { if (!text.includes("lost")) deliver(text, event); };
  const theirs = b.parlor.open(roomId).conversation;
  for (const text of ["one", "lost", "three"]) theirs.send(text);
  await clock.advance(300);
  assert.deepEqual(texts(mine), ["one", "three"]);
  await clock.advance(1_000);
  assert.deepEqual(texts(mine), ["one", "lost", "three"]);
  const id = theirs.snapshot.items[1].id;
  await theirs.delete(id).catch(assert.fail, await clock.advance(100));
  await clock.advance(1_000);
  assert.deepEqual(texts(mine), ["one", "three"]);
  assert.equal(server.rooms.get(roomId).messages.length, 2);
});

test("older pages load on request, the first unread is marked, and the cache works after a reload without a network", async () => {
  const { network, clock, a, b, roomId } = await pair();
  const theirs = b.parlor.open(roomId);
  for (let count = 1; count <= 120; count += 1) theirs.conversation.send(`m${count}`);
  await clock.until("all are stored", () => b.parlor.unsent.snapshot.waiting === 0);
  // Else all 120 come with joining, as events since the cursor.
  a.wires.dropAll();
  await clock.advance(100);
  await caughtUp(clock, a);
  const open = a.parlor.open(roomId);
  const mine = open.conversation;
  await clock.advance(500);
  assert.equal(mine.snapshot.items.length, 50);
  assert.equal(mine.snapshot.firstUnreadId, mine.snapshot.items[0].id);
  const first = mine.snapshot.items[0];
  await Promise.all([mine.loadOlder(), mine.loadOlder(), clock.advance(500)]);
  await Promise.all([mine.loadOlder(), clock.advance(500)]);
  assert.equal(mine.snapshot.items.length, 120);
  assert.equal(mine.snapshot.hasOlder, false);
  assert.equal(mine.snapshot.items[70], first);
  mine.noteVisible(mine.snapshot.items.map((item) => item.id));
  await clock.advance(3_000);
  assert.equal(a.parlor.rooms.get(roomId).badges.messages, 0);
  assert.equal(mine.snapshot.firstUnreadId, mine.snapshot.items[0].id);
  assert.equal(network.parlor.calls.filter((call) => call === "messages:mark-read").length, 1);
  open.close();
  await clock.advance(1_000);
  await a.parlor.stop();
  const { parlor } = await network.device(a.user, { storage: a.storage, isOffline: true });
  await clock.advance(100);
  assert.equal(parlor.rooms.snapshot.rooms.length, 1);
  const cached = parlor.open(roomId).conversation;
  await clock.advance(100);
  assert.equal(cached.snapshot.items.length, 120);
  assert.equal(cached.snapshot.isVerified, false);
});

/** Sends messages, and waits until the server has them. */
async function sendAll(clock, device, conversation, count) {
  for (let number = 1; number <= count; number += 1) conversation.send(`m${number}`);
  await clock.until("all are stored", () => device.parlor.unsent.snapshot.waiting === 0);
}

test("older messages are loaded without a connection too, but not before those that are shown", async () => {
  const { network, clock, server, a, b, roomId } = await pair();
  const theirs = b.parlor.open(roomId).conversation;
  await sendAll(clock, b, theirs, 60);
  // Else all 60 come with joining, as events since the cursor.
  a.wires.dropAll();
  await clock.advance(100);
  await caughtUp(clock, a);
  const mine = a.parlor.open(roomId).conversation;
  await clock.advance(1_000);
  a.wires.cut();
  await Promise.all([mine.loadOlder(), clock.advance(10)]);
  assert.equal(mine.snapshot.failure.kind, "offline");
  a.wires.isOffline = false;
  const before = server.calls.length;
  const [isAsked] = await Promise.all([mine.loadOlder(), clock.advance(10)]);
  assert.deepEqual([isAsked, mine.snapshot.isVerified, mine.snapshot.items.length], [true, false, 60]);
  assert.deepEqual(server.calls.slice(before), [`GET /rooms/${roomId}/messages`]);
  await a.parlor.stop();
  const { parlor } = await network.device(a.user, { storage: a.storage, isOffline: true });
  assert.equal(await parlor.open(roomId).conversation.loadOlder(), false);
});

test("cached messages stay shown when the page comes, if they reach it", async () => {
  const { network, clock, a, b, roomId } = await pair();
  const theirs = b.parlor.open(roomId).conversation;
  const say = (count) => sendAll(clock, b, theirs, count);
  const key = `${a.user.id}/cache/${roomId}/messages`;
  const seqs = ({ snapshot }) => snapshot.items.map(({ message }) => message.seq);
  await say(200);
  await a.parlor.stop();
  await a.storage.write([[key, theirs.snapshot.items.map(({ message }) => message)]]);
  await say(30);
  const deleting = theirs.delete(theirs.snapshot.items[2].id);
  await clock.advance(100);
  await deleting;
  const again = await network.device(a.user, { storage: a.storage });
  await caughtUp(clock, again);
  const open = again.parlor.open(roomId);
  const shown = [];
  open.conversation.subscribe(({ items }) => shown.push(items.length));
  await clock.until("the page has come", () => open.conversation.snapshot.isVerified);
  assert.deepEqual(seqs(open.conversation), Array.from({ length: 230 }, (_, index) => index + 1).filter((seq) => seq !== 3));
  assert.deepEqual([...new Set(shown)], [200, 230, 229], "the newest do not wait for those before");
  open.close();
  await clock.advance(1_000);
  await again.parlor.stop();
  await say(100);
  const later = await network.device(a.user, { storage: a.storage });
  await caughtUp(clock, later);
  const mine = later.parlor.open(roomId).conversation;
  await clock.until("the page has come", () => mine.snapshot.isVerified);
  assert.deepEqual(seqs(mine), Array.from({ length: 50 }, (_, index) => 281 + index), "the cache is too old");
});

test("what was missed in an absence that the server cannot replay shows all at once", async () => {
  const { clock, server, a, b, roomId } = await pair();
  const theirs = b.parlor.open(roomId).conversation;
  const say = (count) => sendAll(clock, b, theirs, count);
  await say(60);
  const mine = a.parlor.open(roomId).conversation;
  await clock.until("the page has come", () => mine.snapshot.isVerified);
  a.wires.cut();
  await say(120);
  const { receive } = server;
  server.receive = (socket, text) => receive.call(server, socket, text.replace(/cursor:\d+/, "none"));
  const shown = [];
  mine.subscribe(({ items }) => shown.push(items.length));
  a.wires.isOffline = false;
  await clock.until("all has come", () => mine.snapshot.isVerified);
  await Promise.resolve();
  assert.deepEqual([...new Set(shown)], [60, 180], "else what is fetched last would appear above what is being read");
});

/** Holds the reading of one key of a storage. @returns a function that ends that. */
function holdReading(storage, key) {
  const { read } = storage;
  let letRead;
  const isRead = new Promise((resolve) => { letRead = resolve; });
  storage.read = async (asked) => {
    if (asked === key) await isRead;
    return read(asked);
  };
  return letRead;
}

for (const isDeleted of [false, true]) {
  test(`a cache that is read after ${isDeleted ? "an empty" : "the"} page has come adds nothing to it, and gets it`, async () => {
    const { network, clock, server, a, b, roomId } = await pair();
    const theirs = b.parlor.open(roomId).conversation;
    await sendAll(clock, b, theirs, 120);
    await a.parlor.stop();
    const key = `${a.user.id}/cache/${roomId}/messages`;
    await a.storage.write([[key, theirs.snapshot.items.slice(0, 10).map(({ message }) => message)]]);
    if (isDeleted) server.rooms.get(roomId).messages = [];
    const letRead = holdReading(a.storage, key);
    const again = await network.device(a.user, { storage: a.storage });
    await caughtUp(clock, again);
    const mine = again.parlor.open(roomId).conversation;
    await clock.until("the page has come", () => mine.snapshot.isVerified);
    letRead();
    await clock.advance(1_000);
    assert.equal(mine.snapshot.items.length, isDeleted ? 0 : 50);
    assert.equal((await a.storage.read(key)).length, isDeleted ? 0 : 50);
  });
}

test("the first unread is found also if joining has brought more than a page", async () => {
  const { clock, a, b, roomId } = await pair();
  const theirs = b.parlor.open(roomId).conversation;
  await sendAll(clock, b, theirs, 120);
  const mine = a.parlor.open(roomId).conversation;
  await clock.advance(500);
  assert.equal(mine.snapshot.items.length, 120);
  assert.equal(mine.snapshot.firstUnreadId, mine.snapshot.items[0].id);
});

test("typing shows, renews itself, and ends by idling, sending and a lost connection", async () => {
  const { clock, a, b, roomId } = await pair();
  const [mine, theirs] = [a.parlor.open(roomId).conversation, b.parlor.open(roomId).conversation];
  await clock.advance(100);
  theirs.typed();
  await clock.advance(50);
  assert.deepEqual(mine.snapshot.typing, [b.user.id]);
  assert.deepEqual(a.parlor.rooms.get(roomId).typing, [b.user.id]);
  await clock.advance(2_500);
  assert.deepEqual(mine.snapshot.typing, []);
  theirs.typed();
  await clock.advance(50);
  theirs.send("done");
  await clock.advance(50);
  assert.deepEqual(mine.snapshot.typing, []);
  await clock.advance(2_000);
  theirs.typed();
  await clock.advance(50);
  a.wires.cut();
  await clock.advance(50);
  assert.deepEqual(mine.snapshot.typing, []);
});

test("a person who types for a minute is shown all the time", async () => {
  const { clock, a, b, roomId } = await pair();
  const [mine, theirs] = [a.parlor.open(roomId).conversation, b.parlor.open(roomId).conversation];
  await clock.advance(100);
  for (let second = 0; second < 60; second += 1) {
    theirs.typed();
    await clock.advance(1_000);
    assert.deepEqual(mine.snapshot.typing, [b.user.id]);
  }
  await clock.advance(2_500);
  assert.deepEqual(mine.snapshot.typing, []);
});

test("one refused page does not remove a room, and what is not sent yet is sent", async () => {
  const { clock, server, a, roomId } = await pair();
  const { answer } = server;
  let refusals = 0;
  server.answer = (method, url, ...rest) => {
    if (refusals > 0 || method !== "GET" || !url.startsWith(`/rooms/${roomId}/messages`)) return answer.call(server, method, url, ...rest);
    refusals += 1;
    return { status: 404, body: { error: { code: "room_not_found", message: "no room" } } };
  };
  const { conversation } = a.parlor.open(roomId);
  await clock.until("the page is refused", () => refusals === 1);
  conversation.send("kept");
  await clock.advance(5_000);
  assert.equal(conversation.snapshot.isGone, false);
  assert.equal(a.parlor.rooms.get(roomId)?.lastMessage?.text, "kept");
});

test("a room that is gone shows nothing, and none of its messages is sent", async () => {
  const { clock, server, a, b, roomId } = await pair();
  const mine = a.parlor.open(roomId).conversation;
  mine.send("there");
  await clock.advance(500);
  a.wires.cut();
  mine.send("never");
  server.rooms.get(roomId).roles.delete(a.user.id);
  a.wires.isOffline = false;
  await clock.until("it is gone", () => mine.snapshot.isGone);
  await clock.advance(1_000);
  assert.deepEqual(texts(mine), []);
  assert.equal(mine.send("never"), null);
  assert.equal(a.parlor.rooms.get(roomId), undefined);
  assert.deepEqual(a.parlor.unsent.snapshot, { waiting: 0, failed: 0, receipts: 0 });
});

test("a message that has waited for more than a day asks before it is sent; a younger one goes by itself", async () => {
  const { network, clock, server, a, roomId } = await pair();
  const { conversation } = a.parlor.open(roomId);
  a.wires.cut();
  const [day, minute] = [24 * 3_600_000, 60_000];
  for (const text of ["to retry", "to discard"]) conversation.send(text);
  await clock.advance(10 * minute);
  conversation.send("in time");
  await clock.advance(100);
  await Promise.all([a.parlor.stop(), clock.advance(day - 5 * minute)]);
  const next = await network.device(a.user, { storage: a.storage });
  await caughtUp(clock, next);
  const { conversation: again } = next.parlor.open(roomId);
  await clock.advance(2_000);
  const sent = () => server.rooms.get(roomId).messages.map(({ text }) => text);
  const failed = () => again.snapshot.items.filter(({ failure }) => failure?.code === "too_old");
  assert.deepEqual([sent(), next.parlor.unsent.snapshot.failed], [["in time"], 2]);
  assert.deepEqual(failed().map(({ text }) => text), ["to retry", "to discard"]);
  await clock.advance(day);
  assert.equal(failed().length, 2, "they wait for the person");
  const [toRetry, toDiscard] = failed();
  next.wires.cut();
  again.retry(toRetry.id);
  assert.ok(again.discard(toDiscard.id));
  await clock.advance(minute);
  // Its day begins again with the retry, also after a reload.
  await Promise.all([next.parlor.stop(), clock.advance(day / 2)]);
  await caughtUp(clock, await network.device(a.user, { storage: a.storage }));
  await clock.advance(2_000);
  assert.deepEqual(sent(), ["in time", "to retry"]);
});
