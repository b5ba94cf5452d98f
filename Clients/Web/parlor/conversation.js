import { CacheWriter } from "./cache.js";
import { ClientFailure } from "./failure.js";
import { Loading } from "./loading.js";
import { pendingItem } from "./message-item.js";
import { MessageLoader } from "./message-loader.js";
import { MessageStore } from "./message-store.js";
import { messageText } from "./message-text.js";
import { Observable, keepFields, keepList } from "./observable.js";
import { Typists, TypingSignal } from "./typing.js";

/** The number of a room's messages that are cached for the next start. */
const CACHED = 200;

/** Returns the name of the lane for a room's messages in the outbox. */
export function messagesLane(roomId) {
  return `${roomId}/messages`;
}

/** One room's messages, which events keep up to date. See parlor.d.ts. */
export class Conversation extends Observable {
  #backing;
  #ownId;
  #lane;
  #store;
  #loading;
  #loader;
  #signal;
  #typists;
  #pendingItems = new Map();
  #isGone = false;
  #removedBy = null;
  /** The last refusal after which the account was asked to check the room. */
  #checkedFailure = null;
  #unfollow = null;
  #cacheWriter;
  /** Rises each time the room is entered or left. */
  #visit = 0;
  /** Rises when events may have been missed: after a loss of the connection, and when the room is left. */
  #losses = 0;
  /** The value of `#losses` when each message was sent. */
  #sentAfter = new Map();
  /** The value of `#losses` when unread messages were last looked for that are not loaded. */
  #searchedAfter = -1;

