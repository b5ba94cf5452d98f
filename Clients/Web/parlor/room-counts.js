import { RecentIds } from "./recent.js";

const NOTHING = Object.freeze({ elements: 0, unreadMessages: 0, unseenElements: 0, others: Object.freeze({}) });

/**
 * The rules by which counts follow what the server sends. Pure.
 *
 * - A room's element count is the one in the event, if its `rev` is newer than the last one seen: lost, late and doubled events
 *   cause no drift. A skipped `rev` reveals a lost event: then the room has to be requested.
 * - Others' elements are unseen while the room is not open; one's own never are. Deleting and clearing lower nothing; opening zeroes.
 * - Others' messages are unread until the server says otherwise, each counted once, whether the event comes to the room, to everyone, or both.
 * - Badges of added services are the server's last ones.
 * - Rooms that were not loaded are not one's own, and leave no trace.
 */
export class RoomCounts {
  #userId;
  #counts = new Map();
  #notes = new Map();
  #open = new Set();
  /** Open rooms in which something unseen was marked as seen. */
  #zeroed = new Set();

  constructor(userId) {
    this.#userId = userId;
  }

  get(roomId) {
    return this.#counts.get(roomId) ?? NOTHING;
  }

  has(roomId) {
    return this.#counts.has(roomId);
  }

  /** Applies an answer with all rooms. @param overtaken rooms that events have changed since; they stay as they are. */
  loadAll(answer, overtaken = new Set(), lacking = new Set()) {
    const ids = new Set(answer.map((room) => room.id));
    for (const id of [...this.#counts.keys()]) if (!ids.has(id) && !overtaken.has(id)) this.#drop(id);
    for (const room of answer) if (!this.has(room.id) || !overtaken.has(room.id)) this.load(room, lacking);
  }

  /** @param lacking fields that the answer has only as far as the server knew them: they stay as they are. */
  load(room, lacking = new Set()) {
    const known = this.#counts.get(room.id);
    const { messages, elements, ...others } = room.badges;
    const count = { elements: room.elementCount, unreadMessages: messages, unseenElements: elements, others };
    if (known && lacking.has("elements")) Object.assign(count, { elements: known.elements, unseenElements: known.unseenElements });
    if (known && lacking.has("messages")) count.unreadMessages = known.unreadMessages;
    count.unseenElements = this.#unseen(count.unseenElements, room.id);
    const note = this.#note(room.id);
    // An answer counts everything up to its last message, unless it lacks these counts.
    if (!lacking.has("messages")) note.messages.skipThrough(room.lastMessage?.id ?? "");
    this.#counts.set(room.id, count);
  }

  forget(roomId) {
    this.leave(roomId);
    this.#drop(roomId);
  }

  /** Opens the room: all in it is seen. */
  enter(roomId) {
    this.#open.add(roomId);
    this.#change(roomId, (count) => { count.unseenElements = this.#unseen(count.unseenElements, roomId); });
  }

  /** @returns whether its room has to be requested: something unseen was marked as seen, and the server may not know. */
  leave(roomId) {
    this.#open.delete(roomId);
    return this.#zeroed.delete(roomId);
  }

  /** Notes that events may have been missed: a skipped `rev` says nothing until the next event. */
  noteAbsence() {
    for (const note of this.#notes.values()) note.isFollowing = false;
  }

  /** @returns whether its room has to be requested, as earlier events were missed or are late. */
  apply(name, data) {
    switch (name) {
      case "message:new": this.#countMessage(data.message.id, data.message.senderId, data.message.roomId); break;
      case "message:new:global": this.#countMessage(data.messageId, data.senderId, data.roomId); break;
      // A replayed event lacks its `:global` event. The count comes with an answer.
      case "element:created": this.#countUnseen(data.element.id, data.element.createdBy, data.element.roomId); break;
      case "element:created:global": case "element:updated:global": case "element:deleted:global": case "room:cleared:global":
        return this.#applyElements(name, data);
      case "room:badges":
        this.#change(data.roomId, (count) => {
          const { messages, elements, ...others } = data.badges;
          Object.assign(count, { unreadMessages: messages, unseenElements: this.#unseen(elements, data.roomId), others });
        });
        break;
      // The event has the element as it was created: a known one may have changed since.
      case "room:created": if (!this.has(data.room.id)) this.load(data.room); break;
    }
    return false;
  }

  #applyElements(name, { roomId, elementId, createdBy, elementCount, rev }) {
    if (!this.has(roomId)) return false;
    const note = this.#note(roomId);
    const isNew = name === "element:created:global" && this.#countUnseen(elementId, createdBy, roomId);
    // A late event: its count is old, and later badges may include it.
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

  /** @returns whether it is another person's, and new. */
  #countUnseen(id, creatorId, roomId) {
    if (creatorId === this.#userId || !this.has(roomId) || !this.#note(roomId).created.insert(id)) return false;
    // Seen if the server knows that the room is open, which it may not know yet.
    if (this.#open.has(roomId)) this.#zeroed.add(roomId);
    else this.#change(roomId, (count) => { count.unseenElements += 1; });
    return true;
  }

  /** Returns the unseen count, which is zero in an open room. */
  #unseen(count, roomId) {
    if (!this.#open.has(roomId)) return count;
    if (count > 0) this.#zeroed.add(roomId);
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
