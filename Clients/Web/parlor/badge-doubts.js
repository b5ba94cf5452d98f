/** Badges that follow a new message or element within this time, in milliseconds, may lack it. */
const DOUBTFUL = 2_000;

/**
 * Finds `room:badges` that may not match the other events, so that the room has to be fetched. It does no I/O.
 *
 * The gateway composes badges independently of the events of new messages and elements. So badges may lack a message or
 * element that is already counted here. Or they include one whose event is still to come, and which would then be
 * counted twice. In the latter case the badges are higher than the counts here. By the contract, a new message or
 * element itself causes no `room:badges`.
 */
export class BadgeDoubts {
  #now;
  #userId;
  /** The time when the last message or element of another person arrived, by room. */
  #arrivedAt = new Map();
  /** The open rooms whose last badges were doubtful. */
  #whileOpen = new Set();

  constructor(now, userId) {
    this.#now = now;
    this.#userId = userId;
  }

  /** Notes an event of one of the person's rooms. */
  note(name, data) {
    const [roomId, personId] = arrival(name, data);
    if (roomId !== undefined && personId !== this.#userId) this.#arrivedAt.set(roomId, this.#now());
  }

  /**
   * Checks badges. Those of an open room change all the time while the person reads. So an open room is fetched only
   * when it is left, and not if later badges have matched.
   * @param known the room's counts before these badges.
   * @returns true if the room has to be fetched now.
   */
  check({ roomId, badges }, known, isOpen) {
    const arrivedAt = this.#arrivedAt.get(roomId);
    const isLate = arrivedAt !== undefined && this.#now() - arrivedAt < DOUBTFUL;
    const isAhead = badges.messages > known.unreadMessages || (!isOpen && badges.elements > known.unseenElements);
    if (isOpen && (isLate || isAhead)) this.#whileOpen.add(roomId);
    else this.#whileOpen.delete(roomId);
    return !isOpen && (isLate || isAhead);
  }

  /** Notes that the room was left. @returns true if it has to be fetched. */
  leave(roomId) {
    return this.#whileOpen.delete(roomId);
  }

  forget(roomId) {
    this.#arrivedAt.delete(roomId);
    this.#whileOpen.delete(roomId);
  }
}

/** Returns the room of a new message or element, and who made it; an empty list for other events. */
function arrival(name, data) {
  switch (name) {
    case "message:new": return [data.message.roomId, data.message.senderId];
    case "message:new:global": return [data.roomId, data.senderId];
    case "element:created": return [data.element.roomId, data.element.createdBy];
    case "element:created:global": return [data.roomId, data.createdBy];
    default: return [];
  }
}
