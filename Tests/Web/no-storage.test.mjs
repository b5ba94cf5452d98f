import assert from "node:assert/strict";
import { test } from "node:test";
import { indexedDBStorage, memoryStorage } from "../../Clients/Web/parlor/parlor.js";
import { Network } from "./support/network.mjs";
import { caughtUp, states, texts } from "./support/pair.mjs";

/** What browsers offer to a page whose site data the person has blocked. */
function blocked() {
  const refuse = () => { throw new Error("SecurityError"); };
  return {
    storage: indexedDBStorage("parlor", { open: refuse }),
    locks: { request: async () => refuse() },
    BroadcastChannel: class {
      constructor() {
        refuse();
      }
    },
  };
}

/** Ada's page starts on a database that never opens. */
async function startUnopened() {
  const network = new Network();
  const { parlor: server, clock } = network;
  const ada = server.addPerson("ada");
  const request = { result: { close: () => { request.isClosed = true; } } };
  const storage = indexedDBStorage("parlor", { open: () => request }, clock);
  const began = clock.now();
  const device = network.device(ada, { storage });
  await clock.until("it starts", () => network.devices[0]?.parlor.session.snapshot.status === "signedOut");
  return { ...await device, server, clock, request, ada, waited: clock.now() - began };
}

test("a database that never opens is given up after 3 s, and the session lives in memory", async () => {
  const { parlor, server, clock, request, ada, waited } = await startUnopened();
  assert.ok(waited <= 3_020, `${waited} ms`);
  assert.equal(parlor.session.snapshot.failure.kind, "not_kept");
  await parlor.session.adopt(server.openSession(ada));
  await caughtUp(clock, { parlor });
  assert.deepEqual([parlor.session.snapshot.user, parlor.session.snapshot.failure.kind], [ada, "not_kept"]);
  request.onsuccess();
  assert.ok(request.isClosed, "a database that opens later is not used");
});

test("what is written into a stored edit fails as not kept if the storage is full", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  const [ada, bob] = [server.addPerson("ada"), server.addPerson("bob")];
  const token = server.openSession(ada).token;
  const roomId = server.answer("POST", "/rooms", { otherUserId: bob.id }, token).body.data.id;
  server.answer("POST", `/rooms/${roomId}/elements`, { type: "note", content: {}, tempId: "e" }, token);
  const storage = memoryStorage();
  const { write } = storage;
  let isFull = false;
  storage.write = (changes) => (isFull ? Promise.reject(new Error("full")) : write(changes));
  const device = await network.device(ada, { storage });
  await caughtUp(clock, device);
  const { board } = device.parlor.open(roomId);
  await clock.until("the board is there", () => board.snapshot.isVerified);
  const [{ id }] = board.snapshot.elements;
  device.wires.isOffline = true;
  for (const socket of [...device.wires.sockets]) device.wires.dropSocket(socket);
  board.edit(id, { text: "a" });
  await clock.advance(1_000);
  assert.equal(board.snapshot.elements[0].state, "saving");
  isFull = true;
  board.edit(id, { text: "a paragraph" });
  await clock.advance(1_000);
  const [item] = board.snapshot.elements;
  assert.deepEqual([item.state, item.failure?.code, item.content.text], ["failed", "not_kept", "a paragraph"]);
});

/** Ada with a room, signed in on a page that can store nothing. */
async function unkept() {
  const network = new Network();
  const { parlor: server, clock } = network;
  const [ada, bob] = [server.addPerson("ada"), server.addPerson("bob")];
  const roomId = server.answer("POST", "/rooms", { otherUserId: bob.id }, server.openSession(ada).token).body.data.id;
  const { parlor, wires } = await network.device(ada, blocked());
  await parlor.session.adopt(server.openSession(ada));
  await caughtUp(clock, { parlor });
  return { server, clock, parlor, wires, roomId, ...parlor.open(roomId) };
}

test("without a storage messages and elements are sent, in order", async () => {
  const { server, clock, conversation, board, roomId } = await unkept();
  for (const text of ["one", "two", "three"]) conversation.send(text);
  board.create({ type: "note" });
  await clock.advance(1_000);
  assert.deepEqual(texts(conversation), ["one", "two", "three"]);
  assert.deepEqual(states(conversation), ["sent", "sent", "sent"]);
  assert.deepEqual(board.snapshot.elements.map(({ state }) => state), ["saved"]);
  assert.equal(server.rooms.get(roomId).messages.length, 3);
});

test("without a storage a message that cannot be sent now has failed, and is sent once by a retry", async () => {
  const { server, clock, parlor, wires, conversation, roomId } = await unkept();
  wires.cut();
  const id = conversation.send("not now");
  conversation.send("nor this");
  await clock.until("both have failed", () => states(conversation).every((state) => state === "failed"));
  assert.equal(conversation.snapshot.items[0].failure.code, "not_kept");
  wires.isOffline = false;
  parlor.wake();
  await caughtUp(clock, { parlor });
  assert.deepEqual(states(conversation), ["failed", "failed"]);
  conversation.retry(id);
  await clock.advance(1_000);
  wires.answersToLose = 2;
  conversation.retry(conversation.snapshot.items.find(({ state }) => state === "failed").id);
  await clock.advance(60_000);
  for (const item of conversation.snapshot.items.filter(({ state }) => state === "failed")) conversation.retry(item.id);
  await clock.advance(1_000);
  assert.deepEqual(states(conversation), ["sent", "sent"]);
  assert.deepEqual(server.rooms.get(roomId).messages.map(({ text }) => text), ["not now", "nor this"]);
});

test("without a storage and locks the session is renewed, and signing out works", async () => {
  const { server, clock, parlor, conversation } = await unkept();
  for (let hours = 0; hours < 3; hours += 1) {
    await clock.advance(3_600_000);
    await Promise.all([parlor.rooms.refresh(), clock.advance(1_000)]);
  }
  assert.ok(server.calls.filter((call) => call === "POST /auth/refresh").length >= 3);
  conversation.send("still here");
  await clock.advance(1_000);
  assert.deepEqual(states(conversation), ["sent"]);
  await Promise.all([parlor.session.logout(), clock.advance(1_000)]);
  assert.equal(parlor.session.snapshot.status, "signedOut");
});
