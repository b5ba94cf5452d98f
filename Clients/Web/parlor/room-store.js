import { RecentValues } from "./recent.js";
import { activityAt, noteContent, noteMessages, roomRecord, takeName } from "./room-record.js";

/** For this time after an answer, in milliseconds, an event may already be included in it. A later event is new. */
const DOUBTFUL = 2_000;
const REMEMBERED_DELETIONS = 64;

/**
 * The rooms, as events and answers change them, and the data that events lacked. It does no I/O.
 *
 * `needs` has, by room, the data that an event lacked. A second event may bring it, and an answer always does.
 * Events about other people's rooms are ignored.
 */
export class RoomStore {
  records = new Map();
  needs = new Map();
  /**
   * Known rooms that an answer with all rooms lacked. Each has to be fetched, because the answer may be older than the
   * room.
   */
  missing = new Set();
  deletedMessages = new RecentValues(REMEMBERED_DELETIONS);
  /** The `updatedAt` of the last `room:updated` event of each room, until its `:global` event arrives. */
  namedAt = new Map();
  #now;
  #events = 0;
  /** Kept while requests are in progress: for each room, the number of its last event, and of its last rename. */
  #touched = new Map();
  #named = new Map();
  #loads = 0;
  #answeredAt = new Map();

  constructor(now) {
    this.#now = now;
  }

  // Answers

  beginLoad() {
    this.#loads += 1;
    return this.#events;
  }

