import { browser } from "./browser.mjs";
import { Network } from "./network.mjs";

/** Two people with one room, both connected and caught up. */
export async function pair({ seed, rooms = 1 } = {}) {
  const network = new Network(seed);
  const { parlor, clock } = network;
  const [ada, bob] = [parlor.addPerson("ada"), parlor.addPerson("bob")];
  const ids = [];
  for (let count = 0; count < rooms; count += 1) {
    const token = parlor.openSession(ada).token;
    ids.push(parlor.answer("POST", "/rooms", { otherUserId: bob.id }, token).body.data.id);
  }
  const [a, b] = [await network.device(ada), await network.device(bob)];
  await caughtUp(clock, a, b);
  await clock.until("rooms are loaded", () => [a, b].every(({ parlor: { rooms } }) => rooms.snapshot.isLoaded));
  return { network, clock, server: parlor, a, b, ids, roomId: ids[0] };
}

/** The two people of a `pair`, with the boards of their room open. */
export async function boards() {
  const world = await pair();
  const [mine, theirs] = [world.a.parlor.open(world.roomId).board, world.b.parlor.open(world.roomId).board];
  await world.clock.advance(200);
  return { ...world, mine, theirs };
}

/** Two tabs of one person in one browser. */
export async function twoTabs({ tokenLife } = {}) {
  const network = new Network();
  const { parlor: server, clock } = network;
  if (tokenLife) server.tokenLife = tokenLife;
  const [ada, tabs] = [server.addPerson("ada"), browser()];
  const [one, two] = [await network.device(ada, tabs), await network.device(ada, tabs)];
  await caughtUp(clock, one, two);
  return { network, server, clock, ada, tabs, one, two };
}

export function caughtUp(clock, ...devices) {
  return clock.until("caught up", () => devices.every(({ parlor }) => parlor.connection.snapshot.isCaughtUp));
}

export const texts = (conversation) => conversation.snapshot.items.map(({ text }) => text);
export const states = (conversation) => conversation.snapshot.items.map(({ state }) => state);
