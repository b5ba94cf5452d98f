import { removeAll } from "./storage.js";
import { Pause } from "./timing.js";

/** The delay before a write, in milliseconds. Changes that follow in this time are part of the same write. */
const PAUSE = 500;

/**
 * The last known rooms, messages and elements of one person, the drafts, and the unsent receipts, for the next start.
 * An entry that cannot be read counts as missing.
 */
export class Cache {
  #storage;
  #prefix;
  #isEnded = false;

  constructor(storage, userId) {
    this.#storage = storage;
    this.#prefix = `${userId}/cache/`;
  }

  rooms() {
    return this.#read("rooms");
  }

  keepRooms(rooms) {
    return this.#write([["rooms", rooms]]);
  }

  messages(roomId) {
    return this.#read(`${roomId}/messages`);
  }

  keepMessages(roomId, messages) {
    return this.#write([[`${roomId}/messages`, messages]]);
  }

  elements(roomId) {
    return this.#read(`${roomId}/elements`);
  }

  keepElements(roomId, elements) {
    return this.#write([[`${roomId}/elements`, elements]]);
  }

  /** Returns the drafts as `[key, text]`. */
  drafts() {
    return this.#readAll("drafts/");
  }

  keepDrafts(drafts) {
    return this.#write(drafts.map(([key, text]) => [`drafts/${key}`, text || undefined]));
  }

  /** Returns the ids of messages whose receipts were not sent, as `[key, ids]`. A key is `ROOMID/TAB`. */
  receipts() {
    return this.#readAll("receipts/");
  }

  /** Keeps ids by key; undefined removes them. */
  keepReceipts(receipts) {
    return this.#write(receipts.map(([key, ids]) => [`receipts/${key}`, ids]));
  }

  /** Removes a room that the person no longer belongs to. */
  async remove(roomId) {
    await this.#write([`${roomId}/messages`, `${roomId}/elements`, `drafts/${roomId}`].map((name) => [name, undefined]));
    for (const kind of this.#isEnded ? [] : ["drafts", "receipts"]) {
      await removeAll(this.#storage, `${this.#prefix}${kind}/${roomId}/`).catch(() => {});
    }
  }

  /** Ends caching. What is cached stays as it is. */
  end() {
    this.#isEnded = true;
  }

  /** Removes everything, for a sign-out. Later writes do nothing. */
  async removeAll() {
    this.end();
    await removeAll(this.#storage, this.#prefix);
  }

  async #read(name) {
    try {
      return (await this.#storage.read(this.#prefix + name)) ?? [];
    } catch {
      return [];
    }
  }

  async #readAll(kind) {
    const kept = await this.#storage.readAll(this.#prefix + kind).catch(() => []);
    return kept.map(([key, value]) => [key.slice(this.#prefix.length + kind.length), value]);
  }

  async #write(changes) {
    if (this.#isEnded) return;
    await this.#storage.write(changes.map(([name, value]) => [this.#prefix + name, value])).catch(() => {});
  }
}

/** Writes a store to the cache, soon after a change or at once. Before the cache was read, it writes nothing. */
export class CacheWriter {
  #platform;
  #version;
  #keep;
  #pause = null;
  #writtenVersion = -1;
  #isBegun = false;
  #isEnded = false;

  /** @param version returns a value that differs after each change. @param keep writes the content of the store. */
  constructor(platform, version, keep) {
    this.#platform = platform;
    this.#version = version;
    this.#keep = keep;
  }

  /** Allows writing, because the cache has been read. @param version the store's version that the cache already has. */
  begin(version = this.#writtenVersion) {
    this.#isBegun = true;
    this.#writtenVersion = version;
  }

  /** Stops writing for good. */
  end() {
    this.#isEnded = true;
    this.#pause?.cancel();
  }

  writeSoon() {
    if (this.#pause || this.#isEnded || this.#writtenVersion === this.#version()) return;
    this.#pause = new Pause(this.#platform, PAUSE);
    this.#pause.done.then((isOver) => isOver && this.write());
  }

  /** @returns a promise that resolves when the store's current content is cached. */
  async write() {
    this.#pause?.cancel();
    this.#pause = null;
    if (!this.#isBegun || this.#isEnded || this.#writtenVersion === this.#version()) return;
    this.#writtenVersion = this.#version();
    await this.#keep();
  }
}
