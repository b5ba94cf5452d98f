import assert from "node:assert/strict";
import { test } from "node:test";
import { ElementStore } from "../../Clients/Web/parlor/element-store.js";
import { MessageStore } from "../../Clients/Web/parlor/message-store.js";
import { RecentValues } from "../../Clients/Web/parlor/recent.js";
import { RoomCounts } from "../../Clients/Web/parlor/room-counts.js";
import { shownRoom } from "../../Clients/Web/parlor/room-record.js";
import { RoomStore } from "../../Clients/Web/parlor/room-store.js";
import { seeded } from "./support/random.mjs";

const message = (seq, fields = {}) => ({
  id: `m${String(seq).padStart(4, "0")}`, roomId: "r", seq, senderId: "bob", text: String(seq), createdAt: `2030-01-01T00:00:${String(seq % 60).padStart(2, "0")}.000Z`,
  readStatus: false, readBy: [], tempId: null, ...fields,
});
const seqs = (store) => store.items.map((item) => item.message.seq);
const newest = (...all) => ({ items: all.map((seq) => message(seq)), next: null });

test("a deleted message comes back neither with a late event nor with an older page", () => {
  const store = new MessageStore("ada");
  store.setRoom({ participants: [{ userId: "ada" }, { userId: "bob" }] });
  store.delete("m0002");
  store.insert(message(2));
  store.merge(newest(1, 2, 3), { newest: true });
  assert.deepEqual(seqs(store), [1, 3]);
  store.delete("m0003");
  store.insert(message(3));
  assert.deepEqual(seqs(store), [1]);
});

test("before a page is loaded, there is what comes before the cached messages", () => {
  const store = new MessageStore("ada");
  store.setRoom({ participants: [{ userId: "ada" }, { userId: "bob" }] });
  assert.equal(store.hasOlder, false);
  store.showCached([message(5), message(6)]);
  assert.equal(store.hasOlder, true);
  store.showCached([message(1)]);
  assert.equal(store.hasOlder, false, "the first message of all");
  store.merge({ items: [message(5), message(6)], next: "more" }, { newest: true });
  assert.equal(store.hasOlder, true);
  store.merge(newest(3), { before: 5 });
  assert.equal(store.hasOlder, false);
});

test("whatever the order of events and pages, the messages come out the same", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = seeded(seed);
    const store = new MessageStore("ada");
    store.setRoom({ participants: [{ userId: "ada" }, { userId: "bob" }] });
    const events = [];
    for (let seq = 1; seq <= 20; seq += 1) events.push(() => store.insert(message(seq)), () => store.insert(message(seq)));
    for (const seq of [4, 11, 20]) events.push(() => store.delete(message(seq).id));
    events.push(() => store.markRead(["m0005", "m0006"], "ada", "2030-01-01T01:00:00.000Z"));
    store.merge({ items: [], next: null }, { newest: true });
    events.sort(() => random() - 0.5);
    for (const event of events) event();
    const rest = Array.from({ length: 20 }, (_, index) => index + 1).filter((seq) => ![4, 11, 20].includes(seq));
    assert.deepEqual(seqs(store), rest, `seed ${seed}`);
    assert.deepEqual(store.items.filter((item) => item.state === "read").map((item) => item.message.seq), [5, 6], `seed ${seed}`);
  }
});

test("a page removes what the server no longer has, and not what arrived while it was fetched", () => {
  const store = new MessageStore("ada");
  store.showCached([message(1), message(2), message(3)]);
  store.insert(message(5));
  store.merge(newest(1, 3, 4), { newest: true });
  assert.deepEqual(seqs(store), [1, 3, 4, 5]);
  assert.equal(store.firstGap, undefined);
});

const element = (id, version, fields = {}) => ({ id, version, createdBy: "bob", tempId: null, content: { version }, ...fields });

test("an element's newest version stays, and a deletion does too", () => {
  const store = new ElementStore("ada");
  for (const version of [2, 1, 3, 2]) store.put(element("e1", version));
  assert.equal(store.get("e1").version, 3);
  store.delete("e1");
  store.put(element("e1", 4));
  assert.deepEqual(store.all, []);
});

test("a list keeps elements created while it was in progress, and doubts a replayed clearing", () => {
  const store = new ElementStore("ada");
  store.put(element("e1", 1));
  store.beginList();
  store.put(element("e2", 1));
  store.takeList([]);
  assert.deepEqual(store.all.map(({ id }) => id), ["e2"]);
  store.clear();
  store.beginList();
  store.put(element("e2", 1));
  assert.equal(store.isDoubtful, true);
  assert.deepEqual(store.all.map(({ id }) => id), ["e2"]);
});

const room = (fields = {}) => ({
  id: "r", name: null, displayName: "Ada & Bob", createdBy: "ada", createdAt: "2030-01-01T00:00:00Z", updatedAt: "2030-01-01T00:00:00Z",
  messagesUpdatedAt: null, lastActivityAt: "2030-01-01T00:00:00.000Z", lastActivityType: "roomUpdate", isActive: false, participants: [],
  elementCount: 0, badges: { messages: 0, elements: 0 }, hasUnread: false, lastMessage: null, ...fields,
});
const made = (rev, elementId = `e${rev}`) => ["element:created:global", { roomId: "r", elementId, createdBy: "bob", elementCount: rev, rev }];

test("a lost, late or doubled event causes no drift in counts, and a skipped rev causes a request", () => {
  const counts = new RoomCounts("ada");
  counts.load(room());
  assert.equal(counts.apply(...made(1)), false);
  assert.equal(counts.apply(...made(1)), false);
  assert.equal(counts.apply(...made(3)), true);
  assert.equal(counts.apply(...made(2)), true);
  assert.deepEqual(counts.get("r"), { elements: 3, unreadMessages: 0, unseenElements: 3, others: {} });
  counts.noteAbsence();
  assert.equal(counts.apply(...made(9)), false);
});

