import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStorage } from "../../Clients/Web/parlor/parlor.js";
import { browser, fillable } from "./support/browser.mjs";
import { Network } from "./support/network.mjs";
import { caughtUp, twoTabs } from "./support/pair.mjs";

test("two tabs refresh once, and both stay signed in", async () => {
  const { server, clock, one, two } = await twoTabs({ tokenLife: 300_000 });
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

test("an account that is started again while it stops goes on", async () => {
  const network = new Network();
  const { parlor } = await network.device(network.parlor.addPerson("ada"));
  await caughtUp(network.clock, { parlor });
  const stopping = parlor.stop();
  await Promise.all([parlor.start(), network.clock.advance(5_000), stopping]);
  await network.clock.advance(5_000);
  assert.equal(parlor.connection.snapshot.state, "connected");
});

test("sign-ins are listed and ended, and a new password leaves this one alone, which goes on in all tabs", async () => {
  const { server, clock, ada, one, two } = await twoTabs({ tokenLife: 300_000 });
  const { session } = one.parlor;
  const during = async (call) => (await Promise.all([call, clock.advance(1_000)]))[0];
  const elsewhere = [1, 2, 3].map(() => server.openSession(ada).refreshToken);
  const ids = async () => (await during(session.signIns())).filter(({ current }) => !current).map(({ id }) => id).filter((id) => elsewhere.includes(id));
  await during(session.endSignIn(elsewhere[1]));
  assert.deepEqual(await ids(), [elsewhere[0], elsewhere[2]]);
  await assert.rejects(during(session.changePassword("wrong", "another one")), { code: "invalid_credentials" });
  await during(session.changePassword("correct horse", "another one"));
  assert.deepEqual(await ids(), []);
  server.openSession(ada);
  await during(session.endOtherSignIns());
  assert.deepEqual((await during(session.signIns())).map(({ current }) => current), [true]);
  await clock.advance(290_000);
  await during(Promise.all([one, two].map(({ parlor }) => parlor.rooms.refresh())));
  assert.deepEqual([one, two].map(({ parlor }) => parlor.session.snapshot.status), ["signedIn", "signedIn"]);
});

test("a password that is changed while another tab renews the session signs nobody out", async () => {
  const { clock, one, two } = await twoTabs();
  const changing = one.parlor.session.changePassword("correct horse", "another one");
  const renewing = two.parlor.session.tokenReplacing(await two.parlor.session.token());
  await Promise.all([changing, renewing, clock.advance(1_000)]);
  assert.deepEqual([one, two].map(({ parlor }) => parlor.session.snapshot.status), ["signedIn", "signedIn"]);
});

test("if the session ends by itself, all tabs have the failure, and after a sign-out none has one", async () => {
  const { server, clock, ada, one, two } = await twoTabs();
  const failures = () => [one, two].map(({ parlor }) => parlor.session.snapshot.failure?.code ?? null);
  // Only the first tab finds out from the server.
  two.wires.cut();
  server.tokens.clear();
  server.sessions.clear();
  await Promise.all([one.parlor.rooms.refresh(), clock.advance(100)]);
  assert.deepEqual([one, two].map(({ parlor }) => parlor.session.snapshot.status), ["signedOut", "signedOut"]);
  assert.deepEqual(failures(), ["invalid_token", "signed_out"]);
  two.wires.isOffline = false;
  await one.parlor.session.adopt(server.openSession(ada));
  await caughtUp(clock, one, two);
  await Promise.all([one.parlor.session.logout(), clock.advance(100)]);
  assert.deepEqual([one, two].map(({ parlor }) => parlor.session.snapshot.status), ["signedOut", "signedOut"]);
  assert.deepEqual(failures(), [null, null]);
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

for (const refusal of [[403, "forbidden"], [401, "unauthenticated"], [422, "invalid_field"], [400, "malformed_request"]]) {
  test(`a refresh that is refused with ${refusal[1]} for a while ends no session`, async () => {
    const network = new Network();
    const { parlor: server, clock } = network;
    server.tokenLife = 300_000;
    const one = await network.device(server.addPerson("ada"));
    await caughtUp(clock, one);
    server.refreshRefusal = refusal;
    await clock.advance(400_000);
    await Promise.all([one.parlor.rooms.refresh(), clock.advance(100)]);
    assert.equal(one.parlor.session.snapshot.status, "signedIn");
    assert.equal(one.parlor.rooms.snapshot.failure.code, refusal[1]);
    server.refreshRefusal = null;
    await Promise.all([one.parlor.rooms.refresh(), clock.advance(100)]);
    assert.equal(one.parlor.rooms.snapshot.failure, null);
  });
}

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
