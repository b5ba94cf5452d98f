import { isUnread, messageItem } from "./message-item.js";
import { RecentValues } from "./recent.js";
import { hasAllPeople } from "./room-record.js";
import { SeqRanges } from "./seq-ranges.js";

/** The number of deleted ids and early receipts to remember: enough for the requests that are in progress. */
const REMEMBERED = 1_000;

/**
 * One room's messages in order. It does not know where they come from.
 *
 * `items` is sorted by `seq`, has each message once and no deleted ones, even if data arrives late, twice or out of
 * order. The store knows which ranges of `seq` it has completely: a number that is missing within them was deleted.
 * `version` rises with each change.
 */
export class MessageStore {
  #ownId;
  /** Who has to read what was sent since they came, as `{ userId, joinedAt }`; empty until all are known. */
  #readers = [];
  #joinedAt = -Infinity;
  #firstUnreadSeq = null;
  /** The messages by `seq`, ascending. */
  #items = [];
  #seqs = new Map();
  #tempIds = new Set();
  #verified = new SeqRanges();
  /**
   * The lowest `seq` that pages have loaded. An event with an older message is ignored, because that message comes with
   * its page.
   */
  #floor = null;
  #gone = new RecentValues(REMEMBERED);
  /** Receipts that arrived before their message. */
  #earlyReceipts = new RecentValues(REMEMBERED);
  version = 0;

  constructor(ownId) {
    this.#ownId = ownId;
  }

  /** The items. Callers must not modify the array. The store changes it later, because copies would cost too much. */
  get items() {
    return this.#items;
  }