test("a message is counted once, by whichever event arrives first, and never one's own", () => {
  const counts = new RoomCounts("ada");
  counts.load(room({ lastMessage: { id: "m0001" } }));
  for (const id of ["m0001", "m0002", "m0002"]) counts.apply("message:new:global", { roomId: "r", messageId: id, senderId: "bob" });
  counts.apply("message:new", { message: message(2) });
  counts.apply("message:new", { message: message(3, { senderId: "ada" }) });
  counts.apply("message:new:global", { roomId: "other", messageId: "m0004", senderId: "bob" });
  assert.equal(counts.get("r").unreadMessages, 1);
  assert.equal(counts.has("other"), false);
});

test("badges of added services are kept and make a room unread", () => {
  const counts = new RoomCounts("ada");
  const store = new RoomStore(() => 0);
  const answer = room({ badges: { messages: 0, elements: 0, polls: 2 }, hasUnread: true });
  counts.load(answer);
  store.finishAll(store.beginLoad(), [answer]);
  const shown = () => {
    const { badges, hasUnread } = shownRoom(store.records.get("r"), counts.get("r"), []);
    return { badges, hasUnread };
  };
  assert.deepEqual(shown(), { badges: { messages: 0, elements: 0, polls: 2 }, hasUnread: true });
  counts.apply("room:badges", { roomId: "r", badges: { messages: 0, elements: 0, polls: 0 }, hasUnread: false });
  assert.deepEqual(shown(), { badges: { messages: 0, elements: 0, polls: 0 }, hasUnread: false });
});

test("in an open room nothing is unseen, and elements marked as seen cause a request on leaving", () => {
  const counts = new RoomCounts("ada");
  counts.load(room({ badges: { messages: 0, elements: 2 } }));
  counts.enter("r");
  counts.apply(...made(1));
  assert.equal(counts.get("r").unseenElements, 0);
  assert.equal(counts.leave("r"), true);
  assert.equal(counts.leave("r"), false);
});

test("an answer older than later events keeps the later of both, and is requested again", () => {
  let now = 0;
  const store = new RoomStore(() => now);
  store.finishAll(store.beginLoad(), [room()]);
  const load = store.beginLoad();
  store.apply("message:new", { message: message(1) });
  store.apply("room:updated", { room: { id: "r", name: "Late", updatedAt: "2030-01-01T00:00:05Z" } });
  assert.deepEqual([...store.finishAll(load, [room({ name: "Old" })])], ["r"]);
  assert.deepEqual([store.records.get("r").room.name, store.records.get("r").room.lastMessage.text], ["Late", "1"]);
  assert.equal(store.needs.has("r"), true);
  now = 10_000;
  store.finishOne(store.beginLoad(), room({ name: "New" }));
  assert.equal(store.records.get("r").room.name, "New");
  assert.equal(store.needs.has("r"), false);
});

test("a change in the same second as another room's causes a request for both, as their order is unknown", () => {
  const store = new RoomStore(() => 0);
  const at = (id, lastActivityAt) => room({ id, updatedAt: "2030-01-01T00:00:05Z", lastActivityAt });
  const needsOf = (...rooms) => {
    store.finishAll(store.beginLoad(), rooms);
    store.apply("element:updated:global", { roomId: "r", elementId: "e1", updatedAt: "2030-01-01T00:00:05Z", elementCount: 1, rev: 1 });
    return Object.fromEntries([...store.needs].map(([id, needs]) => [id, [...needs]]));
  };
  assert.deepEqual(needsOf(room(), at("other", "2030-01-01T00:00:05.700Z")), { r: ["answer"], other: ["answer"] });
  // A time of the room itself, or of another second, does not make the order uncertain.
  assert.deepEqual(needsOf(at("r", "2030-01-01T00:00:05.200Z"), room({ id: "other" })), {});
});

test("badges that arrive while all rooms are fetched stay, and are fetched again, as either may be newer", () => {
  const [store, counts] = [new RoomStore(() => 0), new RoomCounts("ada")];
  const badges = (messages) => {
    const data = { roomId: "r", badges: { messages, elements: 0 }, hasUnread: messages > 0 };
    counts.apply("room:badges", data);
    store.apply("room:badges", data);
  };
  const take = (load, messages) => {
    const answer = [room({ badges: { messages, elements: 0 } })];
    counts.loadAll(answer, store.finishAll(load, answer));
    return counts.get("r").unreadMessages;
  };
  take(store.beginLoad(), 1);
  const load = store.beginLoad();
  badges(3);
  assert.deepEqual([take(load, 2), store.needs.has("r")], [3, true]);
  // The next answer is from after the badges.
  assert.deepEqual([take(store.beginLoad(), 2), store.needs.has("r")], [2, false]);
});

test("an id that is set twice counts once, as the newest", () => {
  const values = new RecentValues(2);
  for (const id of ["a", "b", "a"]) assert.equal(values.set(id), undefined);
  assert.equal(values.set("c"), "b");
  assert.deepEqual(["a", "b", "c"].map((id) => values.has(id)), [true, false, true]);
});

test("an event with the name of what every object has is unknown", () => {
  const store = new RoomStore(() => 0);
  store.records.set("r", { id: "r", room: {} });
  for (const name of Object.getOwnPropertyNames(Object.prototype)) assert.equal(store.apply(name, { roomId: "r" }), null, name);
});
