import { boardElements } from "./board-element.js";
import { isConflict, isDeletion } from "./board-sending.js";
import { CacheWriter } from "./cache.js";
import { ElementStore } from "./element-store.js";
import { ClientFailure } from "./failure.js";
import { Loading } from "./loading.js";
import { Observable, keepFields, keepList } from "./observable.js";
import { Pause } from "./timing.js";

/**
 * The delay, in milliseconds, before the elements are fetched after a clearing. More events may arrive meanwhile.
 */
const DOUBT_PAUSE = 300;

/** Returns the name of a board's lane in the outbox. */
export function boardLane(roomId) {
  return `${roomId}/board`;
}

/** One room's elements, which events keep up to date, with the person's unsent changes applied. See parlor.d.ts. */
export class Board extends Observable {
  #backing;
  #ownId;
  #lane;
  #store;
  #loading;
  #unfollow = null;
  #visit = 0;
  #cacheWriter;
  #doubt = null;
  /** The ids of elements that are hidden while a clearing is in progress. */
  #clearing = null;

  constructor(roomId, backing, { isAway }) {
    super();
    this.roomId = roomId;
    this.#backing = backing;
    this.#ownId = backing.ownId;
    this.#lane = boardLane(roomId);
    this.#store = new ElementStore(this.#ownId);
    this.#cacheWriter = new CacheWriter(backing.platform, () => this.#store.version, () => backing.cache.keepElements(roomId, this.#store.all));
    this.#loading = new Loading(backing.platform, {
      isAway, fetch: (isCurrent) => this.#fetch(isCurrent), rejoin: async () => ({ refusal: await this.#join() }), onChange: () => this.#changed(),
    });
  }

  makeSnapshot(previous) {
    const hidden = this.#clearing;
    const elements = boardElements({
      store: this.#store, entries: this.#entries, ownId: this.#ownId, previous: previous?.elements ?? [],
    }).filter(({ id }) => !hidden?.has(id));
    return keepFields(previous, {
      elements: keepList(previous?.elements, elements),
      isLoading: this.#loading.isLoading,
      isVerified: this.#loading.isVerified,
      failure: this.#loading.failure,
      conflict: this.#conflict(previous?.conflict),
    });
  }

  // Called by screens

  create({ type, content = {}, position = null }) {
    const id = this.#backing.platform.makeId();
    this.#append(id, { type: "create", kind: type, content: copy(content), position: copy(position) });
    return id;
  }

  move(id, position) {
    this.#update(id, { position: copy(position) });
  }

  edit(id, content) {
    this.#update(id, { content: copy(content) });
  }

  delete(id) {
    const entries = this.#entriesOf(id);
    const waiting = entries.filter((entry) => entry.state !== "sending");
    const isNew = entries[0]?.change.type === "create";
    // A create that was never sent is dropped. One that may have reached the server is sent again, because only its
    // answer has the id with which the element can be deleted.
    const isUnsent = isNew && !entries[0].isAttempted;
    for (const entry of waiting) {
      if (isUnsent || entry.change.type !== "create" || entry.state === "failed") this.#backing.outbox.remove(entry);
    }
    if (isUnsent || (isNew && entries[0].state === "failed")) return;
    if (!isNew && !this.#store.get(id)) return;
    this.#append(id, { type: "delete", ...this.#target(id) });
  }

  restore({ id, type, content, position, state }) {
    const deletion = this.#entriesOf(id).find(({ change }) => change.type === "delete");
    // The server has not deleted it, and now never will.
    if (deletion && (!deletion.isAttempted || deletion.state === "failed")) this.#backing.outbox.remove(deletion);
    // The server cannot bring back what it has deleted, so for the server this is a new element, and the person's own.
    if (!this.snapshot.elements.some((element) => element.id === id)) return this.create({ type, content, position });
    // The deletion has dropped the element's unsent changes.
    if (state !== "saved") this.#update(id, { content: copy(content), position: copy(position) });
    return id;
  }

  async clear() {
    const { outbox, server } = this.#backing;
    const earlier = [...outbox.entries(this.#lane)];
    this.#clearing = new Set(this.snapshot.elements.map((element) => element.id));
    this.invalidate();
    // Without this, a change that waits could reach the server after the clearing, and bring its element back.
    const release = outbox.hold(this.#lane);
    try {
      await server.clearRoom(this.roomId);
      // These changes are dropped only now: if the clearing had failed, they would still have to be sent.
      for (const entry of earlier) outbox.discard(entry);
      this.#store.clear();
    } finally {
      release();
      // Also after a failure, because the server may have acted.
      await this.#loading.refresh();
      this.#clearing = null;
      this.invalidate();
    }
  }

  retry(id) {
    for (const entry of this.#entriesOf(id)) if (entry.state === "failed") this.#backing.outbox.retry(entry);
  }

  discard(id) {
    const failed = this.#entriesOf(id).filter((entry) => entry.state === "failed");
    for (const entry of failed) this.#backing.outbox.remove(entry);
  }

  dismissConflict(conflict = this.snapshot.conflict) {
    // An entry has its own content object. The element may be in conflict again meanwhile, with another one.
    const entry = this.#conflicts.find(({ change }) => change.content === conflict?.content);
    if (entry) this.#backing.outbox.remove(entry);
  }

  refresh() {
    return this.#loading.refresh();
  }

  // Called by the account, not by screens

  enter() {
    const visit = ++this.#visit;
    this.#unfollow = this.#backing.outbox.follow(this.#lane, (entry, value) => this.#noteOutbox(entry, value));
    this.#backing.cache.elements(this.roomId).then((cached) => {
      if (visit !== this.#visit) return;
      if (!this.#loading.isFetched) this.#store.showCached(cached);
      this.#cacheWriter.begin();
      this.#changed();
    });
    this.#loading.enter();
  }

  leave() {
    this.#visit += 1;
    this.#unfollow?.();
    this.#doubt?.cancel();
    this.#doubt = null;
    this.#loading.leave();
    return this.writeCache();
  }

  /** Pauses while nobody looks at the room. What is shown stays. */
  rest() {
    this.#loading.rest();
  }

  resume() {
    this.#loading.resume();
  }

  end() {
    this.#loading.leave();
    this.#loading.note(ClientFailure.refused("room_not_found", "The room is gone."));
    this.#store.removeAll();
    this.#cacheWriter.end();
    this.invalidate();
  }

  applyUpdate({ type, isWhole }) {
    if (type === "connected") this.#loading.connected();
    if (type === "recovered") this.#loading.recovered(isWhole);
    if (type === "disconnected") this.#loading.disconnected();
  }

  /** Applies an event of this room. */
  apply(name, data) {
    switch (name) {
      case "element:created": case "element:updated": this.#store.put(data.element); break;
      case "element:deleted": this.#store.delete(data.elementId); break;
      case "room:cleared": this.#store.clear(); break;
      default: return;
    }
    this.#changed();
  }

  writeCache() {
    return this.#cacheWriter.write();
  }

  /** The unsent changes, without the edits in conflict. */
  get #entries() {
    return this.#backing.outbox.entries(this.#lane).filter((entry) => !isConflict(entry));
  }

  /** The edits in conflict, oldest first, without those of elements that the person is deleting. */
  get #conflicts() {
    const deletions = this.#entries.filter(({ change, state }) => change.type === "delete" && state !== "failed");
    return this.#backing.outbox.entries(this.#lane).filter((entry) => isConflict(entry) && !deletions.some(({ id }) => id === entry.id));
  }

  #conflict(previous) {
    const [entry] = this.#conflicts;
    if (!entry) return null;
    const { id, failure, change: { kind, content } } = entry;
    const isKnown = Boolean(this.#store.get(id));
    const isDeleted = isDeletion(failure) || (this.#loading.isFetched && !isKnown);
    // Until the element is loaded, a screen has nothing to compare the edit with.
    if (!isKnown && !isDeleted) return null;
    return keepFields(previous, { id, type: kind, content, ...(isDeleted && { isDeleted }) });
  }

  #entriesOf(id) {
    return this.#entries.filter((entry) => entry.id === id);
  }

  #append(id, change) {
    return this.#backing.outbox.append(this.#lane, id, { roomId: this.roomId, userId: this.#ownId, ...change });
  }

  #target(id) {
    return { elementId: this.#store.get(id)?.id };
  }

  /**
   * Changes an element, and merges the change with the last unsent one. The two are not merged if the last one is being
   * sent, or if it is a create that may have reached the server.
   */
  #update(id, fields) {
    const entries = this.#entriesOf(id);
    const last = entries.at(-1);
    if (last?.change.type === "delete") return;
    const stored = this.#store.get(id);
    if (last && last.state !== "sending" && (last.change.type === "update" || !last.isAttempted || last.state === "failed")) {
      const isFirst = last.change.type === "update" && last.change.content === undefined;
      if (isFirst && fields.content !== undefined) this.#base(fields, stored, entries.length > 1);
      return this.#backing.outbox.revise(last, fields);
    }
    if (!stored && !last) return;
    const change = { type: "update", kind: stored?.type ?? last.change.kind, ...this.#target(id), ...fields };
    if (fields.content !== undefined) this.#base(change, stored, last !== undefined);
    this.#append(id, change);
  }

  /**
   * Sets the version that an edit is based on: the server's. If an unsent change of the element comes first, the
   * version is set later, from the answer to that change.
   */
  #base(change, stored, isBehindOwn) {
    if (isBehindOwn || !stored) return;
    change.version = stored.version;
    change.base = stored.content;
  }

  #noteOutbox(entry, value) {
    if (!entry) return this.invalidate();
    if (value.element) this.#store.put(value.element, entry.change.type === "create");
    if (value.deleted) this.#store.delete(value.deleted);
    this.#changed();
  }

  /** Joins the room. The conversation does so too, and its join is enough. */
  #join() {
    return this.#backing.server.join(this.roomId, { isOnce: true });
  }

  async #fetch(isCurrent) {
    // The room is joined before the elements are fetched, so that elements changed meanwhile arrive as events.
    const refusal = await this.#join();
    if (!isCurrent()) return {};
    this.#store.beginList();
    const elements = await this.#backing.server.elements(this.roomId);
    if (!isCurrent()) return {};
    this.#store.takeList(elements);
    return { refusal };
  }

  /** Runs after every change of the store. */
  #changed() {
    if (this.#store.isDoubtful && !this.#doubt) {
      this.#doubt = new Pause(this.#backing.platform, DOUBT_PAUSE);
      this.#doubt.done.then((isOver) => {
        if (!isOver) return;
        this.#doubt = null;
        if (this.#store.isDoubtful) this.#loading.begin();
      });
    }
    if (this.#loading.isFetched) this.#cacheWriter.writeSoon();
    this.invalidate();
  }
}

/** Copies a value, because the caller may modify its own later. */
function copy(value) {
  return value === null ? null : structuredClone(value);
}