  abandon() {
    this.#loads -= 1;
    if (this.#loads > 0) return;
    this.#touched.clear();
    this.#named.clear();
  }

  /** Applies an answer with all rooms. @returns the ids of the rooms that events have changed since the request. */
  finishAll(load, answer, missingFields = new Set()) {
    const overtaken = new Set([...this.#touched].filter(([, at]) => at > load).map(([id]) => id));
    const ids = new Set(answer.map((room) => room.id));
    for (const id of [...this.records.keys()]) {
      if (ids.has(id) || overtaken.has(id)) continue;
      this.forget(id);
      this.missing.add(id);
    }
    for (const room of answer) {
      this.missing.delete(room.id);
      this.records.set(room.id, this.#take(room, load, overtaken.has(room.id), missingFields));
    }
    for (const id of this.records.keys()) if (overtaken.has(id)) this.need(id, "answer");
    this.abandon();
    return overtaken;
  }

  /**
   * Applies an answer with one room.
   * @param isChange true if the request created or changed the room.
   * @returns false if an event has changed the room since the request.
   */
  finishOne(load, answer, { missingFields = new Set(), isChange = false } = {}) {
    const isOvertaken = (this.#touched.get(answer.id) ?? -1) > load;
    this.records.set(answer.id, this.#take(answer, load, isOvertaken, missingFields));
    this.missing.delete(answer.id);
    if (isOvertaken) this.need(answer.id, "answer");
    this.abandon();
    if (isChange && this.#loads > 0) {
      // Answers to other requests in progress may be older than this change.
      this.#events += 1;
      this.#touched.set(answer.id, this.#events);
      this.#named.set(answer.id, this.#events);
    }
    return !isOvertaken;
  }

  forget(id) {
    this.records.delete(id);
    this.missing.delete(id);
    this.needs.delete(id);
    this.#answeredAt.delete(id);
    this.namedAt.delete(id);
  }

  #take(answer, load, isOvertaken, missingFields) {
    this.#answeredAt.set(answer.id, this.#now());
    this.needs.delete(answer.id);
    const record = roomRecord(answer);
    const known = this.records.get(answer.id);
    if (!known || !(isOvertaken || missingFields.size > 0)) return record;
    if ((this.#named.get(answer.id) ?? -1) > load) {
      const { name, displayName } = known.room;
      record.room = { ...record.room, name, displayName };
    }
    if (known.messagesAt !== null) noteMessages(record, known.messagesAt);
    noteContent(record, known.contentAt);
    if (isOvertaken || missingFields.has("messages")) {
      const [a, b] = [known.room.lastMessage, record.room.lastMessage];
      const last = a && b ? (a.createdAt > b.createdAt ? a : b) : a ?? b;
      record.room = { ...record.room, lastMessage: last && this.deletedMessages.has(last.id) ? null : last };
    }
    return record;
  }

  // Events

  /**
   * Applies an event, except to the counts, which `RoomCounts` keeps.
   * @returns the id of its room; null if the room or the event is unknown here.
   */
  apply(name, data) {
    const roomId = data.roomId ?? data.message?.roomId ?? data.element?.roomId ?? data.room?.id;
    if (name === "room:created") return this.#applyNew(data.room);
    if (name === "room:created:global" || !Object.hasOwn(APPLY, name)) return null;
    const isUnseen = name === "element:created:global";
    if (!this.#touch(roomId, isUnseen || name === "room:badges")) return null;
    APPLY[name].call(this, this.records.get(roomId), data);
    return roomId;
  }

  /**
   * Notes that a room has to be fetched, because the person may no longer be in it. The answer to an earlier request
   * does not settle that.
   */
  check(id) {
    if (this.#touch(id)) this.need(id, "answer");
    else this.missing.add(id);
  }

  need(id, need) {
    this.needs.set(id, (this.needs.get(id) ?? new Set()).add(need));
  }

  meet(id, need) {
    const needs = this.needs.get(id);
    if (needs?.delete(need) && needs.size === 0) this.needs.delete(id);
  }

  noteName(id, at) {
    this.namedAt.set(id, at);
    if (this.#loads > 0) this.#named.set(id, this.#events);
  }

  #applyNew(room) {
    this.#touch(room.id);
    if (!this.records.has(room.id)) this.records.set(room.id, roomRecord(room));
    return room.id;
  }

  /**
   * Notes an event of a room.
   * @param isDoubtful true if the last answer may already include it.
   * @returns false for unknown rooms.
   */
  #touch(id, isDoubtful = false) {
    this.#events += 1;
    if (this.#loads > 0) this.#touched.set(id, this.#events);
    if (!this.records.has(id)) return false;
    const answered = this.#answeredAt.get(id);
    if (isDoubtful && answered !== undefined && this.#now() - answered < DOUBTFUL) this.need(id, "answer");
    return true;
  }

  /**
   * Returns a time in milliseconds for an event that has only a whole second. It is later than all known times of that
   * second. If another room has a time in that second, the real order is unknown, so both rooms are fetched: the
   * other room's time may come from such an event, too.
   */
  fullTime(time, roomId) {
    const second = Date.parse(time);
    let newest = -Infinity;
    for (const record of this.records.values()) {
      const at = activityAt(record);
      if (at < second || at >= second + 1_000) continue;
      newest = Math.max(newest, at);
      if (record.id === roomId) continue;
      this.need(record.id, "answer");
      this.need(roomId, "answer");
    }
    return newest === -Infinity ? second : Math.min(newest + 0.5, second + 999.5);
  }
}

/** The change that each event makes to a room. `this` is the store. */
const APPLY = {
  "message:new"(record, { message }) {
    this.meet(record.id, `message ${message.id}`);
    if (this.deletedMessages.has(message.id) || record.room.lastMessage?.createdAt > message.createdAt) return;
    noteMessages(record, Date.parse(message.createdAt));
    const { id, senderId, text, createdAt } = message;
    record.room = { ...record.room, lastMessage: { id, senderId, text, createdAt } };
  },
  "message:new:global"(record, { messageId, messagesUpdatedAt }) {
    // Ids sort by creation. A message that is not newer than the last one is already included.
    if (messageId <= record.room.lastMessage?.id || this.deletedMessages.has(messageId)) return;
    noteMessages(record, this.fullTime(messagesUpdatedAt, record.id));
    this.need(record.id, `message ${messageId}`);
  },
  "message:deleted"(record, { messageId }) {
    applyDeletion(this, record, messageId);
    this.need(record.id, `deletion ${messageId}`);
  },
  "message:deleted:global"(record, { messageId, messagesUpdatedAt }) {
    applyDeletion(this, record, messageId);
    noteMessages(record, this.fullTime(messagesUpdatedAt, record.id));
    this.meet(record.id, `deletion ${messageId}`);
  },
  "element:created": applyElement,
  "element:updated": applyElement,
  "element:deleted": applyElement,
  "room:cleared": applyElement,
  "element:created:global": applyElementGlobal,
  "element:updated:global": applyElementGlobal,
  "element:deleted:global": applyElementGlobal,
  "room:cleared:global": applyElementGlobal,
  "room:updated"(record, { room }) {
    this.noteName(record.id, room.updatedAt);
    const at = this.fullTime(room.updatedAt, record.id);
    takeName(record, room.name);
    noteContent(record, at);
  },
  "room:updated:global"(record, { updatedAt }) {
    // The event does not say what has changed. If the room's own event came just before, it was the name.
    const named = this.namedAt.get(record.id);
    this.namedAt.delete(record.id);
    if (named === updatedAt) return;
    noteContent(record, this.fullTime(updatedAt, record.id));
    this.need(record.id, "answer");
  },
  "room:badges"() {},
};

function applyDeletion(store, record, messageId) {
  store.deletedMessages.set(messageId);
  store.meet(record.id, `message ${messageId}`);
  if (record.room.lastMessage?.id !== messageId) return;
  // The deleted message is no longer shown. The message before it comes with the answer.
  record.room = { ...record.room, lastMessage: null };
  store.need(record.id, "answer");
}

/**
 * Applies an element event of a room. It has no element count. The `:global` event that comes with it has one, unless
 * it was missed.
 */
function applyElement(record, { element, elementId }) {
  if (element) noteContent(record, Date.parse(element.updatedAt));
  this.need(record.id, `element ${element?.id ?? elementId}`);
}

function applyElementGlobal(record, { elementId, updatedAt }) {
  this.meet(record.id, `element ${elementId}`);
  noteContent(record, this.fullTime(updatedAt, record.id));
}
