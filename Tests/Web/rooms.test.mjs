import assert from "node:assert/strict";
import { test } from "node:test";
import { Network } from "./support/network.mjs";
import { caughtUp, pair, twoTabs } from "./support/pair.mjs";

test("badges, the last message and the order move without entering a room", async () => {
  const { clock, a, b, ids } = await pair({ rooms: 3 });
  const [first] = ids;
  const { conversation, board } = b.parlor.open(first);
  await clock.advance(2_500);
  conversation.send("hello");
  board.create({ type: "note" });
  await clock.advance(2_000);
  const room = a.parlor.rooms.get(first);
  assert.deepEqual(room.badges, { messages: 1, elements: 1 });
  assert.equal(room.elementCount, 1);
  assert.equal(room.lastMessage.text, "hello");
  assert.equal(a.parlor.rooms.snapshot.rooms[0].id, first);
  assert.deepEqual([a.parlor.rooms.snapshot.unreadMessages, a.parlor.rooms.snapshot.unseenElements], [1, 1]);
  a.parlor.open(first);
  assert.equal(a.parlor.rooms.get(first).badges.elements, 0);
});

test("a room that somebody else makes is new until it is opened, also if it came while the page was closed, and after a reload", async () => {
  const { network, clock, server, a, b, ids: [known] } = await pair();
  const token = server.openSession(b.user).token;
  const make = (name) => server.answer("POST", "/rooms", { otherUserId: a.user.id, name }, token).body.data.id;
  const newOnes = ({ parlor }) => parlor.rooms.snapshot.rooms.filter(({ isNew }) => isNew).map(({ name }) => name).sort();
  make("live");
  await Promise.all([a.parlor.rooms.create(b.user.id, "own"), clock.advance(1_000)]);
  assert.deepEqual([newOnes(a), newOnes(b)], [["live"], ["own"]]);
  await Promise.all([a.parlor.stop(), clock.advance(3_000)]);
  const away = make("away");
  const again = await network.device(a.user, { storage: a.storage });
  await caughtUp(clock, again);
  assert.deepEqual(newOnes(again), ["away", "live"]);
  again.parlor.open(away);
  await clock.advance(1_000);
  assert.deepEqual(newOnes(again), ["live"]);
  assert.equal(again.parlor.rooms.get(known).isNew, false);
  const elsewhere = await network.device(a.user);
  await caughtUp(clock, elsewhere);
  assert.deepEqual(newOnes(elsewhere), [], "a device that knew no room");
});

test("a room is new no more once it was opened in another tab, or the person has written in it elsewhere", async () => {
  const { server, clock, ada, one, two } = await twoTabs();
  const token = server.openSession(server.addPerson("bob")).token;
  const [opened, written] = ["opened", "written"].map((name) => server.answer("POST", "/rooms", { otherUserId: ada.id, name }, token).body.data.id);
  await clock.advance(1_000);
  const newOnes = () => [one, two].map(({ parlor }) => parlor.rooms.snapshot.rooms.filter(({ isNew }) => isNew).map(({ id }) => id).sort());
  assert.deepEqual(newOnes(), [[opened, written].sort(), [opened, written].sort()]);
  one.parlor.open(opened);
  server.answer("POST", `/rooms/${written}/messages`, { text: "x", tempId: "t" }, server.openSession(ada).token);
  await clock.until("both are known", () => newOnes().flat().length === 0);
});

test("an open room says how many elements were unseen, also if an answer is the first to say so", async () => {
  const { network, server, clock, a, b, roomId } = await pair();
  await Promise.all([a.parlor.stop(), clock.advance(3_000)]);
  const token = server.openSession(b.user).token;
  server.answer("POST", `/rooms/${roomId}/elements`, { type: "note", content: {}, tempId: "e" }, token);
  const again = await network.device(a.user, { storage: a.storage });
  const opened = again.parlor.open(roomId);
  assert.equal(opened.unseenElements, 0);
  await caughtUp(clock, again);
  await clock.until("it is known", () => opened.unseenElements === 1);
  opened.close();
  await clock.advance(1_000);
  assert.equal(opened.unseenElements, 0);
});

