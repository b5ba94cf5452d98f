import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStorage, Parlor } from "../../Clients/Web/parlor/parlor.js";
import { browser, fillable } from "./support/browser.mjs";
import { Network } from "./support/network.mjs";
import { caughtUp, pair, texts, twoTabs } from "./support/pair.mjs";

test("signing out with a token that has expired ends the session on the server too", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  server.tokenLife = 300_000;
  const one = await network.device(server.addPerson("ada"));
  await caughtUp(clock, one);
  one.wires.cut();
  await clock.advance(400_000);
  one.wires.isOffline = false;
  await Promise.all([one.parlor.session.logout(), clock.advance(1_000)]);
  const valid = [...server.sessions.values()].filter(({ next }) => next === null);
  assert.deepEqual(valid, []);
});

/** The refresh tokens of a server's sessions that have not ended. */
const validTokens = (server) => [...server.sessions].filter(([, { next }]) => next === null).map(([token]) => token);

for (const isExpired of [false, true]) {
  test(`a sign-out without a network ends the session on the server later, with a token that ${isExpired ? "has expired" : "is valid"}`, async () => {
    const network = new Network();
    const { parlor: server, clock } = network;
    const one = await network.device(server.addPerson("ada"));
    await caughtUp(clock, one);
    one.wires.cut();
    await Promise.all([one.parlor.session.logout(), clock.advance(isExpired ? 2 * server.tokenLife : 60_000)]);
    assert.equal(validTokens(server).length, 1);
    one.wires.isOffline = false;
    one.parlor.wake();
    await clock.advance(1_000);
    assert.deepEqual([validTokens(server), await one.storage.readAll("")], [[], []]);
  });
}

test("a sign-out whose refresh is answered, but not the request after it, ends the session without the use of a used token", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  const one = await network.device(server.addPerson("ada"));
  await caughtUp(clock, one);
  one.wires.cut();
  await clock.advance(2 * server.tokenLife);
  one.wires.isOffline = false;
  const [refreshed, { answer, refresh }] = [[], server];
  server.refresh = (body) => {
    refreshed.push(body.refreshToken);
    return refresh.call(server, body);
  };
  let refusals = 3;
  server.answer = (method, url, ...rest) => {
    if (url !== "/auth/logout" || refreshed.length === 0 || refusals === 0) return answer.call(server, method, url, ...rest);
    refusals -= 1;
    return { status: 503, body: { error: { code: "service_unavailable", message: "Wait." } } };
  };
  await Promise.all([one.parlor.session.logout(), clock.advance(300_000)]);
  assert.deepEqual([validTokens(server), await one.storage.readAll("")], [[], []]);
  assert.deepEqual([refusals, refreshed.length], [0, 1]);
});

test("after a stop, a session that could not be ended waits in the storage, without a timer, for the next start", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  const one = await network.device(server.addPerson("ada"));
  await caughtUp(clock, one);
  one.wires.cut();
  await Promise.all([one.parlor.session.logout(), clock.advance(10_000)]);
  await Promise.all([one.parlor.stop(), clock.advance(10_000)]);
  one.wires.isOffline = false;
  await clock.advance(300_000);
  assert.equal(validTokens(server).length, 1);
  await Promise.all([one.parlor.start(), clock.advance(1_000)]);
  assert.deepEqual([validTokens(server), await one.storage.readAll("")], [[], []]);
});

test("a session that the server will never end is given up", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  const one = await network.device(server.addPerson("ada"));
  await caughtUp(clock, one);
  one.wires.cut();
  await Promise.all([one.parlor.session.logout(), clock.advance(2 * server.tokenLife)]);
  server.refreshRefusal = [403, "forbidden"];
  one.wires.isOffline = false;
  one.parlor.wake();
  await clock.advance(1_000);
  assert.deepEqual(await one.storage.readAll(""), []);
});

test("a session that the server cannot end yet does not hold up another", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  const [ada, bob] = [server.addPerson("ada"), server.addPerson("bob")];
  const one = await network.device(ada);
  await caughtUp(clock, one);
  const [adas] = validTokens(server);
  const { answer } = server;
  server.answer = (method, url, body, ...rest) => {
    if (url !== "/auth/logout" || body.refreshToken !== adas) return answer.call(server, method, url, body, ...rest);
    return { status: 503, body: { error: { code: "service_unavailable", message: "Wait." } } };
  };
  await Promise.all([one.parlor.session.logout(), clock.advance(10_000)]);
  await one.parlor.session.adopt(server.openSession(bob));
  await Promise.all([one.parlor.session.logout(), clock.advance(10_000)]);
  assert.deepEqual(validTokens(server), [adas]);
  server.answer = answer;
  await clock.advance(60_000);
  assert.deepEqual([validTokens(server), await one.storage.readAll("")], [[], []]);
});

