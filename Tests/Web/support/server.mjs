import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Why tests that need a server are skipped, or false. */
export const hasNoServer = process.env.PARLOR_BINARIES ? false : "PARLOR_BINARIES names no folder of executables";

/** A real parlor in a process and a folder of its own, that can be killed and started again on its port. */
export class RealServer {
  #process = null;

  static async start() {
    const server = new RealServer();
    server.folder = await mkdtemp(join(tmpdir(), "parlor-web-"));
    server.port = await freePort();
    server.address = `http://127.0.0.1:${server.port}`;
    await server.run();
    return server;
  }

  async run() {
    const program = join(process.env.PARLOR_BINARIES, "parlor");
    const flags = ["--rate-limits", "off", "--port", String(this.port), "--data", this.folder];
    this.#process = spawn(program, flags, { stdio: "ignore" });
    await until("the server answers", async () => (await fetch(`${this.address}/readyz`).catch(() => null))?.ok, 30_000);
  }

  /** Without a chance to say anything. */
  async kill() {
    const exit = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await exit;
  }

  async end() {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Polls until `test()` holds. */
export async function until(words, test, limit = 20_000) {
  const end = Date.now() + limit;
  while (!(await test())) {
    if (Date.now() > end) throw new Error(`never: ${words}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** One that nobody has; the server needs the same one twice. */
async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  await once(probe, "close");
  return port;
}
