import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { attach } from "../../Clients/Web/parlor/parlor.js";
import { Clock } from "./support/clock.mjs";
import { pair } from "./support/pair.mjs";
import { render } from "./support/react.mjs";

/** The hooks of the README, on a React of the tests' own. */
async function hooks(t) {
  const readme = await readFile(new URL("../../Clients/Web/README.md", import.meta.url), "utf8");
  const code = /```js\n(import \{[^}]*\} from "react";.*?)```/s.exec(readme)[1];
  assert.ok(code.trim().split("\n").length <= 20, "at most 20 lines");
  const folder = await mkdtemp(join(tmpdir(), "parlor-hooks-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "hooks.mjs");
  await writeFile(file, code.replace('"react"', JSON.stringify(new URL("support/react.mjs", import.meta.url).href)));
  return import(pathToFileURL(file).href);
}

test("the README's hooks show a room's messages, follow another room, and close it in the end", async (t) => {
  const { useRoom, useSnapshot } = await hooks(t);
  const { clock, server, a, b, ids } = await pair({ rooms: 2 });
  const view = render(({ id }) => {
    const room = useRoom(a.parlor, id);
    const { status } = useSnapshot(a.parlor.session);
    return { status, texts: useSnapshot(room?.conversation)?.items.map(({ text }) => text) };
  }, { id: ids[0] });
  assert.deepEqual(view.value, { status: "signedIn", texts: undefined });
  await clock.advance(500);
  for (const [place, id] of ids.entries()) b.parlor.open(id).conversation.send(`hello ${place}`);
  await clock.until("the message is shown", () => view.value.texts?.[0] === "hello 0");
  view.setProps({ id: ids[1] });
  assert.equal(view.value.texts, undefined, "not the other room's");
  await clock.until("the other room's is shown", () => view.value.texts?.[0] === "hello 1");
  assert.deepEqual(ids.map((id) => server.isPresent(id, a.user.id)), [false, true]);
  view.end();
  await clock.advance(500);
  const { renders } = view;
  b.parlor.open(ids[1]).conversation.send("after the end");
  await clock.advance(2_000);
  assert.deepEqual([server.isPresent(ids[1], a.user.id), view.renders], [false, renders]);
});

test("methods work without their object", async () => {
  const { clock, a, roomId, server } = await pair();
  const { open, unsentText, wake } = a.parlor;
  const { conversation, board, close } = open(roomId);
  const { send, subscribe } = conversation;
  const { create } = board;
  let changes = 0;
  const end = subscribe(() => { changes += 1; });
  await clock.advance(500);
  send("hello");
  create({ type: "note" });
  assert.equal(unsentText(roomId), "hello");
  wake();
  await clock.advance(2_000);
  assert.deepEqual([server.rooms.get(roomId).messages.length, server.rooms.get(roomId).elements.size], [1, 1]);
  assert.ok(changes > 0);
  end();
  close();
  for (const observable of [a.parlor.session, a.parlor.rooms, a.parlor.drafts, a.parlor.connection, a.parlor.unsent]) {
    const { subscribe } = observable;
    subscribe(() => {})();
  }
});

/** A window that a test shows and hides, and the calls that a `Parlor` gets from it. */
function page({ hidden = false } = {}) {
  const clock = new Clock();
  const document = Object.assign(new EventTarget(), { hidden });
  const { setTimeout, clearTimeout } = clock;
  const window = Object.assign(new EventTarget(), { document, setTimeout, clearTimeout });
  const calls = [];
  const note = (name) => async () => calls.push(name);
  const parlor = { wake: note("wake"), rest: note("rest"), flush: note("flush") };
  const end = attach(parlor, window);
  return {
    clock, end,
    take: () => calls.splice(0),
    fire: (name, fields) => window.dispatchEvent(Object.assign(new Event(name), fields)),
    setHidden(isHidden) {
      document.hidden = isHidden;
      document.dispatchEvent(new Event("visibilitychange"));
    },
  };
}

test("a page that is attached wakes, rests and flushes as it is shown, hidden and left", async () => {
  const { clock, end, take, fire, setHidden } = page();
  assert.deepEqual(take(), []);
  for (const name of ["online", "offline"]) fire(name);
  fire("pageshow", { persisted: false });
  assert.deepEqual(take(), ["wake", "wake"]);
  fire("pageshow", { persisted: true });
  fire("pagehide");
  assert.deepEqual(take(), ["wake", "flush"]);
  setHidden(true);
  await clock.advance(14_000);
  fire("online");
  assert.deepEqual(take(), ["flush"]);
  setHidden(false);
  await clock.advance(60_000);
  assert.deepEqual(take(), ["wake"]);
  setHidden(true);
  await clock.advance(15_000);
  assert.deepEqual(take(), ["flush", "rest"]);
  setHidden(false);
  setHidden(true);
  take();
  end();
  setHidden(false);
  for (const name of ["online", "offline", "pagehide"]) fire(name);
  await clock.advance(60_000);
  assert.deepEqual(take(), []);
});

test("a page that begins hidden rests at once", () => {
  assert.deepEqual(page({ hidden: true }).take(), ["rest"]);
});
