/** The most recently set values by id: beyond `limit` the oldest is dropped. An id that is set again counts once, as the newest. */
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

  /** @returns the id that is dropped for it. */
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
 * A bounded record of seen ids: the last ones, and that none is newer than the newest dropped one.
 * Ids sort by creation.
 */
export class RecentIds {
  #ids = new RecentValues(64);
  #newestForgotten = "";

  /** Marks all ids up to this one as seen. */
  skipThrough(id) {
    if (id > this.#newestForgotten) this.#newestForgotten = id;
  }

  /** @returns false if it was seen already. */
  insert(id) {
    if (id <= this.#newestForgotten || this.#ids.has(id)) return false;
    const forgotten = this.#ids.set(id);
    if (forgotten !== undefined) this.skipThrough(forgotten);
    return true;
  }
}
