/**
 * A room with its times in full, in milliseconds. The server writes `updatedAt` and `messagesUpdatedAt` in whole seconds, and
 * `lastActivityAt` in full: without it, rooms of one second would be in another order than the server's.
 */
export function roomRecord(answer) {
  const room = { ...answer, name: answer.name || null };
  let contentAt = Date.parse(room.updatedAt);
  let messagesAt = room.messagesUpdatedAt ? Date.parse(room.messagesUpdatedAt) : null;
  const activityAt = Date.parse(room.lastActivityAt);
  if (room.lastActivityType === "message") messagesAt = Math.max(messagesAt ?? activityAt, activityAt);
  else contentAt = Math.max(contentAt, activityAt);
  return { id: room.id, room, contentAt, messagesAt };
}

export function activityAt({ contentAt, messagesAt }) {
  return Math.max(contentAt, messagesAt ?? -Infinity);
}

export function noteMessages(record, at) {
  record.messagesAt = Math.max(record.messagesAt ?? at, at);
}

export function noteContent(record, at) {
  record.contentAt = Math.max(record.contentAt, at);
}

/** Sets the name, or joins the participants as the server does, the creator first. */
export function takeName(record, name) {
  const { participants, createdBy } = record.room;
  const people = [...participants.filter(({ userId }) => userId === createdBy), ...participants.filter(({ userId }) => userId !== createdBy)];
  const joined = people.map((person) => person.firstName || person.username).join(" & ");
  record.room = { ...record.room, name: name || null, displayName: name || joined };
}

const KEYS = {
  activity: activityAt,
  messages: ({ messagesAt }) => messagesAt ?? -Infinity,
  content: ({ contentAt }) => contentAt,
};

/** Compares rooms: latest first; ties are in the order of creation, newest first, as on the server. */
export function byOrder(order) {
  const key = KEYS[order];
  return (a, b) => {
    const difference = key(b) - key(a);
    // Two rooms without messages: -Infinity minus itself is not a number.
    return difference && !Number.isNaN(difference) ? difference : a.id < b.id ? 1 : -1;
  };
}

/** Returns all that `shownRoom` reads: the room is shown differently only if one of these differs. */
export function partsOf({ room, contentAt, messagesAt }, { unreadMessages, unseenElements, elements, others }, typing) {
  return [room, contentAt, messagesAt, unreadMessages, unseenElements, elements, JSON.stringify(others), typing];
}

/** Returns the room as it is shown. */
export function shownRoom(record, count, typing) {
  const { contentAt, messagesAt, room } = record;
  const isMessage = messagesAt !== null && messagesAt > contentAt;
  const badges = { ...count.others, messages: count.unreadMessages, elements: count.unseenElements };
  return {
    ...room,
    updatedAt: iso(contentAt),
    messagesUpdatedAt: messagesAt === null ? null : iso(messagesAt),
    lastActivityAt: iso(activityAt(record)),
    lastActivityType: isMessage ? "message" : "roomUpdate",
    elementCount: count.elements,
    unseenElementCount: badges.elements,
    badges,
    hasUnread: Object.values(badges).some((badge) => badge > 0),
    typing,
  };
}

function iso(milliseconds) {
  return new Date(milliseconds).toISOString();
}
