import { browserPlatform, memoryStorage, Parlor } from "../../../Clients/Web/parlor/parlor.js";
import { Clock } from "./clock.mjs";
import { seeded } from "./random.mjs";
import { ScriptedParlor } from "./scripted-parlor.mjs";

/**
 * Events that never come late, because nothing in them says which of two is newer. The gateway sends those of presence
 * and typing in order on each socket (`LaggingClients`), and those of people in the order of the log.
 */
const PROMPT = new Set([
  "sync:done", "room:presence", "message:typing", "room:cleared", "room:cleared:global", "room:created", "room:removed",
  "participant:joined", "participant:left", "participant:updated",
]);

/** Probabilities of what happens to one packet or request. */
export const CHAOS = { lostRequest: 0.05, lostAnswer: 0.05, late: 0.1, doubled: 0.1, drop: 0.02, latency: 60 };

/** A scripted server, time, and the devices on wires that lose, delay, reorder and double. */
export class Network {
  clock = new Clock();
  parlor = new ScriptedParlor(this.clock.now);
  devices = [];

  constructor(seed = 1) {
    this.random = seeded(seed);
  }

  /** A tab of a person who is signed in, unless the storage has another session or keeps none. */
  async device(user, options = {}) {
    const { storage = memoryStorage(), locks, BroadcastChannel, transport, persist, isOffline = false } = options;
    const wires = new Wires(this);
    wires.isOffline = isOffline;
    let count = 0;
    const name = `${user.username}-${this.devices.length}`;
    const platform = browserPlatform({
      ...this.clock, now: this.clock.now, isOffline: () => wires.isOffline, random: this.random,
      makeId: () => `${name}-${++count}`, fetch: (...rest) => wires.fetch(...rest), WebSocket: wires.WebSocket, locks,
      BroadcastChannel, persist,
    });
    const isKept = await storage.read("session").catch(() => undefined);
    const session = { ...this.parlor.openSession(user), attemptId: name };
    if (!isKept) await storage.write([["session", session]]).catch(() => {});
    const parlor = new Parlor({ server: "http://scripted", storage, platform, transport });
    const device = { parlor, wires, storage, user };
    this.devices.push(device);
    await parlor.start();
    return device;
  }
}

/** One device's way to the server. */
export class Wires {
  isOffline = false;
  chaos = null;
  answersToLose = 0;
  sockets = new Set();
  #network;

  constructor(network) {
    this.#network = network;
    const wires = this;
    this.WebSocket = class {
      constructor() {
        wires.#openSocket(this);
      }
      send(text) {
        wires.#fromDevice(this, text);
      }
      close() {
        wires.dropSocket(this);
      }
    };
  }

  fetch = async (url, { method, body, headers }) => {
    const { parlor } = this.#network;
    await this.#wait();
    if (this.isOffline || this.#happens("lostRequest") || !url.includes("/api")) throw new TypeError("fetch failed");
    const token = headers.Authorization?.slice("Bearer ".length);
    const answer = parlor.answer(method, url.slice(url.indexOf("/api") + 4), body && JSON.parse(body), token);
    const text = JSON.stringify(answer.body);
    await this.#wait();
    if (this.isOffline || this.#losesAnswer()) throw new TypeError("fetch failed");
    return { status: answer.status, ok: answer.status < 300, headers: new Headers(), text: async () => text };
  };

  /** The network is cut, in the middle of what is on its way. */
  cut() {
    this.isOffline = true;
    this.dropAll();
  }

  dropAll() {
    for (const socket of [...this.sockets]) this.dropSocket(socket);
  }

  dropSocket(socket) {
    if (!this.sockets.delete(socket)) return;
    this.#network.parlor.close(socket);
    this.#network.clock.setTimeout(() => socket.onclose?.(), 0);
  }

  #openSocket(socket) {
    const { clock, parlor } = this.#network;
    let arrival = 0;
    this.sockets.add(socket);
    // In order, but for what chaos keeps back, which comes before the end of a replay.
    socket.deliver = (text, event) => {
      if (this.#happens("drop") || (text.startsWith("43") && this.#losesAnswer())) return this.dropSocket(socket);
      const isEvent = event !== undefined && event !== "sync:done";
      const isLate = isEvent && !PROMPT.has(event) && this.#happens("late");
      arrival = Math.max(arrival, clock.now() + this.#latency());
      const at = isLate ? arrival + this.#latency() * 3 : arrival;
      if (event === "sync:done") arrival += 300;
      for (let copies = isEvent && this.#happens("doubled") ? 2 : 1; copies > 0; copies -= 1) {
        clock.setTimeout(() => this.sockets.has(socket) && socket.onmessage?.({ data: text }), (event === "sync:done" ? arrival : at) - clock.now());
      }
    };
    clock.setTimeout(() => {
      if (this.isOffline) {
        this.sockets.delete(socket);
        return socket.onerror?.();
      }
      socket.onopen?.();
      parlor.open(socket);
      this.#ping(socket);
    }, this.#latency());
  }

  #ping(socket) {
    this.#network.clock.setTimeout(() => {
      if (!this.sockets.has(socket)) return;
      socket.deliver("2");
      this.#ping(socket);
    }, 25_000);
  }

  #fromDevice(socket, text) {
    if (this.#happens("lostRequest")) return this.dropSocket(socket);
    this.#network.clock.setTimeout(() => this.sockets.has(socket) && this.#network.parlor.receive(socket, text), 1);
  }

  #losesAnswer() {
    if (this.answersToLose === 0) return this.#happens("lostAnswer");
    this.answersToLose -= 1;
    return true;
  }

  #wait() {
    return new Promise((resolve) => this.#network.clock.setTimeout(resolve, this.#latency()));
  }

  #latency() {
    return this.chaos ? Math.floor(this.#network.random() * this.chaos.latency) : 1;
  }

  #happens(what) {
    return this.chaos !== null && this.#network.random() < this.chaos[what];
  }
}
