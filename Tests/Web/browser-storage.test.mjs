import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { memoryStorage } from "../../Clients/Web/parlor/parlor.js";
import { persist } from "../../Clients/Web/parlor/platform.js";
import { Network } from "./support/network.mjs";
import { caughtUp } from "./support/pair.mjs";

const library = new URL("../../Clients/Web/parlor/", import.meta.url);

/** What every storage does; runs here and, as text, in a browser. */
async function conform(storage) {
  const seen = [];
  seen.push(await storage.read("absent"));
  await storage.write([["a/2", { n: 2 }], ["a/1", { n: 1 }], ["b", [1, null, "é"]], ["ab", true]]);
  seen.push(await storage.readAll("a/"), await storage.read("b"));
  const value = { list: [1] };
  await storage.write([["copy", value]]);
  value.list.push(2);
  seen.push(await storage.read("copy"));
  await storage.write([["a/1", undefined], ["a/3", 3]]);
  seen.push(await storage.readAll("a/"));
  await storage.write([["b", "lost"], ["bad", () => {}]]).catch(() => seen.push("refused"));
  seen.push(await storage.readAll(""));
  return seen.map((entry) => entry ?? null);
}

const EXPECTED = [
  null, [["a/1", { n: 1 }], ["a/2", { n: 2 }]], [1, null, "é"], { list: [1] }, [["a/2", { n: 2 }], ["a/3", 3]], "refused",
  [["a/2", { n: 2 }], ["a/3", 3], ["ab", true], ["b", [1, null, "é"]], ["copy", { list: [1] }]],
];

test("memory stores copies by key, and all of a write or nothing", async () => {
  assert.deepEqual(await conform(memoryStorage()), EXPECTED);
});

function browser() {
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    try {
      return execFileSync("/bin/sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
    } catch {
      // The next one.
    }
  }
  return null;
}

test("IndexedDB does the same in a browser", { skip: browser() ? false : "there is no Chromium" }, async () => {
  const page = `<script type="module">
    import { indexedDBStorage } from "/parlor.js";
    ${conform}
    const result = await conform(indexedDBStorage("test")).catch(String);
    fetch("/result", { method: "POST", body: JSON.stringify(result) });
  </script>`;
  let answer;
  const result = new Promise((resolve) => { answer = resolve; });
  const server = createServer(async (request, response) => {
    if (request.url === "/result") {
      answer(JSON.parse(Buffer.concat(await request.toArray()).toString()));
      return response.end();
    }
    response.setHeader("Content-Type", request.url === "/" ? "text/html; charset=utf-8" : "text/javascript");
    response.end(request.url === "/" ? page : await readFile(new URL(basename(request.url), library)).catch(() => ""));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const profile = await mkdtemp(join(tmpdir(), "parlor-chromium-"));
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0", `--user-data-dir=${profile}`];
  const chromium = spawn(browser(), [...flags, `http://127.0.0.1:${server.address().port}/`], { stdio: "ignore" });
  const exit = once(chromium, "exit");
  const timeout = setTimeout(() => answer("no answer within a minute"), 60_000);
  try {
    assert.deepEqual(await result, EXPECTED);
  } finally {
    clearTimeout(timeout);
    chromium.kill();
    await exit;
    server.close();
    server.closeAllConnections();
    await rm(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
});

/** A browser's navigator, and how often it was asked to keep data. */
function navigatorOf({ state, isChromium = false, isPersisted = false }) {
  const asked = { count: 0 };
  const permissions = { query: async () => {
    if (state === undefined) throw new TypeError("persistent-storage is no permission");
    return { state };
  } };
  const persist = async () => { asked.count += 1; };
  const storage = { persisted: async () => isPersisted, persist };
  return { asked, storage, permissions, userAgentData: isChromium ? {} : undefined };
}

test("a browser that may prompt for lasting storage is asked only after a sign-in", async () => {
  const asked = async (browser, mayPrompt) => {
    const navigator = navigatorOf(browser);
    await persist(navigator, mayPrompt);
    return navigator.asked.count;
  };
  const firefox = (state) => ({ state });
  const chromium = { state: "prompt", isChromium: true };
  const safari = {};
  const counts = [[firefox("prompt"), 0], [firefox("granted"), 1], [firefox("denied"), 1], [chromium, 1], [safari, 1]];
  for (const [browser, count] of counts) {
    assert.equal(await asked(browser, false), count);
    assert.equal(await asked(browser, true), 1);
  }
  assert.equal(await asked({ isPersisted: true }, true), 0);
  await persist(undefined, true);
  await persist({}, true);
});

test("lasting storage is asked for once somebody is signed in, and its refusal changes nothing", async () => {
  const network = new Network();
  const { parlor: server, clock } = network;
  const [ada, calls] = [server.addPerson("ada"), []];
  const persist = async (mayPrompt) => {
    calls.push(mayPrompt);
    throw new TypeError("refused");
  };
  const { parlor } = await network.device(ada, { persist });
  assert.deepEqual(calls, [false]);
  await Promise.all([parlor.session.logout(), clock.advance(1_000)]);
  await Promise.all([parlor.stop(), clock.advance(1_000)]);
  await parlor.start();
  assert.deepEqual(calls, [false]);
  await parlor.session.adopt(server.openSession(ada));
  await caughtUp(clock, { parlor });
  assert.deepEqual(calls, [false, true]);
});
