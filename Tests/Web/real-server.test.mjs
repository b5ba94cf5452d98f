import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { browserPlatform, memoryStorage, Parlor } from "../../Clients/Web/parlor/parlor.js";
import { texts } from "./support/pair.mjs";
import { hasNoServer, RealServer, until } from "./support/server.mjs";

const transports = globalThis.WebSocket ? ["websocket", "polling"] : ["polling"];
let server;
const running = [];

/** A person of its own, connected. */
async function person(name, transport) {
  const storage = memoryStorage();
  const device = await tab(storage, transport);
  await device.session.register({ username: `${name}-${Math.random().toString(36).slice(2, 10)}`, password: "correct horse", firstName: name });
  await until(`${name} is connected`, () => device.connection.snapshot.isCaughtUp && device.rooms.snapshot.isLoaded);
  return { device, storage, id: device.session.snapshot.user.id };
}

async function tab(storage, transport, wires = {}) {
  const platform = browserPlatform({ BroadcastChannel: undefined, ...wires });
  const device = new Parlor({ server: server.address, storage, transport, platform });
  running.push(device);
  await device.start();
  return device;
}

const numbered = (word, count) => Array.from({ length: count }, (_, index) => `${word} ${index}`);

describe("a real server", { skip: hasNoServer }, () => {
  before(async () => { server = await RealServer.start(); });
  after(async () => {
    await Promise.all(running.map((device) => device.stop()));
    await server.end();
  });

  for (const transport of transports) {
    test(`${transport}: two people, several rooms, both ways, badges, typing, receipts, elements`, async () => {
      const [ada, bob] = [await person("Ada", transport), await person("Bob", transport)];
      assert.equal(ada.device.connection.snapshot.transport, transport);
      const { people } = await ada.device.rooms.findPeople("Bob");
      assert.ok(people.some(({ id }) => id === bob.id));
      const rooms = [await ada.device.rooms.create(bob.id), await bob.device.rooms.create(ada.id), await ada.device.rooms.create(bob.id, "Third")];
      await until("both have three rooms", () => [ada, bob].every(({ device }) => device.rooms.snapshot.rooms.length === 3));
      assert.deepEqual(bob.device.rooms.snapshot.people.map((other) => [other.firstName, other.rooms.length]), [["Ada", 3]]);
      assert.equal(bob.device.rooms.get(rooms[0].id).displayName, "Ada & Bob");

      const mine = ada.device.open(rooms[0].id);
      for (const text of numbered("ada", 10)) mine.conversation.send(text);
      mine.board.create({ type: "note", content: { text: "n" }, position: { x: 1, y: 1 } });
      await until("the badges move", () => {
        const { badges, lastMessage, elementCount } = bob.device.rooms.get(rooms[0].id);
        return badges.messages === 10 && badges.elements === 1 && elementCount === 1 && lastMessage?.text === "ada 9";
      });
      const theirs = bob.device.open(rooms[0].id);
      await until("it is loaded", () => theirs.conversation.snapshot.isVerified && theirs.conversation.snapshot.items.length === 10 && theirs.board.snapshot.elements.length === 1);
      assert.equal(theirs.conversation.snapshot.firstUnreadId, theirs.conversation.snapshot.items[0].id);
      theirs.conversation.noteVisible(theirs.conversation.snapshot.items.map(({ id }) => id));
      await until("all is read", () => mine.conversation.snapshot.items.every(({ state }) => state === "read"));
      await until("no badge is left", () => !bob.device.rooms.get(rooms[0].id).hasUnread);

      theirs.conversation.typed();
      await until("typing shows", () => mine.conversation.snapshot.typing[0] === bob.id);
      theirs.conversation.send("bob");
      await until("it arrives, and typing ends", () => texts(mine.conversation).at(-1) === "bob" && mine.conversation.snapshot.typing.length === 0);
      const [element] = theirs.board.snapshot.elements;
      theirs.board.move(element.id, { x: 7, y: 7 });
      await until("it moves", () => mine.board.snapshot.elements[0].position.x === 7);
      await ada.device.rooms.rename(rooms[0].id, "Named");
      await until("the name is there", () => bob.device.rooms.get(rooms[0].id).name === "Named");
      await mine.conversation.delete(mine.conversation.snapshot.items[0].id);
      await until("it is deleted", () => texts(theirs.conversation)[0] === "ada 1");
      await theirs.board.clear();
      await until("it is cleared", () => mine.board.snapshot.elements.length === 0 && ada.device.rooms.get(rooms[0].id).elementCount === 0);
      theirs.close();
      await until("presence ends", () => ada.device.rooms.get(rooms[0].id).present.length === 0);
    });

    test(`${transport}: a group whose people come and go, and who is removed loses it`, async () => {
      const [ada, bob, eve] = [await person("Ada", transport), await person("Bob", transport), await person("Eve", transport)];
      const { id } = await ada.device.rooms.createGroup([bob.id]);
      await until("bob has it", () => bob.device.rooms.get(id)?.kind === "group");
      assert.deepEqual(bob.device.rooms.snapshot.people, []);
      const [mine, theirs] = [ada.device.open(id), bob.device.open(id)];
      await until("both are there", () => [ada, bob].every(({ device }) => device.rooms.get(id).present?.length === 1));
      mine.conversation.send("before");
      await until("it is there", () => texts(theirs.conversation)[0] === "before");
      await ada.device.rooms.addPeople(id, [eve.id]);
      const people = ({ device }) => device.rooms.get(id)?.participants.map(({ firstName, role }) => `${firstName} ${role}`).join();
      await until("all know", () => [ada, bob, eve].every((one) => people(one) === "Ada owner,Bob member,Eve member"));
      assert.deepEqual(bob.device.rooms.get(id).present, [ada.id]);
      const hers = eve.device.open(id).conversation;
      await until("eve has the history", () => hers.snapshot.isVerified && texts(hers)[0] === "before");
      assert.equal(hers.snapshot.items[0].senderId, ada.id);
      await ada.device.rooms.setRole(id, bob.id, "owner");
      await until("all know his role", () => [ada, bob, eve].every((one) => people(one) === "Ada owner,Bob owner,Eve member"));
      await assert.rejects(eve.device.rooms.removePerson(id, bob.id), { code: "forbidden" });
      await bob.device.rooms.removePerson(id, ada.id);
      await until("ada has lost it", () => mine.conversation.snapshot.isGone && !ada.device.rooms.get(id));
      assert.equal(mine.conversation.snapshot.removedBy, bob.id);
      await bob.device.rooms.leaveGroup(id);
      assert.equal(theirs.conversation.snapshot.removedBy, bob.id);
      await until("eve is the owner", () => people(eve) === "Eve owner");
    });

    test(`${transport}: away and back, and a reload in the middle of sending: nothing is lost, nothing is doubled`, async () => {
      const [ada, bob] = [await person("Ada", transport), await person("Bob", transport)];
      const { id } = await ada.device.rooms.create(bob.id);
      let mine = ada.device.open(id);
      const theirs = bob.device.open(id);
      await bob.device.stop();
      for (const text of numbered("first", 20)) mine.conversation.send(text);
      // Not stopped in order: the page is gone, with what it has kept by then.
      await until("all are kept", async () => (await ada.storage.readAll(`${ada.id}/outbox/`)).length + mine.conversation.snapshot.items.filter(({ message }) => message).length >= 20);
      await ada.device.stop();
      const reloaded = await tab(ada.storage, transport);
      mine = reloaded.open(id);
      for (const text of numbered("second", 20)) mine.conversation.send(text);
      const created = mine.board.create({ type: "note", content: { n: 1 } });
      mine.board.edit(created, { n: 2 });
      await bob.device.start();
      const expected = [...numbered("first", 20), ...numbered("second", 20)];
      await until("all has arrived", () => theirs.conversation.snapshot.items.length >= 40 && mine.conversation.snapshot.items.every(({ message }) => message));
      assert.deepEqual(texts(theirs.conversation), expected);
      assert.deepEqual(texts(mine.conversation), expected);
      await until("the element is there", () => theirs.board.snapshot.elements[0]?.content.n === 2);
    });

    test(`${transport}: the server is killed in the middle of sending, and comes back: nothing is lost, nothing is doubled`, async () => {
      const [ada, bob] = [await person("Ada", transport), await person("Bob", transport)];
      const { id } = await ada.device.rooms.create(bob.id);
      const [mine, theirs] = [ada.device.open(id), bob.device.open(id)];
      for (const text of numbered("ada", 60)) mine.conversation.send(text);
      for (const text of numbered("bob", 60)) theirs.conversation.send(text);
      await until("some have arrived", () => mine.conversation.snapshot.items.filter(({ message }) => message).length >= 10);
      await server.kill();
      await until("both notice", () => [ada, bob].every(({ device }) => device.connection.snapshot.state === "offline"));
      const note = mine.board.create({ type: "note", content: { text: "offline" } });
      await server.run();
      for (const { device } of [ada, bob]) device.wake();
      const isWhole = ({ conversation }) => conversation.snapshot.items.length === 120 && conversation.snapshot.items.every(({ message }) => message);
      await until("all has arrived", () => isWhole(mine) && isWhole(theirs), 60_000);
      assert.deepEqual(texts(mine.conversation), texts(theirs.conversation));
      for (const [word, sent] of [["ada", numbered("ada", 60)], ["bob", numbered("bob", 60)]]) {
        assert.deepEqual(texts(mine.conversation).filter((text) => text.startsWith(word)), sent);
      }
      await until("the element is there", () => theirs.board.snapshot.elements.length === 1 && mine.board.snapshot.elements[0].state === "saved");
      assert.equal(mine.board.snapshot.elements[0].id, note);
      await until("counts agree", () => ada.device.rooms.get(id).badges.messages === 60 && bob.device.rooms.get(id).badges.messages === 60);
    });
  }

  test("long-polling is used if no WebSocket opens", async () => {
    class Blocked {
      constructor() {
        queueMicrotask(() => this.onerror?.());
      }
      send() {}
      close() {}
    }
    const ada = await person("Ada", "polling");
    await ada.device.stop();
    const blocked = await tab(ada.storage, "auto", { WebSocket: Blocked });
    await until("connected", () => blocked.connection.snapshot.isCaughtUp);
    assert.equal(blocked.connection.snapshot.transport, "polling");
  });

  test("a session survives a reload, and ends with signing out", async () => {
    const ada = await person("Ada", "polling");
    await ada.device.stop();
    const again = await tab(ada.storage, "polling");
    await until("connected", () => again.connection.snapshot.isCaughtUp);
    assert.equal(again.session.snapshot.user.id, ada.id);
    const headers = { Authorization: `Bearer ${await again.session.token()}` };
    await again.session.logout();
    await until("the server refuses its token", async () => (await fetch(`${server.address}/api/users/me`, { headers })).status === 401);
    assert.equal(again.rooms, null);
    assert.deepEqual(await ada.storage.readAll(""), []);
    await assert.rejects(again.session.login(ada.device.session.snapshot.user.username, "wrong horse"), { code: "invalid_credentials" });
  });
});
