import assert from "node:assert/strict";
import { test } from "node:test";
import { CHAOS } from "./support/network.mjs";
import { caughtUp, pair, states, texts } from "./support/pair.mjs";

const SEEDS = Number(process.env.WEB_SEEDS ?? 40);

/** Ada and bob with a device each, and a group of ada's with bob and carol. */
async function group({ more = 0, name, seed } = {}) {
  const world = await pair({ seed });
  const { server, clock, a, b } = world;
  const carol = server.addPerson("carol");
  const others = Array.from({ length: more }, (_, index) => server.addPerson(`person-${index}`));
  const making = a.parlor.rooms.createGroup([b.user.id, carol.id, ...others.map(({ id }) => id)], name);
  await clock.advance(500);
  const { id } = await making;
  const as = (user, method, path, body) => server.answer(method, `/rooms/${id}${path}`, body, server.openSession(user).token);
  const room = ({ parlor } = a) => parlor.rooms.get(id);
  const names = (device) => room(device).participants.map(({ username }) => username);
  /** Waits for what a call has been answered. */
  const done = async (call) => (await Promise.all([call, clock.advance(500)]))[0];
  return { ...world, id, carol, as, room, names, done };
}

test("a group is made of several people, its creator is the owner, and it is new to the others", async () => {
  const { a, b, id, room, names } = await group({ more: 2 });
  assert.deepEqual([room().kind, room().participantCount, room().displayName], ["group", 5, "ada & bob & carol +2"]);
  assert.deepEqual(room().participants.map(({ role }) => role), ["owner", "member", "member", "member", "member"]);
  assert.deepEqual(names(b), ["ada", "bob", "carol", "person-0", "person-1"]);
  assert.deepEqual([room(a).isNew, room(b).isNew], [false, true]);
  for (const { parlor } of [a, b]) {
    const { people } = parlor.rooms.snapshot;
    assert.deepEqual(people.flatMap(({ rooms }) => rooms).filter((one) => one.id === id), [], "people have direct rooms only");
  }
});

test("who is added has the group at once, and whoever has it open sees them, without a request", async () => {
  const { server, clock, network, a, b, id, room, names, done } = await group();
  const dan = server.addPerson("dan");
  const d = await network.device(dan);
  await caughtUp(clock, d);
  b.parlor.open(id);
  await clock.advance(5_000);
  const { fetch } = b.wires;
  const requests = [];
  b.wires.fetch = (...request) => {
    requests.push(request);
    return fetch(...request);
  };
  const seen = [];
  a.parlor.rooms.subscribe(() => seen.push(room().participantCount));
  assert.equal((await done(a.parlor.rooms.addPeople(id, [dan.id]))).participantCount, 4);
  assert.deepEqual([names(), names(b), names(d)], Array(3).fill(["ada", "bob", "carol", "dan"]));
  assert.deepEqual([room(b).displayName, room(d).isNew], ["ada & bob & carol +1", true]);
  await clock.advance(3_000);
  assert.deepEqual(requests, []);
  assert.deepEqual(seen, seen.toSorted(), "it is not undone in between");
});

test("people come, get roles and go in an open room, and presence stays as it is known", async () => {
  const { server, clock, a, b, id, carol, as, room, names } = await group();
  a.parlor.open(id);
  b.parlor.open(id);
  await clock.advance(1_000);
  assert.deepEqual(room().present, [b.user.id]);
  as(a.user, "PUT", `/participants/${b.user.id}/role`, { role: "owner" });
  await clock.advance(50);
  assert.deepEqual(room().participants.map(({ role }) => role), ["owner", "owner", "member"]);
  assert.deepEqual(room().present, [b.user.id]);
  as(b.user, "DELETE", `/participants/${carol.id}`);
  as(a.user, "POST", "/participants", { userIds: [server.addPerson("dan").id] });
  as(a.user, "POST", "/participants", { userIds: [carol.id] });
  await clock.advance(150);
  assert.deepEqual([names(a), names(b)], Array(2).fill(["ada", "bob", "dan", "carol"]));
  assert.ok(room().participants.every((person) => !("isPresent" in person)));
  as(b.user, "DELETE", `/participants/${b.user.id}`);
  await clock.advance(150);
  assert.deepEqual([names(), room().present, room().displayName], [["ada", "dan", "carol"], [], "ada & dan & carol"]);
});

