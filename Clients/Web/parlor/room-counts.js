import { RecentIds } from "./recent.js";

const NOTHING = Object.freeze({ elements: 0, unreadMessages: 0, unseenElements: 0, others: Object.freeze({}) });

/**
 * The rules for the counts of rooms, without any I/O.
 *
 * - A room's number of elements is that of the event with the newest `rev`, so lost, late and doubled events cause no
 *   drift. A skipped `rev` reveals a lost event: then the room has to be fetched.
 * - Elements of others are unseen if they were created while the room was not open. The person's own never are.
 *   Deleting elements and clearing the room do not lower the count. Opening the room sets it to 0.
 * - Messages of others are unread until the server says otherwise. Each is counted once, even if its event comes both
 *   to the room and to everyone. In an open room whose newest messages are in view, they are about to be read, so none
 *   is shown as unread.
 * - Badges of plugins are those that the server sent last.
 * - Events of rooms that were not loaded are ignored, because those are other people's.
 */
export class RoomCounts {
  #userId;
  #counts = new Map();
  #notes = new Map();
  #open = new Set();
  /** The open rooms whose newest messages are in view. */
  #atEnd = new Set();
  /** The open rooms in which unseen elements were marked as seen here. */
  #zeroed = new Set();
  /** How many elements were unseen in each open room when it was opened. An answer may be the first to say so. */
  #unseenAtOpening = new Map();

  constructor(userId) {
    this.#userId = userId;
  }

  get(roomId) {
    return this.#counts.get(roomId) ?? NOTHING;
  }

  /** Returns the counts as the person sees them. */
  shown(roomId) {
    const count = this.get(roomId);
    return this.#atEnd.has(roomId) && count.unreadMessages > 0 ? { ...count, unreadMessages: 0 } : count;
  }

