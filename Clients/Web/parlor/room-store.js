import { RecentValues } from "./recent.js";
import { activityAt, hasAllPeople, noteContent, noteMessages, roomRecord, takeName, takePeople } from "./room-record.js";

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
  /**
   * The `updatedAt` of the last event of each room that said its name or people, until its `room:updated:global`
   * arrives.
   */
  saidAt = new Map();
  #now;
  #events = 0;
  /**
   * Kept while requests are in progress: for each room, the number of its last event, of the last one that said its
   * name or people, and of its removal.
   */
  #touched = new Map();
  #said = new Map();
  #forgotten = new Map();
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
    this.#said.clear();
    this.#forgotten.clear();
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
      this.#said.set(answer.id, this.#events);
    }
    return !isOvertaken;
  }

  forget(id) {
    this.records.delete(id);
    this.missing.delete(id);
    this.needs.delete(id);
    this.#answeredAt.delete(id);
    this.saidAt.delete(id);
    this.#events += 1;
    if (this.#loads > 0) this.#forgotten.set(id, this.#events);
  }

  /** Returns whether the person has lost the room since the request. Its answer may be older than that. */
  isForgotten(id, load) {
    return (this.#forgotten.get(id) ?? -1) > load;
  }

  /**
   * Notes the answer to joining a room. An event may be newer than that, so other people are not taken from it: the room
   * is fetched.
   */
  noteJoined({ id, participants, firstUnreadSeq }) {
    const record = this.records.get(id);
    if (!record) return;
    record.room = { ...record.room, firstUnreadSeq };
    const sign = (people) => JSON.stringify(people.map(({ userId, role, username, firstName }) => [userId, role, username, firstName]));
    if (sign(record.room.participants) !== sign(participants)) this.need(id, "answer");
  }

  #take(answer, load, isOvertaken, missingFields) {
    this.#answeredAt.set(answer.id, this.#now());
    this.needs.delete(answer.id);
    const record = roomRecord(answer);
    const known = this.records.get(answer.id);
    if (known) this.#keepPeople(record, known);
    if (!known || !(isOvertaken || missingFields.size > 0)) return record;
    if ((this.#said.get(answer.id) ?? -1) > load) {
      const { name, displayName, participants, participantCount } = known.room;
      record.room = { ...record.room, name, displayName, participants, participantCount };
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

  /** Keeps the known people that a list leaves out. If they may not be the same ones any more, the room is fetched. */
  #keepPeople(record, known) {
    const { room } = record;
    if (hasAllPeople(room) || !hasAllPeople(known.room)) return;
    const listed = new Map(room.participants.map((person) => [person.userId, person]));
    const participants = known.room.participants.map((person) => listed.get(person.userId) ?? person);
    // After the first people, a list has the person.
    const isThere = (person, index) => person === participants[index] || (index === room.participants.length - 1 && participants.includes(person));
    const isSame = known.room.participantCount === room.participantCount && room.participants.every(isThere);
    if (isSame) record.room = { ...room, participants };
    if (!isSame || inSeconds(known.contentAt) !== inSeconds(record.contentAt)) this.need(record.id, "answer");
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

  /** Notes an event that said a room's name or people. @param at its `updatedAt`, if it has one. */
  noteSaid(id, at) {
    if (at !== undefined) this.saidAt.set(id, at);
    if (this.#loads > 0) this.#said.set(id, this.#events);
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

function inSeconds(milliseconds) {
  return Math.floor(milliseconds / 1_000);
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
    this.noteSaid(record.id, room.updatedAt);
    const at = this.fullTime(room.updatedAt, record.id);
    takeName(record, room.name);
    noteContent(record, at);
  },
  "room:updated:global"(record, { updatedAt }) {
    // The event does not say what has changed. If the room's own event came just before, that said it.
    const saidAt = this.saidAt.get(record.id);
    this.saidAt.delete(record.id);
    if (saidAt === updatedAt) return;
    noteContent(record, this.fullTime(updatedAt, record.id));
    this.need(record.id, "answer");
  },
  "participant:joined"(record, { participant, updatedAt }) {
    changePeople(this, record, updatedAt, (people) => [...people.filter(({ userId }) => userId !== participant.userId), participant]);
  },
  "participant:left"(record, { userId, updatedAt }) {
    changePeople(this, record, updatedAt, (people) => people.filter((person) => person.userId !== userId));
  },
  "participant:updated"(record, { participant }) {
    changePeople(this, record, undefined, (people) => people.map((person) => (person.userId === participant.userId ? participant : person)));
  },
  "room:badges"() {},
};

/** Applies an event about people. If not all of them are known here, the room is fetched. */
function changePeople(store, record, updatedAt, change) {
  if (hasAllPeople(record.room)) takePeople(record, change(record.room.participants));
  else store.need(record.id, "answer");
  store.noteSaid(record.id, updatedAt);
  if (updatedAt !== undefined) noteContent(record, store.fullTime(updatedAt, record.id));
}

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