/** Ada, who is connected, and a room in which bob writes. Events to ada wait while they are held. */
async function crossing() {
  const { clock, server, a, b, roomId } = await pair();
  const bobsToken = server.openSession(b.user).token;
  // All requests are ada's from here on.
  await Promise.all([b.parlor.stop(), clock.advance(5_000)]);
  const [socket] = a.wires.sockets;
  const { deliver } = socket;
  let held = null;
  socket.deliver = (...event) => (held ? held.push(event) : deliver(...event));
  const hold = () => { held = []; };
  const release = () => held.splice(0).forEach((event) => deliver(...event));
  const badges = (messages, elements = 0) => deliver(
    `42["room:badges",${JSON.stringify({ roomId, badges: { messages, elements }, hasUnread: messages + elements > 0 })}]`, "room:badges");
  const write = () => server.answer("POST", `/rooms/${roomId}/messages`, { text: "x", tempId: `b${clock.now()}` }, bobsToken);
  const create = () => server.answer("POST", `/rooms/${roomId}/elements`, { type: "note", content: {}, tempId: `e${clock.now()}` }, bobsToken);
  const unseen = () => a.parlor.rooms.get(roomId).badges.elements;
  const unread = () => a.parlor.rooms.get(roomId).badges.messages;
  const fetches = () => server.calls.filter((call) => call.startsWith("GET /rooms")).length;
  return { clock, a, roomId, hold, release, badges, write, create, unread, unseen, fetches };
}

test("badges that were composed before an element that is already counted do not lower the count for good", async () => {
  const { clock, badges, create, unseen } = await crossing();
  create();
  await clock.advance(50);
  assert.equal(unseen(), 1);
  badges(0, 0);
  await clock.advance(3_000);
  assert.equal(unseen(), 1);
});

test("badges that count an element before its event do not make it count twice for good", async () => {
  const { clock, hold, release, badges, create, unseen } = await crossing();
  hold();
  create();
  badges(0, 1);
  await clock.advance(20);
  release();
  await clock.advance(3_000);
  assert.equal(unseen(), 1);
});

test("badges that cross a message in an open room are fetched once, when it is left", async () => {
  const { clock, a, roomId, badges, write, unread, fetches } = await crossing();
  const opened = a.parlor.open(roomId);
  await clock.advance(5_000);
  write();
  await clock.advance(50);
  const before = fetches();
  badges(0);
  badges(0);
  await clock.advance(3_000);
  assert.deepEqual([fetches(), unread()], [before, 0]);
  opened.close();
  await clock.advance(3_000);
  assert.deepEqual([fetches(), unread()], [before + 1, 1]);
});

test("badges that match, long after the last message, are shown without a request", async () => {
  const { clock, badges, write, unread, fetches } = await crossing();
  write();
  await clock.advance(5_000);
  const before = fetches();
  badges(0);
  await clock.advance(3_000);
  assert.deepEqual([fetches(), unread()], [before, 0]);
});

test("two rooms with one person are one group, and a new one appears for both", async () => {
  const { clock, a, b, server } = await pair({ rooms: 1 });
  const making = a.parlor.rooms.create(b.user.id, "Second");
  await clock.advance(500);
  assert.equal((await making).name, "Second");
  assert.equal(b.parlor.rooms.snapshot.rooms.length, 2);
  assert.deepEqual(b.parlor.rooms.snapshot.people.map(({ username, rooms }) => [username, rooms.length]), [["ada", 2]]);
  assert.equal(server.rooms.size, 2);
});

test("after the clock is set back, a room of the same name is a new one, and the list is fetched again", async () => {
  const network = new Network();
  const { clock, parlor: server } = network;
  const { now } = clock;
  let shift = 0;
  clock.now = () => now() + shift;
  const [ada, bob] = [server.addPerson("ada"), server.addPerson("bob")];
  const device = await network.device(ada);
  await caughtUp(clock, device);
  await clock.until("rooms are loaded", () => device.parlor.rooms.snapshot.isLoaded);
  device.wires.answersToLose = 1;
  const lost = device.parlor.rooms.create(bob.id).catch((error) => error.kind);
  await clock.advance(1_000);
  assert.equal(await lost, "offline");
  shift = -86_400_000;
  await Promise.all([device.parlor.rooms.create(bob.id), clock.advance(1_000)]);
  assert.equal(server.rooms.size, 2);
  const lists = () => server.calls.filter((call) => call.includes("my-rooms")).length;
  const before = lists();
  device.parlor.wake();
  await clock.advance(1_000);
  assert.equal(lists(), before + 1);
});

