/**
 * The values that were set last, by id. Beyond `limit`, the oldest is dropped. An id that is set again becomes the
 * newest.
 */
export class RecentValues {
  #limit;
  #values = new Map();

  constructor(limit) {
    this.#limit = limit;
  }

  has(id) {
    return this.#values.has(id);
  }

  get(id) {
    return this.#values.get(id);
  }

  /** Sets a value. @returns the id that was dropped, if any. */
  set(id, value = true) {
    this.#values.delete(id);
    this.#values.set(id, value);
    if (this.#values.size <= this.#limit) return undefined;
    const [oldest] = this.#values.keys();
    this.#values.delete(oldest);
    return oldest;
  }
}

/**
 * A bounded record of ids that were seen. It keeps the last ones. Every id up to the newest dropped one counts as seen,
 * too. Ids sort by creation.
 */
export class RecentIds {
  #ids = new RecentValues(64);
  #newestForgotten = "";

  /** Marks all ids up to this one as seen. */
  skipThrough(id) {
    if (id > this.#newestForgotten) this.#newestForgotten = id;
  }

  /** Adds an id. @returns false if it was seen before. */
  insert(id) {
    if (id <= this.#newestForgotten || this.#ids.has(id)) return false;
    const forgotten = this.#ids.set(id);
    if (forgotten !== undefined) this.skipThrough(forgotten);
    return true;
  }
}
