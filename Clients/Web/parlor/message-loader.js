import { ClientFailure } from "./failure.js";
import { Backoff, Pause } from "./timing.js";

const PAGE = 50;
/** The number of shown messages to fetch again after an absence that the server cannot replay. */
const REFETCH_LIMIT = 1_000;
/** The server's largest page. */
const LARGE_PAGE = 200;
/** The time for which a missing message may be merely late. */
const GAP_PAUSE = 500;

/** Fetches a conversation's pages: the newest on entering, older ones on request, and missing messages between two. */
export class MessageLoader {
  #platform;
  #server;
  #roomId;
  #ownId;
  #store;
  #loading;
  #onChange;
  #gap = null;
  #gapBackoff = new Backoff(500, 30_000);
  /** Whether the room was shown verified since it was entered: its messages are then worth fetching again. */
  #wasVerified = false;
  /** The lowest of others' messages that were unread when first fetched. */
  #firstUnreadSeq = null;
  #newestAtEntering = null;
  isLoadingOlder = false;

  constructor({ platform, server, roomId, ownId, store, loading, onChange }) {
    this.#platform = platform;
    this.#server = server;
    this.#roomId = roomId;
    this.#ownId = ownId;
    this.#store = store;
    this.#loading = loading;
    this.#onChange = onChange;
  }

  enter() {
    this.#wasVerified = false;
    this.#firstUnreadSeq = this.#newestAtEntering = null;
  }

  leave() {
    this.#gap?.cancel();
    this.#gap = null;
  }

  firstUnreadId(items) {
    if (this.#firstUnreadSeq === null) return null;
    const first = items.find((item) => item.message.seq >= this.#firstUnreadSeq && !item.isOwn);
    return first && first.message.seq <= this.#newestAtEntering ? first.id : null;
  }

  async fetchShown(isCurrent) {
    // Only after an absence: on entering, cached messages below the newest page may be far from it.
    const oldest = this.#wasVerified ? this.#store.items[0]?.message.seq : undefined;
    // Before the page: messages sent during the fetch arrive as events.
    const refusal = await this.join();
    if (!isCurrent()) return {};
    let page = await this.#server.messages(this.#roomId, { limit: PAGE });
    if (!isCurrent()) return {};
    this.#newestAtEntering ??= page.items.at(-1)?.seq ?? 0;
    this.#merge(page, { newest: true });
    let count = page.items.length;
    while (page.next !== null && count < REFETCH_LIMIT && page.items.length > 0 && page.items[0].seq > (oldest ?? Infinity)) {
      const before = page.items[0].seq;
      page = await this.#server.messages(this.#roomId, { before, limit: LARGE_PAGE });
      if (!isCurrent()) return {};
      this.#merge(page, { before });
      count += page.items.length;
    }
    this.#store.dropUnverified();
    // Events that arrived before the page have some of them, too.
    if (!this.#wasVerified) this.#noteUnread(this.#store.items.map((item) => item.message));
    this.#wasVerified = true;
    return { refusal };
  }

  async loadOlder() {
    const { floor } = this.#store;
    if (this.isLoadingOlder || !this.#loading.isFetched || !this.#store.hasOlder) return;
    const { epoch } = this.#loading;
    this.isLoadingOlder = true;
    this.#onChange();
    try {
      const page = await this.#server.messages(this.#roomId, { before: floor, limit: PAGE });
      if (epoch === this.#loading.epoch) {
        this.#loading.failure = null;
        this.#merge(page, { before: floor });
      }
    } catch (error) {
      if (epoch === this.#loading.epoch) this.#loading.failure = ClientFailure.of(error);
    }
    this.isLoadingOlder = false;
    this.#onChange();
  }

  /** Handles a gap between two messages: the missing one is late, or was lost, and then it is fetched. */
  fillGapSoon() {
    if (this.#gap || !this.#loading.isFetched || !this.#store.firstGap) return;
    this.#waitForGap(GAP_PAUSE);
  }

  #waitForGap(milliseconds) {
    const gap = new Pause(this.#platform, milliseconds);
    this.#gap = gap;
    gap.done.then(async (isOver) => {
      if (!isOver) return;
      const failure = await this.#fillGaps();
      // Left meanwhile, and perhaps entered again.
      if (this.#gap !== gap) return;
      this.#gap = null;
      if (failure) this.#waitForGap(this.#gapBackoff.next(this.#platform.random(), failure.retryAfter));
      else this.fillGapSoon();
    });
  }

  /** @returns the failure to retry after, or null. */
  async #fillGaps() {
    const { epoch } = this.#loading;
    const isCurrent = () => epoch === this.#loading.epoch && this.#loading.isFetched;
    let gap;
    while (isCurrent() && (gap = this.#store.firstGap)) {
      const [low, high] = gap;
      if (high - low >= REFETCH_LIMIT) {
        this.#loading.begin();
        return null;
      }
      try {
        const page = await this.#server.messages(this.#roomId, { after: low - 1, limit: LARGE_PAGE });
        if (!isCurrent()) return null;
        this.#gapBackoff.reset();
        this.#merge(page, { gap });
        this.#onChange();
      } catch (error) {
        if (!isCurrent()) return null;
        this.#loading.note(error);
        return this.#loading.failure.isRetryable ? this.#loading.failure : null;
      }
    }
    return null;
  }

  #merge(page, asked) {
    this.#noteUnread(page.items);
    this.#store.merge(page, asked);
  }

  #noteUnread(messages) {
    for (const message of messages) {
      if (message.senderId === this.#ownId || message.seq > this.#newestAtEntering) continue;
      if (message.readBy.some(({ userId }) => userId === this.#ownId)) continue;
      this.#firstUnreadSeq = Math.min(this.#firstUnreadSeq ?? Infinity, message.seq);
    }
  }

  /** @returns the server's reason why the room is not joined for now, if any. */
  async join() {
    try {
      await this.#server.join(this.#roomId);
      return null;
    } catch (error) {
      const failure = ClientFailure.of(error);
      if (failure.isRetryable) return failure;
      throw failure;
    }
  }
}