test("in a room that is not open, the people change soon after, and with the whole list", async () => {
  const { clock, b, a, as, carol, room, names } = await group();
  const before = room(b).updatedAt;
  await clock.advance(5_000);
  as(a.user, "DELETE", `/participants/${carol.id}`);
  await clock.advance(2_000);
  assert.deepEqual([names(b), room(b).displayName], [["ada", "bob"], "ada & bob"]);
  assert.ok(room(b).updatedAt > before);
});

test("roles and removals show when the call has ended, and a refusal is thrown", async () => {
  const { a, b, id, carol, names, room, done } = await group();
  await assert.rejects(done(b.parlor.rooms.addPeople(id, [carol.id])), { code: "forbidden" });
  await assert.rejects(done(a.parlor.rooms.setRole(id, a.user.id, "member")), { code: "invalid_field" });
  const made = await done(a.parlor.rooms.setRole(id, b.user.id, "owner"));
  assert.deepEqual(made.participants.map(({ role }) => role), ["owner", "owner", "member"]);
  const left = await done(a.parlor.rooms.removePerson(id, carol.id));
  assert.deepEqual(left.participants.map(({ username }) => username), ["ada", "bob"]);
  assert.equal(await done(a.parlor.rooms.removePerson(id, carol.id)), room(), "they have gone already");
  assert.deepEqual(names(b), ["ada", "bob"]);
});

test("whoever is removed loses the room, what waits to be sent for it, and an open room says who did it", async () => {
  const { clock, a, b, id, as, room } = await group();
  const { conversation, board } = b.parlor.open(id);
  await clock.advance(1_000);
  const { fetch } = b.wires;
  b.wires.fetch = () => new Promise(() => {});
  const [socket] = b.wires.sockets;
  socket.send = () => {};
  conversation.send("never");
  board.create({ type: "note" });
  await clock.advance(100);
  assert.equal(b.parlor.unsent.snapshot.waiting, 2);
  as(a.user, "DELETE", `/participants/${b.user.id}`);
  await clock.advance(50);
  assert.equal(room(b), undefined);
  const { isGone, removedBy, items } = conversation.snapshot;
  assert.deepEqual([isGone, removedBy, items, board.snapshot.elements], [true, a.user.id, [], []]);
  assert.equal(b.parlor.unsent.snapshot.waiting, 0);
  assert.equal(conversation.send("no"), null);
  b.wires.fetch = fetch;
  b.wires.dropAll();
  await clock.advance(10_000);
  assert.deepEqual((await b.storage.readAll(`${b.user.id}/outbox/`)), []);
  assert.deepEqual(as(a.user, "GET", "/messages").body.data, []);
});

test("leaving removes the room here and on other devices, and says that one has left", async () => {
  const { network, clock, a, b, id, room, names, done } = await group();
  const other = await network.device(b.user);
  await caughtUp(clock, other);
  const [mine, elsewhere] = [b, other].map(({ parlor }) => parlor.open(id).conversation);
  await clock.advance(1_000);
  await done(b.parlor.rooms.leaveGroup(id));
  assert.deepEqual([room(b), room(other)], [undefined, undefined]);
  assert.deepEqual([mine, elsewhere].map(({ snapshot }) => [snapshot.isGone, snapshot.removedBy]), Array(2).fill([true, b.user.id]));
  await clock.advance(1_000);
  assert.deepEqual(names(), ["ada", "carol"]);
  await done(b.parlor.rooms.leaveGroup(id));
  await done(a.parlor.rooms.leaveGroup(id));
  assert.equal(room(), undefined);
});

