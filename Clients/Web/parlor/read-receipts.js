import { ClientFailure } from "./failure.js";
import { isUnread } from "./message-item.js";
import { LARGE_PAGE } from "./message-loader.js";
import { RecentValues } from "./recent.js";
import { Backoff, Pause } from "./timing.js";

/** Receipts are sent when none was added for this time, in milliseconds, or at the latest after `LONGEST_WAIT`. */
const PAUSE = 500;
const LONGEST_WAIT = 2_000;
/** The maximum number of ids in one request. */
const CALL_LIMIT = 500;
const REMEMBERED = 2_000;
/** The maximum number of pages in which unread messages are looked for: 20,000 messages. */
const SEARCHED_PAGES = 100;

/**
 * Sends read receipts in few requests: ids are gathered until none has come for a moment. Receipts that could not be
 * sent wait for the next connection, the next message that is read, or a pause. They are stored meanwhile, and when the
 * page may end. Then the next start sends them.
 */
export class ReadReceipts {
  #platform;
  #server;
  #ownId;
  #cache;
  #onCount;
  /** The receipts of each room. `kept` has the keys under which they are stored. */
  #rooms = new Map();
  /** What the keys of this tab end with. Each tab stores its receipts under keys of its own. */
  #tab = null;
  /** The last search for unread messages. Each waits for the one before. */
  #search = Promise.resolve();
  #retry = null;
  #seen = new RecentValues(REMEMBERED);
  #isEnded = false;

  /** @param onCount runs with the number of unsent receipts after each change. */
  constructor({ platform, server, ownId, cache, onCount }) {
    this.#platform = platform;
    this.#server = server;
    this.#ownId = ownId;
    this.#cache = cache;
    this.#onCount = onCount;
  }

  /** Reads the receipts that earlier pages could not send, and sends them. */
  async restore() {
    for (const [key, ids] of await this.#cache.receipts()) {
      const roomId = key.slice(0, key.indexOf("/"));
      this.#collect(roomId, ids);
      // A key with ids that were read again here has to be removed, too.
      this.#rooms.get(roomId)?.kept.add(key);
    }
    await this.flush();
  }

  /** Adds messages of others that were read. An id that was added before is ignored. */
  add(roomId, messageIds) {
    const room = this.#collect(roomId, messageIds);
    if (!room) return;
    const now = this.#platform.now();
    room.firstAt ??= now;
    this.#wait(roomId, room, Math.max(0, Math.min(PAUSE, room.firstAt + LONGEST_WAIT - now)));
  }

  /** @returns the room; undefined if no id is new. */
  #collect(roomId, messageIds) {
    const fresh = messageIds.filter((id) => !this.#seen.has(id));
    if (fresh.length === 0 || this.#isEnded) return undefined;
    let room = this.#rooms.get(roomId);
    if (!room) {
      room = { ids: new Set(), kept: new Set(), firstAt: null, wait: null, sending: null, backoff: makeBackoff() };
      this.#rooms.set(roomId, room);
    }
    for (const id of fresh) {
      this.#seen.set(id);
      room.ids.add(id);
    }
    this.#count();
    return room;
  }

  /**
   * Finds unread messages that are not loaded, the newest first, and adds them. A request that fails is repeated after a
   * pause, or with the next connection.
   * @param before the `seq` below which they are; undefined for all of the room's.
   * @param count returns how many there are. The search ends when it has found that many.
   * @returns a promise that resolves when their receipts were sent, or have failed.
   */
  addOlder(roomId, before, count) {
    this.#search = this.#search.then(() => this.#find(roomId, before, count));
    return this.#search;
  }

  async #find(roomId, before, count) {
    const backoff = makeBackoff();
    const found = [];
    let pages = 0;
    while (pages < SEARCHED_PAGES && found.length < count() && !this.#isEnded) {
      try {
        const { items, next } = await this.#server.messages(roomId, { before, limit: LARGE_PAGE });
        for (const message of items) if (isUnread(message, this.#ownId)) found.push(message.id);
        if (next === null || items.length === 0) break;
        before = items[0].seq;
        pages += 1;
        backoff.reset();
      } catch (error) {
        const failure = ClientFailure.of(error);
        if (!failure.isRetryable) break;
        this.#retry = new Pause(this.#platform, backoff.next(this.#platform.random(), failure.retryAfter));
        await this.#retry.done;
      }
    }
    // Not before: the receipts would lower the count.
    this.add(roomId, found);
    const room = this.#rooms.get(roomId);
    if (room) await this.#send(roomId, room);
  }

  /** Stores the unsent receipts, because the page may end. */
  async keepAll() {
    await Promise.all([...this.#rooms].map(([roomId, room]) => this.#keep(roomId, room)));
  }

  /** Sends all receipts now. Resolves when the last request has ended. */
  async flush() {
    this.#retry?.cancel();
    await Promise.all([...this.#rooms].map(([roomId, room]) => this.#send(roomId, room)));
  }

  /** Discards all receipts, because the person is no longer signed in. */
  end() {
    this.#isEnded = true;
    this.#retry?.cancel();
    for (const { wait } of this.#rooms.values()) wait?.cancel();
    this.#rooms.clear();
  }

  #count() {
    this.#onCount([...this.#rooms.values()].reduce((total, { ids }) => total + ids.size, 0));
  }

  /** Stores what a room has left, under this tab's key alone. */
  async #keep(roomId, room) {
    if (this.#isEnded || (room.ids.size === 0 && room.kept.size === 0)) return;
    this.#tab ??= this.#platform.makeId();
    const own = `${roomId}/${this.#tab}`;
    const changes = new Map([...room.kept].map((key) => [key, undefined]));
    room.kept.clear();
    if (room.ids.size > 0) {
      changes.set(own, [...room.ids]);
      room.kept.add(own);
    }
    await this.#cache.keepReceipts([...changes]);
  }

  #wait(roomId, room, milliseconds) {
    room.wait?.cancel();
    const wait = new Pause(this.#platform, milliseconds);
    room.wait = wait;
    wait.done.then((isOver) => isOver && this.#send(roomId, room));
  }

  /** Sends one request at a time. Receipts that are added meanwhile wait for the next one. */
  async #send(roomId, room) {
    while (room.sending) await room.sending;
    if (room.ids.size === 0 || this.#isEnded) return;
    room.wait?.cancel();
    room.wait = room.firstAt = null;
    room.sending = this.#sendAll(roomId, room);
    await room.sending;
  }

  async #sendAll(roomId, room) {
    const all = [...room.ids];
    for (let start = 0; start < all.length; start += CALL_LIMIT) {
      const ids = all.slice(start, start + CALL_LIMIT);
      try {
        await this.#server.markRead(roomId, ids);
        room.backoff.reset();
      } catch (error) {
        const failure = ClientFailure.of(error);
        // Receipts that the server refuses for good are dropped. Other receipts wait.
        if (failure.kind !== "refused" || failure.isRetryable || failure.code === "unauthenticated") {
          if (!room.wait && (failure.isRetryable || failure.kind === "refused")) this.#wait(roomId, room, room.backoff.next(this.#platform.random(), failure.retryAfter));
          break;
        }
      }
      for (const id of ids) room.ids.delete(id);
      this.#count();
    }
    room.sending = null;
    void this.#keep(roomId, room);
  }
}

function makeBackoff() {
  return new Backoff(10_000, 60_000);
}