test("signing out in one tab signs out all, and leaves nothing", async () => {
  const { clock, tabs, one, two } = await twoTabs();
  await clock.advance(1_000);
  await Promise.all([one.parlor.session.logout(), clock.advance(100)]);
  assert.deepEqual([one, two].map(({ parlor }) => parlor.session.snapshot.status), ["signedOut", "signedOut"]);
  assert.deepEqual([one, two].map(({ parlor }) => parlor.connection.snapshot.state), ["idle", "idle"]);
  assert.deepEqual(await tabs.storage.readAll(""), []);
});

/** The same storage for a page that is closed right after the session was removed: nothing that it does has an effect. */
function closedAtSignOut(storage) {
  let isClosed = false;
  const never = () => new Promise(() => {});
  return {
    read: (key) => (isClosed ? never() : storage.read(key)),
    readAll: (prefix) => (isClosed ? never() : storage.readAll(prefix)),
    async write(changes) {
      if (isClosed) return never();
      await storage.write(changes);
      isClosed = changes.some(([key, value]) => key === "session" && value === undefined);
      if (isClosed) return never();
    },
  };
}

/** A storage on which ada's page was closed while she signed out, with a message of hers that was not sent. */
async function interruptedSignOut(storage) {
  const network = new Network();
  const { parlor: server, clock } = network;
  const [ada, bob] = [server.addPerson("ada"), server.addPerson("bob")];
  const roomId = server.answer("POST", "/rooms", { otherUserId: bob.id }, server.openSession(ada).token).body.data.id;
  const one = await network.device(ada, { storage: closedAtSignOut(storage) });
  await caughtUp(clock, one);
  await clock.advance(1_000);
  one.wires.cut();
  one.parlor.open(roomId).conversation.send("unsent");
  await clock.advance(1_000);
  one.parlor.session.logout();
  await clock.advance(1_000);
  assert.equal(await storage.read("session"), undefined);
  const keysOf = async ({ id }) => (await storage.readAll(`${id}/`)).map(([key]) => key.split("/")[1]);
  assert.deepEqual([...new Set(await keysOf(ada))], ["cache", "outbox"]);
  return { network, server, clock, ada, bob, roomId, keysOf };
}

test("a sign-out during which the page was closed is finished at the next start, and nothing of another person goes", async () => {
  const storage = memoryStorage();
  const { network, server, clock, ada, bob, keysOf } = await interruptedSignOut(storage);
  await storage.write([[`${bob.id}/cache/rooms`, []]]);
  const next = await network.device(bob, { storage });
  assert.deepEqual([await keysOf(ada), await keysOf(bob)], [[], ["cache"]]);
  assert.deepEqual(await storage.readAll("signed-out/"), []);
  await caughtUp(clock, next);
  assert.equal(next.parlor.session.snapshot.user.id, bob.id);
  const isAdas = (token) => server.sessions.get(token).session.user.id === ada.id;
  // One is left: ada's first, with which a room was made, and which no device has.
  assert.equal(validTokens(server).filter(isAdas).length, 1);
  assert.deepEqual(await storage.readAll("ending/"), []);
});

test("a start that cannot finish a sign-out leaves that to the next one", async () => {
  const storage = memoryStorage();
  const { network, ada, bob, keysOf } = await interruptedSignOut(storage);
  const refusing = { ...storage, write: async (changes) => {
    if (changes.some(([key, value]) => key.startsWith(ada.id) && value === undefined)) throw new Error("refused");
    return storage.write(changes);
  } };
  await network.device(bob, { storage: refusing });
  assert.notDeepEqual(await keysOf(ada), []);
  await network.device(bob, { storage });
  assert.deepEqual([await keysOf(ada), await storage.readAll("signed-out/")], [[], []]);
});

/** Checks that a room shows a text on a device that has just started. */
async function shows(text, roomId, device, clock) {
  await caughtUp(clock, device);
  const { conversation } = device.parlor.open(roomId);
  await clock.advance(3_000);
  assert.equal(texts(conversation).includes(text), true);
}

test("a person who signs in again while a sign-out cannot be finished keeps what is stored from then on", async () => {
  const storage = memoryStorage();
  const { network, server, clock, ada, bob, roomId } = await interruptedSignOut(storage);
  const refusing = { ...storage, write: async (changes) => {
    if (changes.every(([key, value]) => key.startsWith(ada.id) && value === undefined)) throw new Error("refused");
    return storage.write(changes);
  } };
  const one = await network.device(bob, { storage: refusing, isOffline: true });
  await one.parlor.session.adopt(server.openSession(ada));
  one.parlor.open(roomId).conversation.send("later");
  await clock.advance(1_000);
  await shows("later", roomId, await network.device(ada, { storage }), clock);
});