test("who was removed while the page was closed finds the room gone, if it is opened by its address", async () => {
  const { network, clock, a, b, id, as } = await group();
  await Promise.all([b.parlor.stop(), clock.advance(3_000)]);
  as(a.user, "DELETE", `/participants/${b.user.id}`);
  const again = await network.device(b.user, { storage: b.storage });
  const { conversation } = again.parlor.open(id);
  await caughtUp(clock, again);
  await clock.until("it is gone", () => conversation.snapshot.isGone);
  assert.equal(again.parlor.rooms.get(id), undefined);
});

test("a removal that is replayed after the person came back takes nothing", async () => {
  const { clock, a, b, id, as, room } = await group();
  as(a.user, "DELETE", `/participants/${b.user.id}`);
  await clock.advance(1_000);
  assert.equal(room(b), undefined);
  as(a.user, "POST", "/participants", { userIds: [b.user.id] });
  await clock.advance(1_000);
  const { conversation } = b.parlor.open(id);
  await clock.advance(1_000);
  b.wires.cut();
  conversation.send("kept");
  await clock.advance(100);
  b.wires.isOffline = false;
  b.parlor.wake();
  await caughtUp(clock, b);
  await clock.until("it is sent", () => states(conversation).includes("sent"));
  assert.deepEqual([conversation.snapshot.isGone, texts(conversation)], [false, ["kept"]]);
});

test("who was removed during a loss of the connection learns by which person", async () => {
  const { clock, a, b, id, as, room } = await group();
  const { conversation } = b.parlor.open(id);
  await clock.advance(1_000);
  b.wires.cut();
  await clock.advance(100);
  as(a.user, "DELETE", `/participants/${b.user.id}`);
  b.wires.isOffline = false;
  b.parlor.wake();
  await clock.until("it is gone", () => conversation.snapshot.isGone);
  assert.deepEqual([room(b), conversation.snapshot.removedBy], [undefined, a.user.id]);
});

test("people who came and went during a loss of the connection are those of the server", async () => {
  const { server, clock, a, b, id, carol, as, names } = await group();
  b.parlor.open(id);
  await clock.advance(1_000);
  b.wires.cut();
  await clock.advance(100);
  as(a.user, "DELETE", `/participants/${carol.id}`);
  as(a.user, "POST", "/participants", { userIds: [server.addPerson("dan").id, carol.id] });
  b.wires.isOffline = false;
  b.parlor.wake();
  await clock.until("they are known", () => names(b).length === 4);
  await clock.advance(3_000);
  assert.deepEqual(names(b), ["ada", "bob", "dan", "carol"]);
});

test("an answer that is older than a removal does not bring the room back", async () => {
  const { clock, a, b, as, room } = await group();
  await clock.advance(3_000);
  const { fetch } = b.wires;
  let release;
  b.wires.fetch = async (...request) => {
    const answer = await fetch(...request);
    await new Promise((resolve) => { release = resolve; });
    return answer;
  };
  const loading = b.parlor.rooms.refresh();
  await clock.until("it is answered", () => release);
  b.wires.fetch = fetch;
  as(a.user, "DELETE", `/participants/${b.user.id}`);
  await clock.advance(50);
  assert.equal(room(b), undefined);
  release();
  await Promise.all([loading, clock.advance(100)]);
  assert.equal(room(b), undefined);
});

