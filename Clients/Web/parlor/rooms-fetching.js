import { ClientFailure } from "./failure.js";
import { Backoff, Pause } from "./timing.js";

/** So long a room's events are gathered: the second event of a pair, which may say the rest, comes within. */
const GATHERING = 100;
/** Between two answers for a room that never rests. */
const PAUSE = 1_000;
/** More than this many rooms are asked for with one request for all. */
const MAX_SINGLE = 8;

/** When rooms are asked for: all of them, and those of which events did not say enough, a moment later and together. */
export class RoomsFetching {
  #platform;
  #shelf;
  #callbacks;
  #running = null;
  #queued = null;
  #isFetching = false;
  #isLacking = false;
  #isFetchingLacking = false;
  #isEnded = false;
  /** Rises with each reason for an answer with all rooms. */
  #owed = 1;
  #settled = 0;
  isLoading = false;
  failure = null;

  /** @param callbacks `loadAll()` resolves with whether the answer lacks counts, `loadOne(id)`, `onChange()`. */
  constructor(platform, shelf, callbacks) {
    this.#platform = platform;
    this.#shelf = shelf;
    this.#callbacks = callbacks;
  }

  end() {
    this.#isEnded = true;
  }

  /** What is shown lacks something that only an answer with all rooms brings: it is tried until there is one. */
  owe() {
    this.#owed += 1;
    this.refresh();
  }

  /** Resolves with an answer that was asked for after this call. Calls at the same time share it. */
  refresh() {
    if (this.#queued) return this.#queued;
    if (!this.#running) return this.#begin();
    this.#queued = this.#running.then(() => {
      this.#queued = null;
      return this.#begin();
    });
    return this.#queued;
  }

  async fetchNeeded() {
    if (this.#isFetching || !this.#lacksAnswer) return;
    this.#isFetching = true;
    const backoff = new Backoff(PAUSE);
    let wait = this.#owed > this.#settled ? backoff.next(this.#platform.random()) : GATHERING;
    while (!this.#isEnded) {
      await new Pause(this.#platform, wait).done;
      if (this.#isEnded || !this.#lacksAnswer) break;
      const failures = await this.#fetchRound();
      if (!this.#lacksAnswer) break;
      if (failures.length === 0) backoff.reset();
      wait = failures.length === 0 ? PAUSE : backoff.next(this.#platform.random(), Math.max(...failures.map(({ retryAfter }) => retryAfter ?? 0)));
    }
    this.#isFetching = false;
  }

  /** An answer lacks what a part of the server counts: all are asked for, later and later, until it is whole. */
  async noteLacking() {
    this.#isLacking = true;
    if (this.#isFetchingLacking) return;
    this.#isFetchingLacking = true;
    const backoff = new Backoff(PAUSE);
    while (this.#isLacking && !this.#isEnded) {
      await new Pause(this.#platform, backoff.next(this.#platform.random())).done;
      if (this.#isLacking && !this.#isEnded) await this.refresh();
    }
    this.#isFetchingLacking = false;
  }

  get #lacksAnswer() {
    return this.#owed > this.#settled || this.#shelf.needs.size > 0 || this.#shelf.missing.size > 0;
  }

  #begin() {
    const running = this.#load().finally(() => {
      if (this.#running === running) this.#running = null;
    });
    this.#running = running;
    return running;
  }

  async #load() {
    if (this.#isEnded) return;
    this.isLoading = true;
    this.#callbacks.onChange();
    const owed = this.#owed;
    try {
      const isLacking = await this.#callbacks.loadAll();
      this.failure = null;
      this.#settled = owed;
      this.#isLacking = false;
      if (isLacking) this.noteLacking();
    } catch (error) {
      this.failure = ClientFailure.of(error);
      if (!this.failure.isRetryable) this.#settled = owed;
    }
    this.isLoading = false;
    this.#callbacks.onChange();
    this.fetchNeeded();
  }

  /** @returns the failures that may pass. */
  async #fetchRound() {
    const needed = new Set(this.#shelf.needs.keys());
    if (this.#owed > this.#settled || needed.size > MAX_SINGLE) {
      await (this.#running ?? this.refresh());
      return this.failure ? [this.failure] : [];
    }
    // An answer with all says nothing of those that it lacks.
    for (const id of [...this.#shelf.missing].sort().slice(0, MAX_SINGLE)) needed.add(id);
    const failures = await Promise.all([...needed].map((id) => this.#fetchOne(id)));
    return failures.filter(Boolean);
  }

  async #fetchOne(id) {
    try {
      await this.#callbacks.loadOne(id);
      return null;
    } catch (error) {
      const failure = ClientFailure.of(error);
      if (failure.isRetryable) return failure;
      // What would never be answered is not asked for any more.
      this.#shelf.needs.delete(id);
      this.#shelf.missing.delete(id);
      return null;
    }
  }
}
