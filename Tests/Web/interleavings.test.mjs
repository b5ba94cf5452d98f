import assert from "node:assert/strict";
import { test } from "node:test";
import { CHAOS } from "./support/network.mjs";
import { caughtUp, pair } from "./support/pair.mjs";

const SEEDS = Number(process.env.WEB_SEEDS ?? 40);
const STEPS = 60;

/** Two people do what people do, on wires that lose, delay, reorder, double and drop; then the wires are good again. */
for (let seed = 1; seed <= SEEDS; seed += 1) {
  test(`seed ${seed}: nothing is lost, nothing is doubled, and both see what the server has`, async () => {
    const { network, clock, server, a, b, ids } = await pair({ seed, rooms: 2 });
    const devices = [a, b];
    const open = devices.map(({ parlor }) => ids.map((id) => parlor.open(id)));
    await clock.advance(500);
    const sent = new Map(ids.map((id) => [id, []]));
    for (const { wires } of devices) wires.chaos = CHAOS;
    for (let step = 0; step < STEPS; step += 1) {
      await act(network, devices, open, ids, sent, step);
      await clock.advance(Math.floor(network.random() * 400));
    }
    for (const { wires } of devices) Object.assign(wires, { chaos: null, isOffline: false });
    for (const { parlor } of devices) parlor.wake();
    await clock.until("all is sent", () => devices.every(({ parlor }) => parlor.unsent.snapshot.waiting === 0));
    for (const { wires } of devices) if (seed % 2 === 0) wires.dropAll();
    await caughtUp(clock, ...devices);
    await clock.advance(60_000);

    for (const [place, roomId] of ids.entries()) {
      const room = server.rooms.get(roomId);
      const stored = room.messages.map(({ text }) => text);
      assert.equal(new Set(stored).size, stored.length, "none is stored twice");
      assert.deepEqual([...stored].sort(), sent.get(roomId).filter((text) => !room.deletedTexts.includes(text)).sort(), "none is lost");
      for (const [index, { parlor }] of devices.entries()) {
        const { conversation, board } = open[index][place];
        assert.deepEqual(conversation.snapshot.items.map(({ text }) => text), stored);
        assert.deepEqual(conversation.snapshot.items.map(({ message }) => message.readStatus), room.messages.map(({ readStatus }) => readStatus));
        assert.deepEqual(board.snapshot.elements.map(({ element }) => element), [...room.elements.values()]);
        assert.ok(board.snapshot.elements.every(({ state }) => state === "saved"));
        const shown = parlor.rooms.get(roomId);
        const truth = room.seenBy(devices[index].user.id, server);
        for (const field of ["name", "elementCount", "badges", "lastMessage"]) assert.deepEqual(shown[field], truth[field], field);
        assert.deepEqual(shown.present, [devices[1 - index].user.id]);
      }
    }
  });
}

async function act(network, devices, open, ids, sent, step) {
  const pick = (values) => values[Math.floor(network.random() * values.length)];
  const index = Math.floor(network.random() * 2);
  const place = Math.floor(network.random() * 2);
  const { conversation, board } = open[index][place];
  const { parlor, wires } = devices[index];
  const roll = network.random();
  const element = pick(board.snapshot.elements);
  if (roll < 0.4) {
    const text = `step ${step}`;
    sent.get(ids[place]).push(text);
    conversation.send(text);
  } else if (roll < 0.5) {
    const own = pick(conversation.snapshot.items.filter(({ isOwn, message }) => isOwn && message));
    // What an offline call has said is not known: the server decides.
    if (own) conversation.delete(own.id).catch(() => {});
  } else if (roll < 0.6) conversation.noteVisible(conversation.snapshot.items.map(({ id }) => id));
  else if (roll < 0.7) board.create({ type: "note", content: { step }, position: { x: 0, y: 0 } });
  else if (roll < 0.77 && element) board.move(element.id, { x: step, y: 0 });
  else if (roll < 0.84 && element) board.edit(element.id, { edited: step });
  else if (roll < 0.87 && element) board.delete(element.id);
  else if (roll < 0.89) board.clear().catch(() => {});
  else if (roll < 0.92) parlor.rooms.rename(ids[place], `name ${step}`).catch(() => {});
  else if (roll < 0.94) wires.dropAll();
  else if (roll < 0.96) wires.cut();
  else if (roll < 0.97) parlor.rest();
  else if (roll < 0.98) parlor.wake();
  else Object.assign(wires, { isOffline: false });
}
