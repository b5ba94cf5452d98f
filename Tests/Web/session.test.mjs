import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStorage } from "../../Clients/Web/parlor/parlor.js";
import { Network } from "./support/network.mjs";
import { caughtUp, texts } from "./support/pair.mjs";

/** Web Locks and BroadcastChannel of one browser. */
function browser() {
  let last = Promise.resolve();
  const channels = new Set();
  return {
    storage: memoryStorage(),
    locks: {
      request(_, run) {
        const result = last.then(run);
        last = result.catch(() => {});
        return result;
      },
    },
    BroadcastChannel: class {
      constructor() {
        channels.add(this);
      }
      postMessage(data) {
        for (const other of channels) if (other !== this) queueMicrotask(() => other.onmessage?.({ data: structuredClone(data) }));
      }
      close() {
        channels.delete(this);
      }
    },
  };
}

test("two tabs refresh once, and both stay signed in", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  server.tokenLife = 300_000;
  const ada = server.addPerson("ada");
  const tabs = browser();
  const [one, two] = [await network.device(ada, tabs), await network.device(ada, tabs)];
  await caughtUp(clock, one, two);
  await clock.advance(290_000);
  const before = one.parlor.session.snapshot;
  await Promise.all([one.parlor.rooms.refresh(), two.parlor.rooms.refresh(), clock.advance(100)]);
  assert.equal(server.calls.filter((call) => call === "POST /auth/refresh").length, 1);
  assert.deepEqual([one, two].map(({ parlor }) => parlor.session.snapshot.status), ["signedIn", "signedIn"]);
  assert.equal(one.parlor.session.snapshot, before);
});

for (const late of [0, 3, 7, 20]) {
  test(`without locks two tabs that renew ${late} ms apart stay signed in, again and again`, async () => {
    const network = new Network();
    const { parlor: server, clock } = network;
    server.tokenLife = 300_000;
    const ada = server.addPerson("ada");
    const storage = memoryStorage();
    const tabs = { storage, BroadcastChannel: browser().BroadcastChannel };
    const [one, two] = [await network.device(ada, tabs), await network.device(ada, tabs)];
    await caughtUp(clock, one, two);
    // From here on the storage takes its time.
    for (const name of ["read", "write"]) {
      const call = storage[name];
      storage[name] = async (...rest) => {
        await new Promise((resolve) => clock.setTimeout(resolve, 5));
        return call(...rest);
      };
    }
    for (let times = 0; times < 5; times += 1) {
      await clock.advance(290_000);
      const first = one.parlor.rooms.refresh();
      await clock.advance(late);
      await Promise.all([first, two.parlor.rooms.refresh(), clock.advance(1_000)]);
      assert.deepEqual([one, two].map(({ parlor }) => parlor.session.snapshot.status), ["signedIn", "signedIn"]);
    }
  });
}

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

test("an account that is started again while it stops goes on", async () => {
  const network = new Network();
  const { parlor } = await network.device(network.parlor.addPerson("ada"));
  await caughtUp(network.clock, { parlor });
  const stopping = parlor.stop();
  await Promise.all([parlor.start(), network.clock.advance(5_000), stopping]);
  await network.clock.advance(5_000);
  assert.equal(parlor.connection.snapshot.state, "connected");
});

test("each refresh token has an attempt's id of its own, so a copy of the storage that is used later counts as reuse", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  server.tokenLife = 300_000;
  const { parlor, storage } = await network.device(server.addPerson("ada"));
  await caughtUp(clock, { parlor });
  const ids = new Set();
  for (let times = 0; times < 3; times += 1) {
    ids.add((await storage.read("session")).attemptId);
    await clock.advance(290_000);
    await Promise.all([parlor.rooms.refresh(), clock.advance(1_000)]);
  }
  assert.equal(ids.size, 3);
});

test("a page that opens with a session asks for the rooms once, and once more when it has caught up", async () => {
  const network = new Network();
  const one = await network.device(network.parlor.addPerson("ada"));
  await caughtUp(network.clock, one);
  await network.clock.advance(10_000);
  assert.equal(network.parlor.calls.filter((call) => call === "GET /rooms/my-rooms").length, 2);
});

