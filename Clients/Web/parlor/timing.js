import { ClientFailure } from "./failure.js";

/** The time, in milliseconds, without an answer after which a connection counts as slow. A dead one is found much later. */
export const SLOW_AFTER = 8_000;

/**
 * The pauses before retries, in milliseconds: each is random up to a bound that doubles (full jitter). So clients that
 * lose a server at the same moment do not all return at the same moment.
 */
export class Backoff {
  #shortest;
  #longest;
  #bound;

  constructor(shortest = 500, longest = 30_000) {
    this.#shortest = shortest;
    this.#longest = longest;
    this.#bound = shortest;
  }

  /** Returns the next pause. @param random from 0 up to 1. @param least the pause that the server asked for. */
  next(random, least = 0) {
    const delay = this.#bound * random;
    this.#bound = Math.min(this.#bound * 2, this.#longest);
    return Math.max(delay, least ?? 0);
  }

  reset() {
    this.#bound = this.#shortest;
  }
}

/** A wait that can be cancelled. `done` resolves with true at its end, and with false if it was cancelled. */
export class Pause {
  #platform;
  #timer;
  #resolve;

  constructor(platform, milliseconds) {
    this.#platform = platform;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
      this.#timer = platform.setTimeout(() => resolve(true), milliseconds);
    });
  }

  cancel() {
    this.#platform.clearTimeout(this.#timer);
    this.#resolve(false);
  }
}

/** Resolves as `promise` does, or fails with `offline` after `milliseconds`. */
export async function within(platform, milliseconds, words, promise) {
  const pause = new Pause(platform, milliseconds);
  const timeout = pause.done.then((isLate) => {
    if (isLate) throw ClientFailure.offline(words);
    return new Promise(() => {});
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    pause.cancel();
  }
}
