import { isAmong } from "./json.js";
import { removeAll } from "./storage.js";

/** The number of earlier contents that an entry keeps. */
const EARLIER = 8;

/** A change of the person that the server does not have yet. Tabs that were opened later have it, too. */
export class OutboxEntry {
  /** It names the entry in all tabs. Keys sort in the order in which the changes were made. */
  key = null;
  /** Rises each time the person changes the entry. It is a time: of two tabs' versions, the newest has the highest. */
  revision = 0;
  /** The key under which the storage has it; null if it does not. */
  storedAs = null;
  /** The revision that is being sent. */
  sentRevision = null;
  /** `queued`, `sending` or `failed`. */
  state = "queued";
  failure = null;
  /**
   * The failure `not_kept` if the storage has refused the entry. The entry would be lost with the page. So it is sent
   * at once, and fails if the server cannot take it then.
   */
  refusal = null;
  isRemoved = false;
  /** What the server has made of it, if it was removed because the server has it. */
  result = null;
  /** True if it may have reached the server. */
  isAttempted = false;

  /** @param id the id of the message or element; for a new one, its `tempId`. @param change what to send, as JSON. */
  constructor({ lane, id, change, createdAt }) {
    Object.assign(this, { lane, id, change, createdAt });
  }

  get isKept() {
    return this.storedAs !== null;
  }

  /** Each revision has its own key, so a tab that has sent an earlier one cannot remove this one. */
  get storageKey() {
    return this.revision === 0 ? this.key : `${this.key}@${padded(this.revision)}`;
  }

  /** Changes what is to be sent. `earlier` then has what another tab may have sent instead. */
  revise(change, revision) {
    const { content } = this.change;
    const earlier = change.earlier ?? [];
    const isKnown = content === undefined || isAmong([change.content, ...earlier], content);
    this.change = isKnown ? change : { ...change, earlier: [...earlier, content].slice(-EARLIER) };
    this.revision = revision;
    this.refusal = null;
    if (this.state === "failed") Object.assign(this, { state: "queued", failure: null });
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
    const entries = new Map();
    const outdated = [];
    for (const [storedAs, record] of await this.#storage.readAll(this.#prefix)) {
      // Later keys must sort after this one, even if the clock was set back. The counter in the keys starts at 0 on
      // each page load.
      this.#lastTime = Math.max(this.#lastTime, timeOf(storedAs, this.#prefix) + 1);
      const [, key, revision] = /^(.*?)(?:@(\d{15}))?$/s.exec(storedAs);
      const state = record.failure ? "failed" : "queued";
      // The revisions of an entry come in order. Two tabs may each have stored one.
      if (entries.has(key)) outdated.push([entries.get(key).storedAs, undefined]);
      // An entry that was being sent when the page ended may have arrived.
      entries.set(key, Object.assign(new OutboxEntry(record), {
        key, revision: Number(revision ?? 0), storedAs, state, failure: record.failure, isAttempted: true,
      }));
    }
    if (outdated.length > 0) void this.#storage.write(outdated).catch(() => {});
    return [...entries.values()];
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
    return `${this.#prefix}${padded(this.#lastTime)}-${count}-${id}`;
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
    for (const entry of entries) entry.key ??= this.#makeKey(entry.id);
    // An entry may change again during the write.
    const written = entries.map((entry) => ({ entry, key: entry.storageKey, news: newsOf(entry) }));
    const changes = written.map(({ entry, key }) => [key, entry.isRemoved ? undefined : record(entry)]);
    const outdated = written.filter(({ entry: { storedAs }, key }) => storedAs !== null && storedAs !== key);
    let isWritten = false;
    try {
      await this.#storage.write([...outdated.map(({ entry }) => [entry.storedAs, undefined]), ...changes]);
      for (const { entry, key } of written) Object.assign(entry, { refusal: null, storedAs: key });
      isWritten = true;
    } catch (error) {
      const refusal = { code: "not_kept", message: `The change cannot be stored on this device (${error?.message ?? error}).` };
      // Also an entry whose older version is stored: what the person has written since is not.
      for (const { entry, key } of written) if (!entry.isRemoved && entry.storedAs !== key) entry.refusal = refusal;
    }
    // No other tab has an entry that is new.
    const isNews = ({ isRemoved, revision }) => isRemoved || (isWritten && revision > 0);
    const news = written.map((one) => one.news).filter(isNews);
    if (news.length > 0) this.#channel.post("outbox", news);
    this.#onKept(entries.filter((entry) => !entry.isRemoved));
  }
}

/** Returns what other tabs need to know of an entry. */
function newsOf({ key, revision, change, isRemoved, result }) {
  return { key, revision, change, isRemoved, result };
}

function padded(time) {
  return String(Math.floor(time)).padStart(15, "0");
}

function record({ lane, id, change, createdAt, failure }) {
  return { lane, id, change, createdAt, failure };
}

function timeOf(key, prefix) {
  return Number.parseInt(key.slice(prefix.length), 10) || 0;
}
