import { removeAll } from "./storage.js";

/** A change of the person that the server does not have yet. */
export class OutboxEntry {
  /** The key in the storage. Keys sort in the order in which the changes were made. */
  key = null;
  /** `queued`, `sending` or `failed`. */
  state = "queued";
  failure = null;
  isKept = false;
  /**
   * The failure `not_kept` if the storage has refused the entry. The entry would be lost with the page. So it is sent
   * at once, and fails if the server cannot take it then.
   */
  refusal = null;
  isRemoved = false;
  /** True if it may have reached the server. */
  isAttempted = false;

  /** @param id the id of the message or element; for a new one, its `tempId`. @param change what to send, as JSON. */
  constructor({ lane, id, change, createdAt }) {
    Object.assign(this, { lane, id, change, createdAt });
  }
}

/**
 * Writes entries to the storage, one write at a time. Each write has everything that has changed meanwhile, in one
 * transaction.
 */
export class OutboxKeeper {
  #platform;
  #storage;
  #prefix;
  #channel;
  #onKept;
  #dirty = new Set();
  /**
   * Resolves when the stored entries have been read, or when that has failed. The keys of later entries depend on them.
   */
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
      // Later keys must sort after this one, even if the clock was set back. The counter in the keys starts at 0 on
      // each page load.
      this.#lastTime = Math.max(this.#lastTime, timeOf(key, this.#prefix) + 1);
      const state = record.failure ? "failed" : "queued";
      // An entry that was being sent when the page ended may have arrived.
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

  /** Makes a key that is higher than all before, even if the clock is set back, and that no other tab makes. */
  #makeKey(id) {
    this.#lastTime = Math.max(this.#lastTime, this.#platform.now());
    const count = String(this.#count++).padStart(6, "0");
    return `${this.#prefix}${String(Math.floor(this.#lastTime)).padStart(15, "0")}-${count}-${id}`;
  }

  #write() {
    this.#writing ??= this.#writeAll();
  }

  async #writeAll() {
    // This waits at least until the next microtask, so that all changes of one turn are one transaction.
    await this.#reading;
    try {
      while (this.#dirty.size > 0 && !this.#isClosed) {
        const entries = [...this.#dirty].filter(({ key, isRemoved }) => key !== null || !isRemoved);
        this.#dirty.clear();
        await this.#writeEntries(entries);
      }
    } finally {
      // Nothing was awaited since the last check, so a later change always starts another write.
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
      const refusal = { code: "not_kept", message: `The change cannot be stored on this device (${error?.message ?? error}).` };
      // The other entries have an older version in the storage, or are removed.
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
