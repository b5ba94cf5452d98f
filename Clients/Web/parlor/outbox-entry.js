import { removeAll } from "./storage.js";

/** An own change that the server does not have yet. */
export class OutboxEntry {
  /** The storage key; keys sort in the order made. */
  key = null;
  /** `queued`, `sending` or `failed`. */
  state = "queued";
  failure = null;
  isKept = false;
  /** The failure `not_kept` if the storage has refused it. It is sent at once or fails, as it would be lost with the page. */
  refusal = null;
  isRemoved = false;
  /** Whether it may have reached the server. */
  isAttempted = false;

  /** @param id of the message or element that it is about; a new one's `tempId`. @param change what to send, JSON. */
  constructor({ lane, id, change, createdAt }) {
    Object.assign(this, { lane, id, change, createdAt });
  }
}

/** Writes entries: one write at a time, each of all that has changed meanwhile, as one transaction. */
export class OutboxKeeper {
  #platform;
  #storage;
  #prefix;
  #channel;
  #onKept;
  #dirty = new Set();
  /** Resolves when the stored entries are read, or cannot be: the keys of later ones depend on them. */
  #reading = null;
  #writing = null;
  #isClosed = false;
  #lastTime = 0;
  #count = 0;

  constructor({ platform, storage, prefix, channel, onKept }) {
    this.#platform = platform;
    this.#storage = storage;
    this.#prefix = prefix;
    this.#channel = channel;
    this.#onKept = onKept;
  }

  readAll() {
    const reading = this.#readAll();
    this.#reading = reading.catch(() => {});
    return reading;
  }

  async #readAll() {
    const kept = await this.#storage.readAll(this.#prefix);
    return kept.map(([key, record]) => {
      const entry = new OutboxEntry(record);
      // Later keys sort behind it even if the clock was set back: their count starts again.
      this.#lastTime = Math.max(this.#lastTime, timeOf(key, this.#prefix) + 1);
      const state = record.failure ? "failed" : "queued";
      // Whether an entry under way has arrived is unknown.
      return Object.assign(entry, { key, state, failure: record.failure, isKept: true, isAttempted: true });
    });
  }

  keep(entry) {
    this.#dirty.add(entry);
    this.#write();
  }

  remove(entry) {
    this.#dirty.add(entry);
    this.#write();
  }

  async flush() {
    await this.#writing;
  }

  async removeAll() {
    this.#isClosed = true;
    await this.#writing;
    await removeAll(this.#storage, this.#prefix);
  }

  /** Rises also when the clock is set back, and differs between tabs. */
  #makeKey(id) {
    this.#lastTime = Math.max(this.#lastTime, this.#platform.now());
    const count = String(this.#count++).padStart(6, "0");
    return `${this.#prefix}${String(Math.floor(this.#lastTime)).padStart(15, "0")}-${count}-${id}`;
  }

  #write() {
    this.#writing ??= this.#writeAll();
  }

  async #writeAll() {
    // At least a turn later, so that all of one turn are one transaction.
    await this.#reading;
    try {
      while (this.#dirty.size > 0 && !this.#isClosed) {
        const entries = [...this.#dirty].filter(({ key, isRemoved }) => key !== null || !isRemoved);
        this.#dirty.clear();
        await this.#writeEntries(entries);
      }
    } finally {
      // In the turn in which nothing was left: whatever comes next starts another write.
      this.#writing = null;
    }
  }

  async #writeEntries(entries) {
    const removed = entries.filter((entry) => entry.isRemoved);
    for (const entry of entries) entry.key ??= this.#makeKey(entry.id);
    try {
      await this.#storage.write(entries.map((entry) => [entry.key, entry.isRemoved ? undefined : record(entry)]));
      for (const entry of entries) Object.assign(entry, { isKept: true, refusal: null });
    } catch (error) {
      const refusal = { code: "not_kept", message: `It cannot be kept on this device (${error?.message ?? error}).` };
      // Of the others an older version is kept, or nothing is to be kept.
      for (const entry of entries) if (!entry.isKept && !entry.isRemoved) entry.refusal = refusal;
    }
    if (removed.length > 0) this.#channel.post("outbox", removed.map((entry) => entry.key));
    this.#onKept(entries.filter((entry) => !entry.isRemoved));
  }
}

function record({ lane, id, change, createdAt, failure }) {
  return { lane, id, change, createdAt, failure };
}

function timeOf(key, prefix) {
  return Number.parseInt(key.slice(prefix.length), 10) || 0;
}