test("of a large group the list has the first people, an open room has all, and later lists take nobody from it", async () => {
  const { clock, network, a, b, id, carol, as, room, names, done } = await group({ more: 20 });
  const again = await network.device(b.user);
  await caughtUp(clock, again);
  await clock.until("it is loaded", () => room(again));
  assert.deepEqual([room(again).participants.length, room(again).participantCount, room(again).displayName], [10, 23, "ada & bob & carol +20"]);
  again.parlor.open(id);
  await clock.until("all are known", () => room(again).participants.length === 23);
  const seen = new Set();
  again.parlor.rooms.subscribe(() => seen.add(room(again).participants.length));
  await done(again.parlor.rooms.refresh());
  await done(again.parlor.rooms.refresh());
  as(a.user, "DELETE", `/participants/${carol.id}`);
  await clock.advance(3_000);
  assert.deepEqual([Math.min(...seen), names(again).includes("carol"), room(again).participantCount], [22, false, 22]);
  const pages = [await done(a.parlor.rooms.listParticipants(id, { limit: 20 }))];
  pages.push(await done(a.parlor.rooms.listParticipants(id, { limit: 20, cursor: pages[0].next })));
  assert.deepEqual(pages.map(({ participants, next }) => [participants.length, next]), [[20, "20"], [2, null]]);
});

test("what was sent before a person came needs no reading, and has no line of new messages", async () => {
  const { server, clock, network, a, id, as } = await group();
  for (const number of [1, 2, 3]) as(a.user, "POST", "/messages", { text: `old ${number}`, tempId: `t${number}` });
  await clock.advance(5_000);
  const dan = server.addPerson("dan");
  as(a.user, "POST", "/participants", { userIds: [dan.id] });
  const d = await network.device(dan);
  await caughtUp(clock, d);
  const first = d.parlor.open(id);
  await clock.until("it is loaded", () => first.conversation.snapshot.isVerified);
  const { items, firstUnreadId } = first.conversation.snapshot;
  assert.deepEqual([items.map(({ isUnread }) => isUnread), firstUnreadId], [[false, false, false], null]);
  first.conversation.noteVisible(items.map((item) => item.id), true);
  first.conversation.markReadUpTo(3);
  first.close();
  await clock.advance(5_000);
  assert.ok(!server.calls.includes("messages:mark-read"));
  as(a.user, "POST", "/messages", { text: "new", tempId: "t4" });
  await clock.advance(1_000);
  assert.equal(d.parlor.rooms.get(id).badges.messages, 1);
  const { conversation } = d.parlor.open(id);
  await clock.until("it is loaded", () => conversation.snapshot.isVerified);
  assert.equal(conversation.snapshot.items.find((item) => item.id === conversation.snapshot.firstUnreadId).text, "new");
});

test("a message that the person has read is not unread, also if more have read it than the server names", async () => {
  const { server, clock, network, a, b, id, as } = await group({ more: 25 });
  const others = server.rooms.get(id).participants.map((userId) => server.people.get(userId)).filter(({ username }) => username.startsWith("person"));
  const write = (text) => as(a.user, "POST", "/messages", { text, tempId: text }).body.data.id;
  const [first, second] = ["first", "second"].map(write);
  for (const user of others) as(user, "POST", "/messages/read", { messageIds: [first, second] });
  as(b.user, "POST", "/messages/read", { messageIds: [first] });
  const again = await network.device(b.user);
  await caughtUp(clock, again);
  const { conversation } = again.parlor.open(id);
  await clock.until("it is loaded", () => conversation.snapshot.isVerified && again.parlor.rooms.get(id));
  const { items, firstUnreadId } = conversation.snapshot;
  assert.deepEqual(items.map(({ text, isUnread }) => [text, isUnread]), [["first", false], ["second", true]]);
  assert.equal(firstUnreadId, items[1].id);
  conversation.noteVisible(items.map((item) => item.id), true);
  await clock.advance(3_000);
  assert.deepEqual(conversation.snapshot.items.map(({ isUnread }) => isUnread), [false, false]);
  assert.equal(again.parlor.rooms.get(id).badges.messages, 0);
});

