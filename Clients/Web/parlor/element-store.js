import { RecentValues } from "./recent.js";

const REMEMBERED = 2_000;

/**
 * One room's elements as the server has them: the newest `version` of each, whatever arrives late, doubled or out of order;
 * deleted ones stay deleted.
 *
 * A clearing names no elements, and a replay may repeat it after newer ones: an element that it removes may return with its own
 * event, and then `isDoubtful` causes a request for the list.
 */
export class ElementStore {
  #ownId;
  #elements = new Map();
  #byTempId = new Map();
  #gone = new RecentValues(REMEMBERED);
  #cleared = new RecentValues(REMEMBERED);
  /** Events since the request, while a list is under way. */
  #touched = null;
  version = 0;
  isDoubtful = false;

  constructor(ownId) {
    this.#ownId = ownId;
  }

  /** Oldest first; ids sort by creation. */
  get all() {
    return [...this.#elements.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** @param shownId as `shownId(element)`. */
  get(shownId) {
    return this.#elements.get(this.#byTempId.get(shownId) ?? shownId);
  }

  /** Returns the id on the screen, which stays the same when one's own new element becomes a stored one. */
  shownId(element) {
    return element.createdBy === this.#ownId ? element.tempId ?? element.id : element.id;
  }

  /** Inserts an element from an event or an answer. @param isNew false: a missing one has been cleared meanwhile. */
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
    // A list requested from now on shows which ones it meant.
    this.isDoubtful = true;
  }

  /** Shows cached elements. */
  showCached(elements) {
    for (const element of elements) if (!this.#gone.has(element.id) && !this.#elements.has(element.id)) this.#set(element);
  }

  /** Notes that a list is requested from now on. */
  beginList() {
    this.#touched = new Set();
    this.isDoubtful = false;
  }

  /** Applies the full list: missing elements are removed, unless an event since the request has them. */
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
    // A waiting update finds nothing under its name.
    this.#byTempId.delete(element.tempId);
    this.version += 1;
  }
}