  /** Before a page has been loaded, there is at least what comes before the cached messages. */
  get hasOlder() {
    return (this.#floor ?? this.#items[0]?.message.seq ?? 1) > 1;
  }

  get floor() {
    return this.#floor;
  }

  /** The first gap between two verified ranges, as `[low, high]`; undefined if there is none. */
  get firstGap() {
    return this.#verified.firstGap;
  }

  /**
   * The lowest and the highest `seq` of the messages that were not fetched since `markUnverified()`; undefined if there
   * are none.
   */
  get unverified() {
    const isUnverified = ({ message }) => !this.#verified.contains(message.seq);
    const last = this.#items.findLast(isUnverified);
    return last && [this.#items.find(isUnverified).message.seq, last.message.seq];
  }

  /** Returns true if the person's own message with this `tempId` is stored. */
  has(tempId) {
    return this.#tempIds.has(tempId);
  }

  /**
   * Sets the room, as the server had it last. A message counts as read once all who were there when it was sent have
   * read it. Until all people are known, only the server's value counts.
   */
  setRoom({ participants, participantCount = 0, firstUnreadSeq = null }) {
    const people = participants.map(({ userId, joinedAt }) => ({ userId, joinedAt: joinedAt ? Date.parse(joinedAt) : -Infinity }));
    this.#readers = hasAllPeople({ participants, participantCount }) ? people : [];
    this.#joinedAt = people.find(({ userId }) => userId === this.#ownId)?.joinedAt ?? -Infinity;
    this.#firstUnreadSeq = firstUnreadSeq;
    for (const { message } of [...this.#items]) this.#put(message);
  }

  /** Returns whether a message is somebody else's, and was sent since the person came. Earlier ones need no reading. */
  isToRead({ senderId, createdAt }) {
    return senderId !== this.#ownId && Date.parse(createdAt) >= this.#joinedAt;
  }

  isUnread(message) {
    if (!isUnread(message, this.#ownId) || !this.isToRead(message)) return false;
    // Of many readers, the message names only the first ones. The person may be one of the others.
    return !(message.readCount > message.readBy.length) || message.seq >= (this.#firstUnreadSeq ?? Infinity);
  }

  newest(count) {
    return this.#items.slice(-count).map((item) => item.message);
  }

  /** Inserts a message from an event, or from the answer to sending it. */
  insert(message) {
    if (this.#gone.has(message.id)) return;
    if (!this.#at(message.seq)) {
      if (this.#verified.contains(message.seq) || message.seq < (this.#floor ?? 1)) return;
      this.#verified.insert(message.seq);
    }
    this.#put(message);
  }

  /** Removes a message for good: late data does not bring it back. */
  delete(messageId) {
    this.#gone.set(messageId);
    const seq = this.#seqs.get(messageId);
    if (seq !== undefined) this.#removeAt(this.#indexAtOrAfter(seq));
  }

  markRead(messageIds, userId, readAt) {
    for (const id of messageIds) {
      const item = this.#at(this.#seqs.get(id));
      if (item) {
        this.#put(withReceipts(item.message, [{ userId, readAt }], this.#readers));
      } else {
        const others = (this.#earlyReceipts.get(id) ?? []).filter((receipt) => receipt.userId !== userId);
        this.#earlyReceipts.set(id, [...others, { userId, readAt }]);
      }
    }
  }

  /** Adds cached messages, which are unverified. They never replace what the server has sent meanwhile. */
  showCached(messages) {
    for (const message of messages) {
      if (this.#gone.has(message.id) || this.#at(message.seq) || this.#verified.contains(message.seq)) continue;
      this.#put(message);
    }
  }

  /**
   * Marks all messages as unverified, because events may have been missed. They stay visible, and have to be fetched
   * again.
   */
  markUnverified() {
    this.#verified.clear();
  }

  /**
   * Merges a page from the server. A message that is missing within the page's bounds was deleted. Events that arrived
   * while the page was fetched take precedence over it.
   *
   * @param asked which page it is: `{ newest: true }`, `{ before: seq }`, or `{ gap: [low, high] }`, which begins with
   * `low`.
   */
  merge({ items: page, next }, asked) {
    const messages = [...page].sort((a, b) => a.seq - b.seq);
    const [low, high] = this.#bounds(messages, next !== null, asked);
    if (low <= high) {
      const listed = new Set(messages.map((message) => message.seq));
      for (let index = this.#indexAtOrAfter(low); index < this.#items.length && this.#items[index].message.seq <= high;) {
        const { message } = this.#items[index];
        if (listed.has(message.seq)) {
          index += 1;
        } else {
          this.#gone.set(message.id);
          this.#removeAt(index);
        }
      }
      this.#verified.insert(low, high);
    }
    for (const message of messages) if (!this.#gone.has(message.id)) this.#put(message);
    if (asked.gap) return;
    const lowest = next === null ? 1 : messages[0]?.seq;
    if (lowest !== undefined) this.#setFloor(Math.min(this.#floor ?? lowest, lowest));
  }

  /** Removes messages that were not fetched since `markUnverified()`. Older pages bring them back. */
  dropUnverified() {
    for (let index = this.#items.length - 1; index >= 0; index -= 1) {
      if (!this.#verified.contains(this.#items[index].message.seq)) this.#removeAt(index);
    }
    if (this.#verified.lowest !== undefined) this.#setFloor(this.#verified.lowest);
  }

  /** Removes all messages, because the person no longer belongs to the room. */
  removeAll() {
    if (this.#items.length > 0) this.version += 1;
    this.#items = [];
    this.#seqs.clear();
    this.#tempIds.clear();
    this.#verified.clear();
    this.#setFloor(null);
  }

  #setFloor(floor) {
    if (floor !== this.#floor) this.version += 1;
    this.#floor = floor;
  }

  /** Returns the range of `seq` that a page covers completely. */
  #bounds(messages, hasMore, { before, gap }) {
    const [first, last] = [messages[0]?.seq, messages.at(-1)?.seq];
    if (gap) return [gap[0], hasMore ? last ?? 0 : Math.max(last ?? 0, gap[1])];
    const low = hasMore ? first ?? Infinity : 1;
    if (before !== undefined) return [low, before - 1];
    // Unverified messages were on the server before the page was requested, so the page covers them.
    return [low, Math.max(last ?? 0, this.unverified?.[1] ?? 0)];
  }

  /** Stores a message at its `seq`. Known receipts stay. */
  #put(message) {
    const index = this.#indexAtOrAfter(message.seq);
    const known = this.#items[index]?.message.seq === message.seq ? this.#items[index] : undefined;
    const early = this.#earlyReceipts.get(message.id) ?? [];
    if (known?.message.id === message.id) {
      message = withReceipts(message, [...known.message.readBy, ...early], this.#readers, known.message.readStatus);
      if (message.tempId === null && known.message.tempId !== null) message = { ...message, tempId: known.message.tempId };
      if (known.isUnread === this.isUnread(message) && JSON.stringify(message) === JSON.stringify(known.message)) return;
    } else {
      message = withReceipts(message, early, this.#readers);
    }
    if (known) this.#forget(known.message);
    this.#items.splice(index, known ? 1 : 0, messageItem(message, this.#ownId, this.isUnread(message)));
    this.#seqs.set(message.id, message.seq);
    if (message.senderId === this.#ownId && message.tempId !== null) this.#tempIds.add(message.tempId);
    this.version += 1;
  }

  #removeAt(index) {
    const [item] = this.#items.splice(index, 1);
    this.#forget(item.message);
    this.version += 1;
  }

  #forget(message) {
    this.#seqs.delete(message.id);
    if (message.senderId === this.#ownId) this.#tempIds.delete(message.tempId);
  }

  #at(seq) {
    const item = this.#items[this.#indexAtOrAfter(seq)];
    return item?.message.seq === seq ? item : undefined;
  }

  #indexAtOrAfter(seq) {
    // Nearly all messages go to the end, so it is checked first.
    if (this.#items.length === 0 || this.#items.at(-1).message.seq < seq) return this.#items.length;
    let [low, high] = [0, this.#items.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#items[middle].message.seq >= seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function withReceipts(message, receipts, readers, wasRead = false) {
  const known = new Set(message.readBy.map((receipt) => receipt.userId));
  const readBy = [...message.readBy];
  for (const receipt of receipts) {
    if (receipt.userId === message.senderId || known.has(receipt.userId)) continue;
    known.add(receipt.userId);
    readBy.push(receipt);
  }
  readBy.sort((a, b) => (a.readAt === b.readAt ? (a.userId < b.userId ? -1 : 1) : a.readAt < b.readAt ? -1 : 1));
  const sentAt = Date.parse(message.createdAt);
  const others = readers.filter(({ userId, joinedAt }) => userId !== message.senderId && joinedAt <= sentAt);
  const readStatus = message.readStatus || wasRead || (others.length > 0 && others.every(({ userId }) => known.has(userId)));
  return { ...message, readBy, readStatus };
}