  /**
   * @param backing what all conversations of one person share: `{ platform, server, outbox, receipts, cache, ownId,
   * unreadCount, onEnd, onTyping, onGone }`.
   */
  constructor(roomId, backing, { isAway }) {
    super();
    this.roomId = roomId;
    this.#backing = backing;
    this.#ownId = backing.ownId;
    this.#lane = messagesLane(roomId);
    const { platform, server } = backing;
    this.#store = new MessageStore(this.#ownId);
    this.#cacheWriter = new CacheWriter(platform, () => this.#store.version, () => backing.cache.keepMessages(roomId, this.#store.newest(CACHED)));
    this.#loading = new Loading(platform, {
      isAway, fetch: (isCurrent) => this.#fetch(isCurrent), rejoin: async () => ({ refusal: await server.join(roomId) }), onChange: () => this.#changed(),
    });
    this.#loader = new MessageLoader({
      platform, server, roomId, store: this.#store, loading: this.#loading, onChange: () => this.#changed(),
    });
    this.#signal = new TypingSignal(platform, (isTyping) => server.setTyping(roomId, isTyping));
    this.#typists = new Typists(this.#ownId, () => {
      backing.onTyping(roomId, this.#typists.ids);
      this.invalidate();
    });
  }

  makeSnapshot(previous) {
    const stored = this.#store.items;
    const pending = this.#backing.outbox.entries(this.#lane).filter((entry) => !this.#store.has(entry.id));
    const items = [...stored, ...pending.map((entry) => this.#pendingItem(entry))];
    return keepFields(previous, {
      items: keepList(previous?.items, items),
      hasOlder: this.#store.hasOlder,
      isLoading: this.#loading.isLoading,
      isLoadingOlder: this.#loader.isLoadingOlder,
      isVerified: this.#loading.isVerified,
      failure: this.#loading.failure,
      typing: keepList(previous?.typing, this.#typists.ids),
      firstUnreadId: this.#loader.firstUnreadId(stored),
      isGone: this.#isGone,
      removedBy: this.#removedBy,
    });
  }

  // Called by screens

  send(text) {
    if (!messageText.canBeSent(text) || this.#isGone) return null;
    this.#signal.stopped();
    const id = this.#backing.platform.makeId();
    this.#backing.outbox.append(this.#lane, id, { type: "message", roomId: this.roomId, text: text.trim() });
    return id;
  }

  retry(itemId) {
    const entry = this.#entry(itemId);
    if (entry) this.#backing.outbox.retry(entry);
  }

  discard(itemId) {
    const entry = this.#entry(itemId);
    return entry ? this.#backing.outbox.discard(entry) : false;
  }

  async delete(itemId) {
    const messageId = this.#store.items.find((item) => item.id === itemId)?.message.id;
    if (!messageId) return;
    try {
      await this.#backing.server.deleteMessage(this.roomId, messageId);
    } catch (error) {
      // Another device deleted it first, or an earlier answer was lost.
      if (!ClientFailure.of(error).is("message_not_found")) throw error;
    }
    this.#store.delete(messageId);
    this.#changed();
  }

  loadOlder(limit) {
    return this.#loader.loadOlder(limit);
  }

  refresh() {
    return this.#loading.refresh();
  }

  noteVisible(itemIds, isAtEnd = false) {
    const ids = new Set(itemIds);
    this.#backing.onEnd(this.roomId, isAtEnd);
    if (ids.size > 0) this.#addReceipts(this.#unread.filter(({ id }) => ids.has(id)));
  }

  markReadUpTo(seq) {
    const unread = this.#unread;
    this.#addReceipts(unread.filter(({ message }) => message.seq <= seq));
    const { receipts, unreadCount } = this.#backing;
    const count = unreadCount(this.roomId);
    if (count === null || !this.#loading.isVerified || this.#searchedAfter === this.#losses) return;
    this.#searchedAfter = this.#losses;
    const older = count - unread.length;
    if (older > 0) void receipts.addOlder(this.roomId, this.#store.floor, () => Math.min(older, unreadCount(this.roomId)));
  }

  typed() {
    this.#signal.typed();
  }

  stoppedTyping() {
    this.#signal.stopped();
  }

  // Called by the account, not by screens

  setRoom(room) {
    this.#store.setRoom(room);
    this.#changed();
  }

  enter() {
    const visit = ++this.#visit;
    this.#unfollow = this.#backing.outbox.follow(this.#lane, (entry, message) => this.#noteOutbox(entry, message));
    this.#backing.cache.messages(this.roomId).then((cached) => {
      if (visit !== this.#visit) return;
      const { isFetched } = this.#loading;
      const isEmpty = this.#store.items.length === 0;
      if (!isFetched) this.#store.showCached(cached);
      // What came before the cache was read is not in it. A page without messages may have come too.
      this.#cacheWriter.begin(isEmpty && !isFetched ? this.#store.version : undefined);
      this.#changed();
    });
    this.#loader.enter();
    this.#loading.enter();
  }

  /** @returns a promise that resolves when the shown messages are cached. */
  leave() {
    this.#visit += 1;
    this.#losses += 1;
    this.#unfollow?.();
    this.#loading.leave();
    this.#loader.leave();
    this.#store.markUnverified();
    this.#signal.stopped();
    this.#typists.clear();
    return this.#cacheWriter.write();
  }

  /** Pauses while nobody looks at the room. What is shown stays. */
  rest() {
    this.#signal.stopped();
    this.#typists.clear();
    this.#loading.rest();
  }

  resume() {
    this.#loading.resume();
  }

  /** Removes everything that is shown, because the person no longer belongs to the room. */
  end(removedBy = null) {
    this.#isGone = true;
    this.#removedBy = removedBy;
    this.#loading.leave();
    this.#loading.note(ClientFailure.refused("room_not_found", "The room is gone."));
    this.#store.removeAll();
    this.#cacheWriter.end();
    this.#typists.clear();
    this.invalidate();
  }

  flush() {
    this.#signal.stopped();
    return this.#cacheWriter.write();
  }

  applyUpdate({ type, isWhole }) {
    if (type === "connected") this.#loading.connected();
    if (type === "recovered") {
      if (!isWhole) this.#losses += 1;
      this.#loading.recovered(isWhole);
    }
    // The server may not be able to say that somebody has stopped.
    if (type === "slow") this.#typists.clear();
    if (type === "disconnected") {
      this.#losses += 1;
      this.#typists.clear();
      this.#loading.disconnected();
    }
  }

  /** Applies an event of this room. */
  apply(name, data) {
    switch (name) {
      case "message:new":
        this.#store.insert(data.message);
        this.#typists.end(data.message.senderId);
        break;
      case "message:updated": this.#store.insert(data.message); break;
      case "message:deleted": this.#store.delete(data.messageId); break;
      case "messages:read": this.#store.markRead(data.messageIds, data.userId, data.readAt); break;
      case "message:typing": return this.#typists.note(data.userId, data.isTyping);
      default: return;
    }
    this.#changed();
  }

  get #unread() {
    return this.#store.items.filter(({ isUnread }) => isUnread);
  }

  #addReceipts(items) {
    this.#backing.receipts.add(this.roomId, items.map(({ message }) => message.id));
  }

  async #fetch(isCurrent) {
    this.#store.markUnverified();
    const result = await this.#loader.fetchShown(isCurrent);
    if (isCurrent()) this.#changed();
    return result;
  }

  #noteOutbox(entry, message) {
    if (!entry) {
      for (const { id, state } of this.#backing.outbox.entries(this.#lane)) {
        if (state === "sending" && !this.#sentAfter.has(id)) this.#sentAfter.set(id, this.#losses);
        if (state !== "sending") this.#sentAfter.delete(id);
      }
      return this.invalidate();
    }
    const isOfNow = this.#sentAfter.get(entry.id) === this.#losses;
    this.#sentAfter.delete(entry.id);
    this.#store.insert({ ...message, tempId: message.tempId ?? entry.id });
    this.#changed();
    // Events may have been missed since the message was sent, perhaps its deletion. So fetch again.
    if (!isOfNow) this.#loading.begin();
  }

  /** Runs after every change of the store. */
  #changed() {
    const { outbox } = this.#backing;
    // An event or a page has shown that the server has these messages, so they need not be sent again.
    for (const entry of [...outbox.entries(this.#lane)]) if (this.#store.has(entry.id)) outbox.remove(entry);
    this.#loader.fillGapSoon();
    const { failure } = this.#loading;
    if (failure?.is("room_not_found") && failure !== this.#checkedFailure && !this.#isGone) {
      this.#checkedFailure = failure;
      this.#backing.onGone(this.roomId);
    }
    if (this.#loading.isFetched) this.#cacheWriter.writeSoon();
    this.invalidate();
  }

  #pendingItem(entry) {
    const known = this.#pendingItems.get(entry);
    if (known?.state === entry.state) return known.item;
    const shown = { state: entry.state, item: pendingItem(entry, this.#ownId) };
    this.#pendingItems = new Map([...this.#pendingItems].filter(([other]) => !other.isRemoved)).set(entry, shown);
    return shown.item;
  }

  #entry(itemId) {
    return this.#backing.outbox.entries(this.#lane).find((entry) => entry.id === itemId);
  }
}
