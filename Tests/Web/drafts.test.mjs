import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStorage } from "../../Clients/Web/parlor/parlor.js";
import { Network } from "./support/network.mjs";
import { twoTabs } from "./support/pair.mjs";

const stored = async (storage, { id }) => (await storage.readAll(`${id}/cache/drafts/`)).map(([, text]) => text);

test("a draft outlives the page, is removed when it was sent, and belongs to its writer alone", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  const [ada, bob] = [server.addPerson("ada"), server.addPerson("bob")];
  const one = await network.device(ada);
  one.parlor.drafts.keep("room", "half a sen");
  one.parlor.drafts.keep("room", "half a sentence");
  assert.deepEqual(one.parlor.drafts.snapshot, { room: "half a sentence" });
  await clock.advance(1_000);
  const again = await network.device(ada, { storage: one.storage });
  await clock.until("it is read", () => again.parlor.drafts.snapshot.room === "half a sentence");
  await again.parlor.session.adopt(server.openSession(bob));
  await clock.advance(1_000);
  assert.deepEqual(again.parlor.drafts.snapshot, {});
  await again.parlor.session.adopt(server.openSession(ada));
  await clock.until("it is read", () => again.parlor.drafts.snapshot.room === "half a sentence");
  again.parlor.drafts.keep("room", "");
  await again.parlor.flush();
  assert.deepEqual([again.parlor.drafts.snapshot, await stored(one.storage, ada)], [{}, []]);
});

test("what is written while stored drafts are read stays", async () => {
  const network = new Network();
  const ada = network.parlor.addPerson("ada");
  const storage = memoryStorage();
  await storage.write([[`${ada.id}/cache/drafts/one`, "old"], [`${ada.id}/cache/drafts/two`, "kept"], [`${ada.id}/cache/drafts/sent`, "old"]]);
  const { readAll } = storage;
  storage.readAll = async (prefix) => {
    await new Promise((resolve) => network.clock.setTimeout(resolve, 50));
    return readAll(prefix);
  };
  const [{ parlor }] = await Promise.all([network.device(ada, { storage }), network.clock.advance(60)]);
  parlor.drafts.keep("one", "new");
  parlor.drafts.keep("sent", "new");
  parlor.drafts.keep("sent", "");
  await network.clock.advance(100);
  assert.deepEqual(parlor.drafts.snapshot, { one: "new", two: "kept" });
});

test("tabs show the same drafts, and signing out in one leaves none, also if another has just been typed in", async () => {
  const { clock, tabs, one, two } = await twoTabs();
  one.parlor.drafts.keep("room", "from one");
  await clock.advance(1_000);
  assert.deepEqual(two.parlor.drafts.snapshot, { room: "from one" });
  two.parlor.drafts.keep("other", "from two");
  await Promise.all([one.parlor.session.logout(), clock.advance(2_000)]);
  assert.deepEqual(await tabs.storage.readAll(""), []);
});

test("a draft that was sent in one tab is gone in the other, unless the person has gone on writing there", async () => {
  const { clock, one, two } = await twoTabs();
  one.parlor.drafts.keep("room", "hello");
  one.parlor.drafts.keep("other", "hello");
  await clock.advance(1_000);
  assert.deepEqual(two.parlor.drafts.snapshot, { room: "hello", other: "hello" });
  two.parlor.drafts.keep("room", "hello you");
  await clock.advance(1_000);
  assert.equal(one.parlor.drafts.snapshot.room, "hello you");
  two.parlor.drafts.keep("room", "");
  two.parlor.drafts.keep("other", "");
  one.parlor.drafts.keep("other", "hello, and more");
  await clock.advance(1_000);
  assert.deepEqual(one.parlor.drafts.snapshot, { other: "hello, and more" });
});
