import { ClientFailure } from "./failure.js";
import { Backoff, Pause } from "./timing.js";

const PAGE = 50;
/**
 * The maximum number of shown messages that are fetched again on entering, and after an absence that the server cannot
 * replay.
 */
const REFETCH_LIMIT = 1_000;
/** The largest page that the server returns. */
export const LARGE_PAGE = 200;
/** The time, in milliseconds, in which a missing message may still arrive by itself. */
const GAP_PAUSE = 500;

/**
 * Fetches the pages of a conversation: the newest when it is entered, older ones on request, and messages missing in
 * between.
 */
export class MessageLoader {
  #platform;
  #server;
  #roomId;
  #store;
  #loading;
  #onChange;
  #gap = null;
  #gapBackoff = new Backoff(500, 30_000);
  /**
   * True if all shown messages were verified since the room was entered. Then they are all fetched again after an
   * absence.
   */
  #wasVerified = false;
  /** The `seq` of the first message of others that was unread when the room was opened; null if there was none. */
  #firstUnreadSeq = null;
  #newestAtEntering = null;
  isLoadingOlder = false;

  constructor({ platform, server, roomId, store, loading, onChange }) {
    this.#platform = platform;
    this.#server = server;
    this.#roomId = roomId;
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
    // When the person came may have been unknown until now.
    const first = items.find(({ message }) => message.seq >= this.#firstUnreadSeq && this.#store.isToRead(message));
    return first && first.message.seq <= this.#newestAtEntering ? first.id : null;
  }

  async fetchShown(isCurrent) {
    // The room is joined before the page is fetched, so that messages sent meanwhile arrive as events.
    const refusal = await this.#server.join(this.#roomId);
    if (!isCurrent()) return {};
    let page = await this.#server.messages(this.#roomId, { limit: PAGE });
    if (!isCurrent()) return {};
    this.#newestAtEntering ??= page.items.at(-1)?.seq ?? 0;
    const oldest = this.#oldestToFetch(page);
    this.#merge(page, { newest: true });
    let count = page.items.length;
    while (page.next !== null && count < REFETCH_LIMIT && page.items.length > 0 && page.items[0].seq > oldest) {
      // On entering, what has come is shown before the rest. After an absence, messages may be missing between what is
      // shown and what has come, and would be inserted above what the person reads.
      if (!this.#wasVerified) this.#onChange();
      const before = page.items[0].seq;
      page = await this.#server.messages(this.#roomId, { before, limit: Math.min(LARGE_PAGE, before - oldest) });
      if (!isCurrent()) return {};
      this.#merge(page, { before });
      count += page.items.length;
    }
    this.#store.dropUnverified();
    // Unread messages may also have come with events before the page.
    if (!this.#wasVerified) this.#noteUnread(this.#store.items.map((item) => item.message));
    this.#wasVerified = true;
    return { refusal };
  }

  /**
   * Returns the `seq` down to which shown messages are fetched again, because the person may be reading them. On
   * entering, cached messages may be far below the newest page. Those are dropped.
   */
  #oldestToFetch({ items: [first] }) {
    const [low, high] = this.#store.unverified ?? [];
    return low !== undefined && (this.#wasVerified || high >= first?.seq - 1) ? low : Infinity;
  }

  /** @returns false if the shown messages have to be fetched first. */
  async loadOlder(limit = PAGE) {
    const { floor } = this.#store;
    if (!this.#loading.isFetched) return false;
    if (this.isLoadingOlder || !this.#store.hasOlder) return true;
    const { epoch } = this.#loading;
    this.isLoadingOlder = true;
    this.#onChange();
    try {
      const page = await this.#server.messages(this.#roomId, { before: floor, limit });
      if (epoch === this.#loading.epoch) {
        this.#loading.failure = null;
        this.#merge(page, { before: floor });
      }
    } catch (error) {
      if (epoch === this.#loading.epoch) this.#loading.failure = ClientFailure.of(error);
    }
    this.isLoadingOlder = false;
    this.#onChange();
    return true;
  }

  /** Fetches messages that are missing between two others, unless they arrive within `GAP_PAUSE`. */
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
      // The room may have been left meanwhile, and entered again.
      if (this.#gap !== gap) return;
      this.#gap = null;
      if (failure) this.#waitForGap(this.#gapBackoff.next(this.#platform.random(), failure.retryAfter));
      else this.fillGapSoon();
    });
  }

  /** @returns the failure after which to retry, or null. */
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
      if (message.seq > this.#newestAtEntering || !this.#store.isUnread(message)) continue;
      this.#firstUnreadSeq = Math.min(this.#firstUnreadSeq ?? Infinity, message.seq);
    }
  }
}