test("a name shows at once, and is reverted if the server refuses it", async () => {
  const { clock, a, b, roomId } = await pair();
  const naming = a.parlor.rooms.rename(roomId, " Plans ");
  assert.equal(a.parlor.rooms.get(roomId).name, "Plans");
  await clock.advance(500);
  await naming;
  assert.equal(b.parlor.rooms.get(roomId).displayName, "Plans");
  a.wires.cut();
  const failing = a.parlor.rooms.rename(roomId, "Never").catch((error) => error.kind);
  assert.equal(a.parlor.rooms.get(roomId).name, "Never");
  await clock.advance(100);
  assert.equal(await failing, "offline");
  assert.equal(a.parlor.rooms.get(roomId).name, "Plans");
});

test("the list is cached when the page is hidden, also right after it has changed", async () => {
  const { network, clock, a, roomId } = await pair();
  await clock.advance(1_000);
  await Promise.all([a.parlor.rooms.rename(roomId, "Plans"), clock.advance(100)]);
  await a.parlor.flush();
  const { parlor } = await network.device(a.user, { storage: a.storage, isOffline: true });
  await clock.advance(100);
  assert.equal(parlor.rooms.get(roomId).name, "Plans");
});

test("missed changes appear after a reconnect, also those that no event replays", async () => {
  const { clock, a, b, roomId } = await pair();
  a.wires.cut();
  await clock.advance(100);
  assert.equal(a.parlor.connection.snapshot.state, "offline");
  const { conversation, board } = b.parlor.open(roomId);
  conversation.send("missed");
  board.create({ type: "note" });
  await clock.advance(2_000);
  a.wires.isOffline = false;
  a.parlor.wake();
  await caughtUp(clock, a);
  await clock.advance(2_000);
  assert.deepEqual(a.parlor.rooms.get(roomId).badges, { messages: 1, elements: 1 });
  assert.equal(a.parlor.rooms.get(roomId).lastMessage.text, "missed");
});

test("events about other people's rooms leave no trace", async () => {
  const { clock, server, a, roomId } = await pair();
  const before = a.parlor.rooms.snapshot;
  server.toAll("message:new:global", { roomId: "room-x", messageId: "message-x", senderId: "user-x", messagesUpdatedAt: server.time() });
  await clock.advance(3_000);
  assert.equal(a.parlor.rooms.snapshot, before);
  assert.equal(a.parlor.rooms.snapshot.rooms[0].id, roomId);
});

test("presence is that of others in the open room, as long as there is a connection", async () => {
  const { network, clock, server, a, b, ids: [roomId, other] } = await pair({ rooms: 2 });
  const present = (id = roomId) => a.parlor.rooms.get(id).present;
  const theirs = [roomId, other].map((id) => b.parlor.open(id));
  await clock.advance(3_000);
  await Promise.all([a.parlor.rooms.refresh(), clock.advance(100)]);
  assert.deepEqual([present(), present(other)], [null, null], "an answer that nothing keeps up to date");
  const mine = a.parlor.open(roomId);
  await clock.advance(20);
  assert.deepEqual([present(), present(other)], [[b.user.id], null]);
  theirs[0].close();
  await clock.advance(1_000);
  assert.deepEqual(present(), []);
  const again = b.parlor.open(roomId);
  await clock.advance(1_000);
  assert.deepEqual(present(), [b.user.id]);
  assert.ok(!server.calls.includes(`GET /rooms/${roomId}`), "the answer to the join has it");
  a.wires.cut();
  await clock.advance(0);
  assert.equal(present(), null);
  again.close();
  await clock.advance(1_000);
  a.wires.isOffline = false;
  a.parlor.wake();
  await caughtUp(clock, a);
  assert.deepEqual(present(), []);
  mine.close();
  assert.equal(present(), null);
  const elsewhere = await network.device(a.user);
  await caughtUp(clock, elsewhere);
  elsewhere.parlor.open(other);
  a.parlor.open(other);
  await clock.advance(1_000);
  theirs[1].close();
  await clock.advance(1_000);
  assert.deepEqual(present(other), [], "one's own other device");
});

test("a presence event that follows the join wins over the answer to the join", async () => {
  const { clock, a, b, roomId } = await pair();
  const [socket] = a.wires.sockets;
  const { deliver } = socket;
  let ack;
  socket.deliver = (text, event) => (text.startsWith("43") ? (ack = text) : deliver(text, event));
  a.parlor.open(roomId);
  await clock.advance(100);
  b.parlor.open(roomId);
  await clock.advance(100);
  deliver(ack);
  await clock.advance(100);
  assert.deepEqual(a.parlor.rooms.get(roomId).present, [b.user.id]);
});