test("a lost refresh answer signs nobody out if the server knows attempts, also after a reload", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  server.tokenLife = 300_000;
  const ada = server.addPerson("ada");
  const one = await network.device(ada);
  await caughtUp(clock, one);
  await clock.advance(290_000);
  one.wires.answersToLose = 1;
  await Promise.all([one.parlor.rooms.refresh(), clock.advance(100)]);
  one.parlor.stop();
  const again = await network.device(ada, { storage: one.storage });
  await caughtUp(clock, again);
  assert.equal(again.parlor.session.snapshot.status, "signedIn");
});

test("if the server does not know attempts, the session ends, and unsent messages wait for the next sign-in", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  Object.assign(server, { tokenLife: 300_000, knowsAttempts: false });
  const [ada, bob] = [server.addPerson("ada"), server.addPerson("bob")];
  const roomId = server.answer("POST", "/rooms", { otherUserId: bob.id }, server.openSession(ada).token).body.data.id;
  const one = await network.device(ada);
  await caughtUp(clock, one);
  await clock.advance(290_000);
  one.wires.cut();
  one.parlor.open(roomId).conversation.send("waits");
  await clock.advance(1_000);
  one.wires.isOffline = false;
  one.wires.answersToLose = 1;
  await clock.until("signed out", () => one.parlor.session.snapshot.status === "signedOut");
  assert.equal(one.parlor.session.snapshot.failure.code, "invalid_token");
  assert.equal(one.parlor.rooms, null);
  await one.parlor.session.adopt(server.openSession(ada));
  await clock.until("it is sent", () => server.rooms.get(roomId).messages.length === 1);
});

test("signing out in one tab signs out all, and leaves nothing", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  const ada = server.addPerson("ada");
  const tabs = browser();
  const [one, two] = [await network.device(ada, tabs), await network.device(ada, tabs)];
  await caughtUp(clock, one, two);
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
  const { network, clock, ada, bob, keysOf } = await interruptedSignOut(storage);
  await storage.write([[`${bob.id}/cache/rooms`, []]]);
  const next = await network.device(bob, { storage });
  assert.deepEqual([await keysOf(ada), await keysOf(bob)], [[], ["cache"]]);
  assert.deepEqual(await storage.readAll("signed-out/"), []);
  await caughtUp(clock, next);
  assert.equal(next.parlor.session.snapshot.user.id, bob.id);
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

/** A storage that only removes while `isFull`. */
function fillable(isFull) {
  const storage = memoryStorage();
  const { write } = storage;
  storage.isFull = isFull;
  storage.write = async (changes) => {
    if (storage.isFull && changes.some(([, value]) => value !== undefined)) throw new Error("full");
    return write(changes);
  };
  return storage;
}

for (const isFullFirst of [false, true]) {
  test(`a storage that is full ${isFullFirst ? "from the start" : "later"} signs nobody out, also if answers are lost`, async () => {
    const network = new Network();
    const { parlor: server, clock } = network;
    server.tokenLife = 300_000;
    const ada = server.addPerson("ada");
    const storage = fillable(isFullFirst);
    const { parlor, wires } = await network.device(ada, { storage });
    if (isFullFirst) await parlor.session.adopt(server.openSession(ada));
    await caughtUp(clock, { parlor });
    storage.isFull = true;
    for (let minutes = 0; minutes < 20; minutes += 1) {
      if (minutes % 5 === 4) wires.answersToLose = 2;
      await clock.advance(60_000);
      await Promise.all([parlor.rooms.refresh(), clock.advance(1_000)]);
      assert.equal(parlor.session.snapshot.status, "signedIn", `after ${minutes} minutes`);
    }
    storage.isFull = false;
    await clock.advance(300_000);
    await Promise.all([parlor.rooms.refresh(), clock.advance(1_000)]);
    const again = await network.device(ada, { storage });
    await caughtUp(clock, again);
    assert.equal(again.parlor.session.snapshot.status, "signedIn");
  });
}

test("a session that the storage refuses is signed in with the failure not_kept, until it is stored", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  server.tokenLife = 300_000;
  const ada = server.addPerson("ada");
  const storage = fillable(true);
  const { parlor } = await network.device(ada, { storage });
  const seen = [];
  parlor.session.subscribe(({ status, failure }) => seen.push([status, failure?.kind ?? null]));
  await parlor.session.adopt(server.openSession(ada));
  for (const isFull of [true, true, false]) {
    storage.isFull = isFull;
    await clock.advance(290_000);
    await Promise.all([parlor.rooms.refresh(), clock.advance(1_000)]);
  }
  assert.deepEqual(seen, [["signedIn", "not_kept"], ["signedIn", null]]);
});