test("a message is read once all have read it who were there when it was sent", async () => {
  const { server, clock, a, b, id, carol, as } = await group();
  const { conversation } = a.parlor.open(id);
  await clock.advance(1_000);
  conversation.send("hello");
  await clock.advance(2_000);
  as(a.user, "POST", "/participants", { userIds: [server.addPerson("dan").id] });
  await clock.advance(2_000);
  const read = async (user, message = conversation.snapshot.items.at(-1).message) => {
    as(user, "POST", "/messages/read", { messageIds: [message.id] });
    await clock.advance(100);
  };
  await read(b.user);
  assert.deepEqual(states(conversation), ["sent"]);
  await read(carol);
  assert.deepEqual(states(conversation), ["read"], "dan came later");
  conversation.send("again");
  await clock.advance(1_000);
  await read(b.user);
  await read(carol);
  assert.deepEqual(states(conversation), ["read", "sent"], "dan was there");
});

/** People come and go, on wires that lose, double and drop; then the wires are good again. */
for (let seed = 1; seed <= SEEDS; seed += 1) {
  test(`seed ${seed}: everybody sees the groups and the people that the server has`, async () => {
    const { network, clock, server, a, b, id, carol } = await group({ seed, more: seed % 3 === 0 ? 12 : 0 });
    const c = await network.device(carol);
    const devices = [a, b, c];
    const pick = (values) => values[Math.floor(network.random() * values.length)];
    const room = server.rooms.get(id);
    const open = new Map();
    for (const { wires } of devices) wires.chaos = CHAOS;
    for (let step = 0; step < 60 && room.participants.length > 0; step += 1) {
      const device = pick(devices);
      const { parlor, wires, user } = device;
      const someone = pick([...server.people.keys()]);
      const owner = server.people.get(pick(room.owners));
      const call = (method, path, body) => server.answer(method, `/rooms/${id}/participants${path}`, body, server.openSession(owner).token);
      const roll = network.random();
      if (roll < 0.2) call("POST", "", { userIds: [someone] });
      else if (roll < 0.35 && room.participants.length > 1) call("DELETE", `/${someone}`);
      else if (roll < 0.45) call("PUT", `/${someone}/role`, { role: pick(["owner", "member"]) });
      else if (roll < 0.5) parlor.rooms.addPeople(id, [someone]).catch(() => {});
      else if (roll < 0.55 && room.participants.length > 1) parlor.rooms.removePerson(id, someone).catch(() => {});
      else if (roll < 0.58 && room.participants.length > 1) parlor.rooms.leaveGroup(id).catch(() => {});
      else if (roll < 0.8) {
        open.get(device)?.close();
        open.delete(device);
        if (roll < 0.7) open.set(device, parlor.open(id));
      } else if (roll < 0.9) open.get(device)?.conversation.send(`${user.username} ${step}`);
      else if (roll < 0.92) parlor.rooms.refresh();
      else if (roll < 0.94) wires.dropAll();
      else if (roll < 0.96) wires.cut();
      else Object.assign(wires, { isOffline: false });
      await clock.advance(Math.floor(network.random() * 400));
    }
    for (const { wires } of devices) Object.assign(wires, { chaos: null, isOffline: false });
    for (const { parlor } of devices) parlor.wake();
    await caughtUp(clock, ...devices);
    await clock.advance(60_000);
    for (const device of devices) {
      const { parlor, user } = device;
      const shown = parlor.rooms.get(id);
      const { conversation } = open.get(device) ?? {};
      assert.equal(Boolean(shown), room.roles.has(user.id), user.username);
      if (!shown) assert.equal(parlor.unsent.snapshot.waiting, 0);
      if (!shown) continue;
      const truth = room.seenBy(user.id, server);
      for (const field of ["displayName", "participantCount"]) assert.equal(shown[field], truth[field], field);
      const people = truth.participants.map(({ isPresent, ...person }) => person);
      if (shown.participants.length === people.length) assert.deepEqual(shown.participants, people);
      else assert.ok(people.length > 10 && shown.participants.length >= 10, "the first ones of many");
      if (!conversation || conversation.snapshot.isGone) continue;
      // Of what was sent in between, the server may have refused some.
      assert.deepEqual(conversation.snapshot.items.filter(({ message }) => message).map(({ text }) => text), room.messages.map(({ text }) => text));
    }
  });
}
