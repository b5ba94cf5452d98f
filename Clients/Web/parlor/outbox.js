import { Value } from "./observable.js";
import { OutboxEntry, OutboxKeeper } from "./outbox-entry.js";
import { report } from "./report.js";
import { Backoff, Pause } from "./timing.js";

/**
 * The person's changes that the server does not have yet. They survive reloads.
 *
 * Each lane (a room's messages, or a room's board) sends one change at a time, in the order made. Lanes do not wait for
 * each other. A change is stored before it is sent. A change that the storage refuses is sent at once, and fails
 * with `not_kept` if the server cannot take it then. A change without an answer is sent again under the same id. A
 * change leaves the outbox only when the server has it, when it is discarded or obsolete, when the person loses the
 * room, or when the person signs out.
 *
 * Tabs that were opened later have the same changes, and send them, too. If one tab modifies a change, the others take
 * the newest version of it. A tab that has sent an older version leaves the newest one in the outbox.
 *
 * If the server cannot be reached, a lane waits for the connection, or for the end of a pause (see `Backoff`). If the
 * server asks to wait, the lane waits at least that long. If the server refuses a change for good, that change fails,
 * and later ones are sent.
 */
export class Outbox {
  #platform;
  #send;
  #keeper;
  #lanes = new Map();
  #connections = 0;
  #isStopped = true;
  #isTakenOver = null;
  /** True while stored entries are being read. Nothing is sent meanwhile, because they come first. */
  #isReading = false;
  counts = new Value({ waiting: 0, failed: 0, receipts: 0 });