test("a session that is stored only at its renewal keeps what the person stores from then on", async () => {
  const storage = memoryStorage();
  const { network, server, clock, ada, bob, roomId } = await interruptedSignOut(storage);
  let [isFull, isStored] = [true, false];
  const refusing = { ...storage, write: async (changes) => {
    const isRemoval = changes.every(([key, value]) => key.startsWith(ada.id) && value === undefined);
    const hasSession = changes.some(([key]) => key === "session");
    if (isRemoval || (isFull && hasSession)) throw new Error("refused");
    await storage.write(changes);
    isStored ||= hasSession;
  } };
  const one = await network.device(bob, { storage: refusing, isOffline: true });
  await one.parlor.session.adopt(server.openSession(ada));
  assert.equal(one.parlor.session.snapshot.failure.code, "not_kept");
  isFull = false;
  one.wires.isOffline = false;
  server.tokens.clear();
  await clock.until("the renewed session is stored", () => isStored);
  one.wires.cut();
  one.parlor.open(roomId).conversation.send("later");
  await clock.advance(1_000);
  await shows("later", roomId, await network.device(ada, { storage }), clock);
});

test("signing out with a full storage leaves nothing", async () => {
  const network = new Network();
  const storage = fillable(false);
  const one = await network.device(network.parlor.addPerson("ada"), { storage });
  await caughtUp(network.clock, one);
  await network.clock.advance(1_000);
  storage.isFull = true;
  await Promise.all([one.parlor.session.logout(), network.clock.advance(1_000)]);
  assert.deepEqual(await storage.readAll(""), []);
});

/** Two tabs of one person, who has a room with somebody that changes after it was cached. */
async function tabsOfRoom(tabs) {
  const network = new Network();
  const { parlor: server, clock } = network;
  server.tokenLife = 300_000;
  const [ada, bob] = [server.addPerson("ada"), server.addPerson("bob")];
  const roomId = server.answer("POST", "/rooms", { otherUserId: bob.id, name: "Plans" }, server.openSession(ada).token).body.data.id;
  const bobsToken = server.openSession(bob).token;
  const [one, two] = [await network.device(ada, tabs), await network.device(ada, tabs)];
  await caughtUp(clock, one, two);
  const write = () => server.answer("POST", `/rooms/${roomId}/messages`, { text: "at nine", tempId: `b${clock.now()}` }, bobsToken);
  return { clock, roomId, one, two, write };
}

test("signing out in one tab leaves nothing of a room that is open and has changed in another", async () => {
  const tabs = browser();
  const { clock, roomId, one, two, write } = await tabsOfRoom(tabs);
  two.parlor.open(roomId);
  await clock.advance(3_000);
  write();
  await clock.advance(100);
  await Promise.all([one.parlor.session.logout(), clock.advance(3_000)]);
  assert.deepEqual([one, two].map(({ parlor }) => parlor.session.snapshot.status), ["signedOut", "signedOut"]);
  assert.deepEqual(await tabs.storage.readAll(""), []);
});

test("a tab that finds no session any more writes nothing", async () => {
  const { BroadcastChannel: _, ...tabs } = browser();
  const { clock, one, two, write } = await tabsOfRoom(tabs);
  await clock.advance(290_000);
  write();
  await clock.advance(10);
  await Promise.all([one.parlor.session.logout(), clock.advance(10)]);
  await Promise.all([two.parlor.rooms.refresh(), clock.advance(100)]);
  assert.equal(two.parlor.session.snapshot.status, "signedOut");
  assert.deepEqual(await tabs.storage.readAll(""), []);
});

test("listeners that run as a session ends find the rooms, and then there are none", async () => {
  const { clock, a: { parlor }, ids } = await pair();
  const opened = parlor.open(ids[0]);
  await clock.advance(1_000);
  const seen = [];
  for (const model of [parlor.rooms, opened.conversation]) model.subscribe(() => seen.push(parlor.rooms !== null));
  const states = [];
  parlor.session.subscribe(({ status }) => states.push([status, parlor.rooms]));
  await Promise.all([parlor.session.logout(), clock.advance(1_000)]);
  assert.ok(seen.length > 0 && seen.every(Boolean));
  assert.deepEqual(states, [["signedOut", null]]);
});

test("what is no address and no id is refused at once", () => {
  for (const options of [{}, { server: undefined }, "https://parlor.example"]) assert.throws(() => new Parlor(options), TypeError);
  const parlor = new Parlor({ server: "https://parlor.example", storage: memoryStorage() });
  for (const id of [undefined, { id: "r" }]) assert.throws(() => parlor.open(id), TypeError);
});
