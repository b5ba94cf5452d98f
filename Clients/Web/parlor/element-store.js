import { RecentValues } from "./recent.js";

const REMEMBERED = 2_000;

/**
 * One room's elements as the server has them: the newest `version` of each, even if data arrives late, twice or out of
 * order. Deleted elements stay deleted.
 *
 * `room:cleared` does not name elements, and a replay may bring it after newer elements were created. Then it removes
 * the newer elements, too, and their own events may bring them back. So after a clearing `isDoubtful` is true until the
 * elements are requested again.
 */
export class ElementStore {
  #ownId;
  #elements = new Map();
  #byTempId = new Map();
  #gone = new RecentValues(REMEMBERED);
  #cleared = new RecentValues(REMEMBERED);
  /** The elements that events have changed since the list was requested; null without a request. */
  #touched = null;
  version = 0;
  isDoubtful = false;

  constructor(ownId) {
    this.#ownId = ownId;
  }

  /** All elements, oldest first. Ids sort by creation. */
  get all() {
    return [...this.#elements.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Returns the element for an id that `shownId` has returned. */
  get(shownId) {
    return this.#elements.get(this.#byTempId.get(shownId) ?? shownId);
  }

  /** Returns the id for the screen. It stays the same when the server stores an element that the person has made. */
  shownId(element) {
    return element.createdBy === this.#ownId ? element.tempId ?? element.id : element.id;
  }

  /**
   * Inserts an element from an event or an answer.
   * @param isNew false to ignore an element that the store does not have, because the board was cleared meanwhile.
   */
  put(element, isNew = true) {
    this.#touched?.add(element.id);
    if (this.#gone.has(element.id)) return;
    const known = this.#elements.get(element.id);
    if (known ? known.version >= element.version : !isNew) return;
    if (this.#cleared.has(element.id)) this.isDoubtful = true;
    this.#set(element);
  }

  delete(elementId) {
    this.#gone.set(elementId);
    this.#remove(elementId);
  }

  /** Applies a clearing by the server. */
  clear() {
    for (const id of [...this.#elements.keys()]) {
      this.#cleared.set(id);
      this.#remove(id);
    }
    // Only a list that is requested from now on shows which elements were removed.
    this.isDoubtful = true;
  }

  /** Adds cached elements that the store lacks and that are not known as deleted. */
  showCached(elements) {
    for (const element of elements) if (!this.#gone.has(element.id) && !this.#elements.has(element.id)) this.#set(element);
  }

  /** Notes that a list is being requested. */
  beginList() {
    this.#touched = new Set();
    this.isDoubtful = false;
  }

  /**
   * Applies a complete list. Elements that are missing from it are removed, unless an event has changed them since the
   * request.
   */
  takeList(elements) {
    const listed = new Set(elements.map((element) => element.id));
    for (const id of [...this.#elements.keys()]) {
      if (!listed.has(id) && !this.#touched?.has(id)) this.delete(id);
    }
    for (const element of elements) {
      const known = this.#elements.get(element.id);
      if (!this.#gone.has(element.id) && !(known && known.version >= element.version)) this.#set(element);
    }
    this.#touched = null;
  }

  removeAll() {
    for (const id of [...this.#elements.keys()]) this.#remove(id);
  }

  #set(element) {
    this.#elements.set(element.id, Object.freeze(element));
    if (element.createdBy === this.#ownId && element.tempId !== null) this.#byTempId.set(element.tempId, element.id);
    this.version += 1;
  }

  #remove(id) {
    const element = this.#elements.get(id);
    if (!this.#elements.delete(id)) return;
    // A waiting update then no longer finds the element by its `tempId`.
    this.#byTempId.delete(element.tempId);
    this.version += 1;
  }
}