  /**
   * @param send `(entry) → outcome`, where the outcome is `{ type: "done", value }`, `{ type: "gone" }`,
   * `{ type: "again" }`, `{ type: "later", retryAfter }` or `{ type: "failed", failure, value }`. It never throws.
   * `again` means that it has modified the entry, which is then sent at once. `value` is for the followers of the lane.
   */
  constructor({ platform, storage, prefix, channel, send }) {
    this.#platform = platform;
    this.#send = send;
    this.#keeper = new OutboxKeeper({ platform, storage, prefix, channel, onKept: (entries) => this.#noteKept(entries) });
    channel.listen("outbox", (news) => {
      const entries = [...this.#lanes.values()].flatMap((lane) => lane.entries);
      for (const item of news) {
        const entry = entries.find(({ key }) => key === item.key);
        if (entry) this.#follow(entry, item);
      }
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

  /** Stops sending. The stored entries stay. */
  stop() {
    this.#isStopped = true;
    for (const lane of this.#lanes.values()) lane.pause?.pause.cancel();
  }

  /** Resolves when the storage has taken or refused all changes. */
  flush() {
    return this.#keeper.flush();
  }

  /** Removes all unsent changes from this device, for a sign-out. Nothing is stored after that. */
  async removeAll() {
    this.stop();
    for (const lane of this.#lanes.values()) lane.entries = [];
    this.#count();
    await this.#keeper.removeAll();
  }

  /** Returns the entries of a lane, in the order made. The array must not be modified. */
  entries(lane) {
    return this.#lanes.get(lane)?.entries ?? [];
  }

  /**
   * Follows a lane.
   * @param listener runs after each change of the lane. It runs with `(entry, value)` just before an entry is removed
   * because the server has it, and when an entry fails with a value. If it throws, its error is reported.
   * @returns a function that ends this.
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

  /** Modifies an entry, and stores and sends it. It must not be called while the entry is being sent. */
  revise(entry, fields) {
    entry.revise({ ...entry.change, ...fields }, Math.max(entry.revision + 1, Math.floor(this.#platform.now())));
    this.#resend(entry);
  }

  /** Stores a waiting entry that now has data from an answer. */
  keep(entry) {
    this.#keeper.keep(entry);
  }

  /** Sends a failed change again, as if it were made now. Waiting changes of the lane are sent at once, too. */
  retry(entry) {
    entry.revise(entry.change, entry.revision);
    entry.createdAt = this.#platform.now();
    this.#resend(entry);
    this.#lanes.get(entry.lane).pause?.pause.cancel();
  }

  /** Removes an unsent entry. @returns false if it is being sent, which cannot be cancelled. */
  discard(entry) {
    if (entry.state === "sending") return false;
    this.remove(entry);
    return true;
  }

  /**
   * Sends no other change of a lane for a while. One that is being sent continues.
   * @returns a function that ends this.
   */
  hold(lane) {
    const held = this.#lane(lane);
    held.holds += 1;
    return () => {
      held.holds -= 1;
      this.#wake(lane);
    };
  }

  /**
   * Removes an entry that the server has, or that is obsolete. A late answer to it is ignored.
   * @param result what the server has made of it, for the followers in other tabs.
   */
  remove(entry, result = null) {
    if (entry.isRemoved) return;
    entry.result = result;
    this.#drop(entry);
    this.#keeper.remove(entry);
  }

  /** Removes all entries of a lane, because the person no longer belongs to the room. */
  removeLane(lane) {
    for (const entry of [...this.entries(lane)]) this.remove(entry);
    this.#lanes.get(lane)?.pause?.pause.cancel();
  }

  /** Ends the pauses that wait for a connection, because the server can be reached again. */
  noteConnection() {
    this.#connections += 1;
    for (const { pause } of this.#lanes.values()) if (pause?.endsOnConnection) pause.pause.cancel();
  }

  #resend(entry) {
    this.#keeper.keep(entry);
    this.#notify(entry.lane);
    this.#wake(entry.lane);
  }

  /** Follows what another tab has done with an entry that this tab has, too. */
  #follow(entry, { revision, change, isRemoved, result }) {
    if (revision > entry.revision) {
      entry.revise(change, revision);
      this.#notify(entry.lane);
      this.#wake(entry.lane);
    }
    // If this tab is sending an older version, that may arrive last. So this tab then sends the newest one, too.
    const isOvertaken = result && entry.state === "sending" && entry.sentRevision !== entry.revision;
    if (!isRemoved || revision < entry.revision || isOvertaken) return;
    if (result) this.#runFollowers(this.#lane(entry.lane), entry, result);
    this.#drop(entry);
    // This tab may have stored its version after the other had stored a newer one.
    if (entry.storedAs !== entry.storageKey) this.#keeper.remove(entry);
  }

  #lane(lane) {
    let found = this.#lanes.get(lane);
    if (!found) {
      found = { entries: [], followers: new Set(), isSending: false, holds: 0, pause: null, backoff: new Backoff() };
      this.#lanes.set(lane, found);
    }
    return found;
  }

  async #takeOver() {
    const kept = await this.#keeper.readAll();
    const known = new Set([...this.#lanes.values()].flatMap(({ entries }) => entries.map((entry) => entry.key)));
    for (const lane of new Set(kept.map((entry) => entry.lane))) {
      // Entries that were made while the storage was read come after the stored ones.
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
    // An entry that is neither stored nor refused yet makes later ones wait. Once it is stored or refused, the lane
    // continues.
    const next = () => lane.entries.find(({ state }) => state === "queued");
    while (!this.#isStopped && lane.holds === 0 && (entry = next()) && (entry.isKept || entry.refusal)) {
      entry.state = "sending";
      entry.isAttempted = true;
      entry.sentRevision = entry.revision;
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
      // The connection came during the attempt, so waiting for it makes no sense. The entry is sent again at once.
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
    // Another tab has changed it meanwhile. The newest version is sent next.
    if (entry.sentRevision !== entry.revision) return outcome.value && this.#runFollowers(lane, entry, outcome.value);
    if (outcome.type === "failed") {
      Object.assign(entry, { state: "failed", failure: outcome.failure });
      this.#keeper.keep(entry);
      if (outcome.value) this.#runFollowers(lane, entry, outcome.value);
      return this.#notify(entry.lane);
    }
    if (outcome.type === "done") this.#runFollowers(lane, entry, outcome.value);
    this.remove(entry, outcome.value);
  }

  #notify(lane) {
    this.#count();
    this.#runFollowers(this.#lane(lane));
  }

  /** Runs the followers. Their errors must not end the write or the send. */
  #runFollowers({ followers }, ...values) {
    for (const follower of [...followers]) {
      try {
        follower(...values);
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