  /** Notes whether the newest messages of an open room are in view. @returns false if that has been noted before. */
  noteAtEnd(roomId, isAtEnd) {
    if (!isAtEnd) return this.#atEnd.delete(roomId);
    if (!this.#open.has(roomId) || this.#atEnd.has(roomId)) return false;
    this.#atEnd.add(roomId);
    return true;
  }

  has(roomId) {
    return this.#counts.has(roomId);
  }

  isOpen(roomId) {
    return this.#open.has(roomId);
  }

  unseenAtOpening(roomId) {
    return this.#unseenAtOpening.get(roomId) ?? 0;
  }

  /**
   * Applies an answer with all rooms.
   * @param overtaken the rooms that events have changed since the request; their counts stay.
   */
  loadAll(answer, overtaken = new Set(), missingFields = new Set()) {
    const ids = new Set(answer.map((room) => room.id));
    for (const id of [...this.#counts.keys()]) if (!ids.has(id) && !overtaken.has(id)) this.#drop(id);
    for (const room of answer) if (!this.has(room.id) || !overtaken.has(room.id)) this.load(room, missingFields);
  }

  /**
   * Applies an answer with one room.
   * @param missingFields the fields whose values in the answer may be outdated; their known values stay.
   */
  load(room, missingFields = new Set()) {
    const known = this.#counts.get(room.id);
    const { messages, elements, ...others } = room.badges;
    const count = { elements: room.elementCount, unreadMessages: messages, unseenElements: elements, others };
    if (known && missingFields.has("elements")) {
      Object.assign(count, { elements: known.elements, unseenElements: known.unseenElements });
    }
    if (known && missingFields.has("messages")) count.unreadMessages = known.unreadMessages;
    count.unseenElements = this.#unseen(count.unseenElements, room.id);
    const note = this.#note(room.id);
    // The answer has counted all messages up to its last one, unless it lacks this count.
    if (!missingFields.has("messages")) note.messages.skipThrough(room.lastMessage?.id ?? "");
    this.#counts.set(room.id, count);
  }

  forget(roomId) {
    this.leave(roomId);
    this.#drop(roomId);
  }

  /** Opens the room: all of its elements are seen. */
  enter(roomId) {
    this.#open.add(roomId);
    this.#unseenAtOpening.set(roomId, 0);
    this.#change(roomId, (count) => { count.unseenElements = this.#unseen(count.unseenElements, roomId); });
  }

  /**
   * Closes the room.
   * @returns true if the room has to be fetched: elements were marked as seen here, and the server may not know that.
   */
  leave(roomId) {
    this.#open.delete(roomId);
    this.#atEnd.delete(roomId);
    this.#unseenAtOpening.delete(roomId);
    return this.#zeroed.delete(roomId);
  }

  /** Notes that events may have been missed. The next event may then skip a `rev` without a fetch of the room. */
  noteAbsence() {
    for (const note of this.#notes.values()) note.isFollowing = false;
  }

  /** Applies an event. @returns true if the room has to be fetched, because earlier events were missed or are late. */
  apply(name, data) {
    switch (name) {
      case "message:new": this.#countMessage(data.message.id, data.message.senderId, data.message.roomId); break;
      case "message:new:global": this.#countMessage(data.messageId, data.senderId, data.roomId); break;
      // A replayed event comes without its `:global` event, which has the number of elements. An answer brings that.
      case "element:created": this.#countUnseen(data.element.id, data.element.createdBy, data.element.roomId); break;
      case "element:created:global": case "element:updated:global": case "element:deleted:global": case "room:cleared:global":
        return this.#applyElements(name, data);
      case "room:badges":
        this.#change(data.roomId, (count) => {
          const { messages, elements, ...others } = data.badges;
          Object.assign(count, { unreadMessages: messages, unseenElements: this.#unseen(elements, data.roomId), others });
        });
        break;
      // The event has the room as it was created. A known room may have changed since.
      case "room:created": if (!this.has(data.room.id)) this.load(data.room); break;
    }
    return false;
  }

  #applyElements(name, { roomId, elementId, createdBy, elementCount, rev }) {
    if (!this.has(roomId)) return false;
    const note = this.#note(roomId);
    const isNew = name === "element:created:global" && this.#countUnseen(elementId, createdBy, roomId);
    // This event is late: its count is outdated, and later badges may include its element.
    if (note.rev !== null && rev <= note.rev) return isNew;
    const hasSkipped = note.isFollowing && rev !== note.rev + 1;
    Object.assign(note, { rev, isFollowing: true });
    this.#change(roomId, (count) => { count.elements = elementCount; });
    return hasSkipped;
  }

  #countMessage(id, senderId, roomId) {
    if (senderId === this.#userId || !this.has(roomId) || !this.#note(roomId).messages.insert(id)) return;
    this.#change(roomId, (count) => { count.unreadMessages += 1; });
  }

  /** @returns true if the element is another person's and was not counted before. */
  #countUnseen(id, creatorId, roomId) {
    if (creatorId === this.#userId || !this.has(roomId) || !this.#note(roomId).created.insert(id)) return false;
    // In an open room the element is seen here. The server may not know yet that the room is open.
    if (this.#open.has(roomId)) this.#zeroed.add(roomId);
    else this.#change(roomId, (count) => { count.unseenElements += 1; });
    return true;
  }

  /** Returns the number of unseen elements, which is 0 in an open room. */
  #unseen(count, roomId) {
    if (!this.#open.has(roomId)) return count;
    if (count > 0) this.#zeroed.add(roomId);
    this.#unseenAtOpening.set(roomId, Math.max(count, this.unseenAtOpening(roomId)));
    return 0;
  }

  #note(roomId) {
    let note = this.#notes.get(roomId);
    if (!note) this.#notes.set(roomId, note = { rev: null, isFollowing: false, messages: new RecentIds(), created: new RecentIds() });
    return note;
  }

  #drop(roomId) {
    this.#notes.delete(roomId);
    this.#counts.delete(roomId);
  }

  #change(roomId, body) {
    const count = this.#counts.get(roomId);
    if (!count) return;
    const changed = { ...count };
    body(changed);
    this.#counts.set(roomId, changed);
  }
}
