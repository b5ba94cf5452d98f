import { report } from "./report.js";

/**
 * A value that changes. The snapshot is made on demand, and stays the same object until `invalidate`.
 * Subclasses implement `makeSnapshot(previous)`, which returns `previous` if nothing in it has changed.
 */
export class Observable {
  #snapshot;
  #isStale = true;
  #seen;
  #listeners = new Set();
  #isScheduled = false;

  constructor() {
    bindMethods(this);
  }

  get snapshot() {
    if (this.#isStale) {
      this.#isStale = false;
      this.#snapshot = this.makeSnapshot(this.#snapshot);
    }
    return this.#snapshot;
  }

  subscribe(listener) {
    // The same function may subscribe twice, so it is wrapped in an object.
    const entry = { listener };
    if (this.#listeners.size === 0) this.#seen = this.snapshot;
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  /** Marks the snapshot as outdated, and schedules the listeners. */
  invalidate() {
    this.#isStale = true;
    if (this.#isScheduled || this.#listeners.size === 0) return;
    this.#isScheduled = true;
    queueMicrotask(() => this.#notify());
  }

  #notify() {
    this.#isScheduled = false;
    const snapshot = this.snapshot;
    if (snapshot === this.#seen) return;
    this.#seen = snapshot;
    for (const entry of [...this.#listeners]) {
      if (!this.#listeners.has(entry)) continue;
      try {
        entry.listener(snapshot);
      } catch (error) {
        report(error);
      }
    }
  }
}

/** Binds the methods of an object to it, because frameworks pass them on without the object. */
export function bindMethods(object) {
  for (let type = Object.getPrototypeOf(object); type !== Object.prototype; type = Object.getPrototypeOf(type)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(type))) {
      if (name === "constructor" || Object.hasOwn(object, name)) continue;
      if (typeof value === "function") object[name] = value.bind(object);
    }
  }
}

/** Returns `previous` if it has the same items in the same order, otherwise `list`, frozen. For snapshots. */
export function keepList(previous, list) {
  const isSame = previous?.length === list.length && list.every((item, index) => item === previous[index]);
  return isSame ? previous : Object.freeze(list);
}

/** Returns `previous` if no field differs, otherwise `fields`, frozen. For snapshots. */
export function keepFields(previous, fields) {
  return previous && Object.keys(fields).every((key) => fields[key] === previous[key]) ? previous : Object.freeze(fields);
}

/** An observable whose owner sets its fields. */
export class Value extends Observable {
  #value;

  constructor(value) {
    super();
    this.#value = Object.freeze(value);
  }

  makeSnapshot() {
    return this.#value;
  }

  /** Changes the given fields. */
  set(fields) {
    if (Object.keys(fields).every((key) => Object.is(fields[key], this.#value[key]))) return;
    this.#value = Object.freeze({ ...this.#value, ...fields });
    this.invalidate();
  }
}
