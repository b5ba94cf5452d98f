import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { ClientFailure, failureSentence } from "../../Clients/Web/parlor/parlor.js";
import { hasNoServer, RealServer } from "./support/server.mjs";

const library = new URL("../../Clients/Web/parlor/", import.meta.url);

async function example() {
  const readme = await readFile(new URL("README.md", library), "utf8");
  return /```js\n(.*?)```/s.exec(readme)[1];
}

test("the README's example has at most 20 lines of code", async () => {
  const lines = (await example()).split("\n").filter((line) => line.trim());
  assert.ok(lines.length <= 20, `${lines.length} lines`);
});

test("the README's example runs", { skip: hasNoServer }, async () => {
  const server = await RealServer.start();
  const folder = await mkdtemp(join(tmpdir(), "parlor-example-"));
  try {
    await fetch(`${server.address}/api/auth/register`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ username: "somebody", password: "correct horse" }),
    });
    const program = join(folder, "example.mjs");
    await writeFile(program, (await example()).replace("./parlor.js", new URL("parlor.js", library).href));
    const { stdout } = await promisify(execFile)(process.execPath, [program, server.address, "ada", "Hello!"], { timeout: 20_000 });
    assert.equal(stdout, "Hello: Hello!\n");
  } finally {
    await server.end();
    await rm(folder, { recursive: true, force: true });
  }
});

test("the README's form signs in or creates an account, and leads to the field that was refused", async () => {
  const readme = await readFile(new URL("README.md", library), "utf8");
  const code = /```js\n(form\..*?)```/s.exec(readme)[1];
  const calls = [];
  const session = {
    login: async (...fields) => calls.push(fields),
    register: async (fields) => {
      calls.push(fields);
      throw ClientFailure.refused("invalid_field", "`password` has to have 8 to 128 bytes.");
    },
  };
  for (const isNew of [false, true]) {
    const [problem, form] = [{ textContent: "" }, new EventTarget()];
    form.elements = { password: { focus: () => calls.push("focus") } };
    const FormData = class extends Map { constructor() { super([["username", "ada"], ["password", "short"]]); } };
    const values = { FormData, form, parlor: { session }, isNew, problem, failureSentence };
    new Function(...Object.keys(values), code)(...Object.values(values));
    form.dispatchEvent(new Event("submit", { cancelable: true }));
    await new Promise(setImmediate);
    assert.equal(problem.textContent, isNew ? "This is not accepted. Please change it." : "");
  }
  assert.deepEqual(calls, [["ada", "short"], { username: "ada", password: "short" }, "focus"]);
});

test("compressed, the modules are as small as the README says", async () => {
  const names = (await readdir(library)).filter((name) => name.endsWith(".js")).sort();
  const sources = await Promise.all(names.map((name) => readFile(new URL(name, library), "utf8")));
  const source = sources.join("");
  // As the gateway does, which needs comments to be on lines of their own.
  const code = source.replace(/^ *(\/\*\*|\*|\/\/).*\n/gm, "");
  const readme = await readFile(new URL("README.md", library), "utf8");
  const [, limit, whole] = /at most (\d+) kB without .* and (\d+) kB with/s.exec(readme);
  for (const [text, kilobytes] of [[code, limit], [source, whole]]) {
    const { length } = gzipSync(text, { level: 9 });
    assert.ok(length <= kilobytes * 1_000, `${length} bytes are more than ${kilobytes} kB`);
  }
});

test("every value that parlor.d.ts exports exists, and every method of its classes", async () => {
  const parlor = await import(new URL("parlor.js", library));
  const types = await readFile(fileURLToPath(new URL("parlor.d.ts", library)), "utf8");
  for (const [, name] of types.matchAll(/^export (?:function|const) (\w+)/gm)) assert.ok(name in parlor, name);
  const files = { Parlor: "parlor", Session: "session", Rooms: "rooms", Conversation: "conversation", Board: "board", ClientFailure: "failure" };
  for (const [, name, body] of types.matchAll(/^export class (\w+)[^{]*\{\n(.*?)^\}/gms)) {
    const { [name]: Class } = await import(new URL(`${files[name]}.js`, library));
    for (const [, method] of body.matchAll(/^ {2}(\w+)\(/gm)) assert.equal(typeof Class.prototype[method], "function", `${name}.${method}`);
  }
});
