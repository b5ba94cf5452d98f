import { Value } from "./observable.js";
import { OutboxEntry, OutboxKeeper } from "./outbox-entry.js";
import { report } from "./report.js";
import { Backoff, Pause } from "./timing.js";

/**
 * Own changes until the server has them, across reloads.
 *
 * Each lane (a room's messages, a room's board) has one change under way, in the order made; lanes don't wait for one another. A
 * change is in the storage before it is sent; one that the storage refuses is sent nevertheless, and has failed with `not_kept` if
 * that cannot be done at once. One that may have arrived, but was not answered, is sent again under the same id. It leaves the
 * outbox only when the server has it, when it is discarded, or when its room is no longer one's own.
 *
 * While the server is unreachable or asks to wait, a lane waits: for the connection, or for a pause that doubles. A change that the
 * server refuses for good has failed, and those after it go on.
 */
export class Outbox {
  #platform;
  #send;
  #keeper;
  #lanes = new Map();
  #connections = 0;
  #isStopped = true;
  #isTakenOver = null;
  /** Whether stored entries are being read: they are sent before later ones. */
  #isReading = false;
  counts = new Value({ waiting: 0, failed: 0 });

  /**
   * @param send `(entry) → { type: "done", value } | { type: "gone" } | { type: "again" } | { type: "later", retryAfter }
   * | { type: "failed", failure }`; never throws. `again`: the entry was modified, and is sent at once.
   */
  constructor({ platform, storage, prefix, channel, send }) {
    this.#platform = platform;
    this.#send = send;
    this.#keeper = new OutboxKeeper({ platform, storage, prefix, channel, onKept: (entries) => this.#noteKept(entries) });
    // Another tab's entry: the server has it, or it was discarded there.
    channel.listen("outbox", (keys) => {
      for (const lane of this.#lanes.values()) for (const entry of [...lane.entries]) if (keys.includes(entry.key)) this.#drop(entry);
    });
  }

  /** Reads the stored entries, and sends them. */
  async start() {
    this.#isStopped = false;
    this.#isTakenOver ??= this.#takeOver().catch(() => { this.#isTakenOver = null; });
    this.#isReading = true;
    await this.#isTakenOver;
    this.#isReading = false;
    for (const lane of this.#lanes.keys()) this.#wake(lane);
  }

  /** Stops sending, and leaves the storage as it is. */
  stop() {
    this.#isStopped = true;
    for (const lane of this.#lanes.values()) lane.pause?.pause.cancel();
  }

  /** Resolves when all that was appended is in the storage, or refused. */
  flush() {
    return this.#keeper.flush();
  }

  /** Removes everything unsent from this device after signing out; nothing is stored any more. */
  async removeAll() {
    this.stop();
    for (const lane of this.#lanes.values()) lane.entries = [];
    this.#count();
    await this.#keeper.removeAll();
  }

  /** The entries of a lane in the order made. Not to be modified. */
  entries(lane) {
    return this.#lanes.get(lane)?.entries ?? [];
  }

  /**
   * @param listener runs after each change of the lane, and with `(entry, value)` just before an entry that the server has leaves it.
   * If it throws, its error is reported.
   */
  follow(lane, listener) {
    const { followers } = this.#lane(lane);
    followers.add(listener);
    return () => followers.delete(listener);
  }

  append(lane, id, change) {
    const entry = new OutboxEntry({ lane, id, change, createdAt: this.#platform.now() });
    this.#lane(lane).entries.push(entry);
    this.#keeper.keep(entry);
    this.#notify(lane);
    return entry;
  }

  /** Stores an entry whose change was modified; only while it is not under way. */
  update(entry) {
    entry.refusal = null;
    if (entry.state === "failed") Object.assign(entry, { state: "queued", failure: null });
    this.#keeper.keep(entry);
    this.#notify(entry.lane);
    this.#wake(entry.lane);
  }

  /** Stores a waiting entry with information from an answer. */
  keep(entry) {
    this.#keeper.keep(entry);
  }

  /** Sends a failed change again; waiting ones are sent at once. */
  retry(entry) {
    this.update(entry);
    this.#lanes.get(entry.lane).pause?.pause.cancel();
  }

  /** @returns false for one that is under way: it cannot be cancelled. */
  discard(entry) {
    if (entry.state === "sending") return false;
    this.remove(entry);
    return true;
  }

  /** Removes an entry that the server has, or that is obsolete: a late answer changes nothing. */
  remove(entry) {
    if (entry.isRemoved) return;
    this.#drop(entry);
    this.#keeper.remove(entry);
  }

  /** Removes the entries of a room that is no longer one's own; none is sent. */
  removeLane(lane) {
    for (const entry of [...this.entries(lane)]) this.remove(entry);
    this.#lanes.get(lane)?.pause?.pause.cancel();
  }

  /** Ends the waits for a connection, as the server can be reached again. */
  noteConnection() {
    this.#connections += 1;
    for (const { pause } of this.#lanes.values()) if (pause?.endsOnConnection) pause.pause.cancel();
  }

  #lane(lane) {
    let found = this.#lanes.get(lane);
    if (!found) {
      found = { entries: [], followers: new Set(), isSending: false, pause: null, backoff: new Backoff() };
      this.#lanes.set(lane, found);
    }
    return found;
  }

  async #takeOver() {
    const kept = await this.#keeper.readAll();
    const known = new Set([...this.#lanes.values()].flatMap(({ entries }) => entries.map((entry) => entry.key)));
    for (const lane of new Set(kept.map((entry) => entry.lane))) {
      // Made while the storage was read: behind all stored ones.
      this.#lane(lane).entries.unshift(...kept.filter((entry) => entry.lane === lane && !known.has(entry.key)));
      this.#notify(lane);
    }
  }

  #noteKept(entries) {
    for (const lane of new Set(entries.map((entry) => entry.lane))) {
      this.#notify(lane);
      this.#wake(lane);
    }
  }

  #drop(entry) {
    const { entries } = this.#lane(entry.lane);
    const index = entries.indexOf(entry);
    entry.isRemoved = true;
    if (index >= 0) entries.splice(index, 1);
    this.#notify(entry.lane);
  }

  async #wake(name) {
    const lane = this.#lane(name);
    if (lane.isSending || this.#isReading) return;
    lane.isSending = true;
    let entry;
    // An entry that is not stored yet, or refused, holds up those after it: the keeper wakes the lane.
    const next = () => lane.entries.find(({ state }) => state === "queued");
    while (!this.#isStopped && (entry = next()) && (entry.isKept || entry.refusal)) {
      entry.state = "sending";
      entry.isAttempted = true;
      this.#notify(name);
      const connection = this.#connections;
      const outcome = await this.#send(entry);
      if (entry.isRemoved) continue;
      entry.state = "queued";
      await this.#take(lane, entry, outcome, connection);
    }
    lane.isSending = false;
  }

  async #take(lane, entry, outcome, connection) {
    if (outcome.type === "later") {
      const asked = outcome.retryAfter ?? null;
      // The connection came during the attempt, so its lack was not the cause.
      const isAtOnce = this.#isStopped || (asked === null && connection !== this.#connections);
      const hasFailed = !isAtOnce && entry.refusal !== null;
      if (hasFailed) Object.assign(entry, { state: "failed", failure: entry.refusal });
      this.#notify(entry.lane);
      if (isAtOnce || hasFailed) return;
      const pause = new Pause(this.#platform, lane.backoff.next(this.#platform.random(), asked));
      lane.pause = { pause, endsOnConnection: asked === null };
      await pause.done;
      lane.pause = null;
      return;
    }
    lane.backoff.reset();
    if (outcome.type === "again") return this.#keeper.keep(entry);
    if (outcome.type === "failed") {
      Object.assign(entry, { state: "failed", failure: outcome.failure });
      this.#keeper.keep(entry);
      return this.#notify(entry.lane);
    }
    if (outcome.type === "done") this.#runFollowers(lane, entry, outcome.value);
    this.remove(entry);
  }

  #notify(lane) {
    this.#count();
    this.#runFollowers(this.#lane(lane));
  }

  /** The error of a follower must not end the write or the send that it follows. */
  #runFollowers({ followers }, ...happening) {
    for (const follower of [...followers]) {
      try {
        follower(...happening);
      } catch (error) {
        report(error);
      }
    }
  }

  #count() {
    let [waiting, failed] = [0, 0];
    for (const { entries } of this.#lanes.values()) {
      for (const { state } of entries) state === "failed" ? failed += 1 : waiting += 1;
    }
    this.counts.set({ waiting, failed });
  }
}
