import { ClientFailure } from "./failure.js";
import { Backoff, Pause } from "./timing.js";

/** The time, in milliseconds, for which events are gathered. The second event of a pair may have the missing data. */
const GATHERING = 100;
/** The pause, in milliseconds, between two requests for a room that changes all the time. */
const PAUSE = 1_000;
/** The maximum number of rooms that are fetched one by one. Above it, one request fetches all rooms. */
const MAX_SINGLE = 8;

/**
 * Schedules requests for all rooms, and for single rooms whose events lacked data. The latter wait a moment, and go out
 * together.
 */
export class RoomsFetching {
  #platform;
  #store;
  #callbacks;
  #running = null;
  #queued = null;
  #isFetching = false;
  #isMissingFields = false;
  #isFetchingMissingFields = false;
  #isEnded = false;
  /** How often a fetch of all rooms has become necessary. The first fetch counts, too. */
  #pendingLoads = 1;
  /** The value of `#pendingLoads` when the last answered request was sent. */
  #settled = 0;
  isLoading = false;
  failure = null;

  /**
   * @param callbacks `loadAll()`, which resolves with true if the answer lacks counts; `loadOne(id)`; and `onChange()`.
   */
  constructor(platform, store, callbacks) {
    this.#platform = platform;
    this.#store = store;
    this.#callbacks = callbacks;
  }

  end() {
    this.#isEnded = true;
  }

  /**
   * Notes that the list lacks data which only a fetch of all rooms brings. The fetch is repeated until it succeeds, or
   * fails for good.
   */
  requireRefresh() {
    this.#pendingLoads += 1;
    this.refresh();
  }

  /**
   * Fetches all rooms. Resolves when a request that was sent after this call has ended. Concurrent calls share one
   * request.
   */
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
    if (this.#isFetching || !this.#needsAnswer) return;
    this.#isFetching = true;
    const backoff = new Backoff(PAUSE);
    let wait = this.#needsRefresh ? backoff.next(this.#platform.random()) : GATHERING;
    while (!this.#isEnded) {
      await new Pause(this.#platform, wait).done;
      if (this.#isEnded || !this.#needsAnswer) break;
      const failures = await this.#fetchRound();
      if (!this.#needsAnswer) break;
      if (failures.length === 0) backoff.reset();
      wait = failures.length === 0 ? PAUSE : backoff.next(this.#platform.random(), Math.max(...failures.map(({ retryAfter }) => retryAfter ?? 0)));
    }
    this.#isFetching = false;
  }

  /**
   * Handles an answer that lacks counts: all rooms are fetched again after pauses that grow, until an answer is
   * complete.
   */
  async noteMissingFields() {
    this.#isMissingFields = true;
    if (this.#isFetchingMissingFields) return;
    this.#isFetchingMissingFields = true;
    const backoff = new Backoff(PAUSE);
    while (this.#isMissingFields && !this.#isEnded) {
      await new Pause(this.#platform, backoff.next(this.#platform.random(), this.failure?.retryAfter)).done;
      if (this.#isMissingFields && !this.#isEnded) await this.refresh();
    }
    this.#isFetchingMissingFields = false;
  }

  get #needsRefresh() {
    return this.#pendingLoads > this.#settled;
  }

  get #needsAnswer() {
    return this.#needsRefresh || this.#store.needs.size > 0 || this.#store.missing.size > 0;
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
    const pendingLoads = this.#pendingLoads;
    try {
      const isMissingFields = await this.#callbacks.loadAll();
      this.failure = null;
      this.#settled = pendingLoads;
      this.#isMissingFields = false;
      if (isMissingFields) this.noteMissingFields();
    } catch (error) {
      this.failure = ClientFailure.of(error);
      if (!this.failure.isRetryable) this.#settled = pendingLoads;
    }
    this.isLoading = false;
    this.#callbacks.onChange();
    this.fetchNeeded();
  }

  /** @returns the failures, except final refusals of single rooms. */
  async #fetchRound() {
    const needed = new Set(this.#store.needs.keys());
    if (this.#needsRefresh || needed.size > MAX_SINGLE) {
      await (this.#running ?? this.refresh());
      return this.failure ? [this.failure] : [];
    }
    // Missing rooms are fetched one by one, because only the answer to such a request shows that a room is gone.
    for (const id of [...this.#store.missing].sort().slice(0, MAX_SINGLE)) needed.add(id);
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
      // This request will never succeed, so the needs are dropped.
      this.#store.needs.delete(id);
      this.#store.missing.delete(id);
      return null;
    }
  }
}
