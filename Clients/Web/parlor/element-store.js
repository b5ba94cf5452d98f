import { RecentValues } from "./recent.js";

const REMEMBERED = 2_000;

/**
 * One room's elements as the server has them: of each the newest `version`, whatever arrives late, doubled or out of turn, and what
 * was deleted stays so.
 *
 * A clearing names no elements, and may come again with a replay after newer ones: what it takes away may come back with its own
 * event, and then `isDoubtful` asks for the list.
 */
export class ElementStore {
  #ownId;
  #elements = new Map();
  #byTempId = new Map();
  #gone = new RecentValues(REMEMBERED);
  #cleared = new RecentValues(REMEMBERED);
  /** While a list is on its way: what events have said since it was asked for. */
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

  /** Stays the same when one's own new element becomes a stored one. */
  shownId(element) {
    return element.createdBy === this.#ownId ? element.tempId ?? element.id : element.id;
  }

  /** An element of an event or an answer. @param isNew false: one that is not here has been cleared meanwhile. */
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

  /** The server has cleared the room. */
  clear() {
    for (const id of [...this.#elements.keys()]) {
      this.#cleared.set(id);
      this.#remove(id);
    }
    // Which ones it meant, a list that is asked for from now on says.
    this.isDoubtful = true;
  }

  /** What was kept from another time. */
  showCached(elements) {
    for (const element of elements) if (!this.#gone.has(element.id) && !this.#elements.has(element.id)) this.#set(element);
  }

  /** A list is asked for from now on. */
  beginList() {
    this.#touched = new Set();
    this.isDoubtful = false;
  }

  /** All that the server had: what it does not have is gone, unless an event has said otherwise since it was asked for. */
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
    // An update that still waits finds that there is nothing under its name.
    this.#byTempId.delete(element.tempId);
    this.version += 1;
  }
}
