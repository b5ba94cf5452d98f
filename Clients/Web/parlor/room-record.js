import { peopleNames } from "./display.js";

/**
 * Returns a room with its times in milliseconds. The server writes `updatedAt` and `messagesUpdatedAt` in whole
 * seconds, and only `lastActivityAt` in milliseconds. With whole seconds alone, rooms that changed in the same second
 * could be sorted differently than on the server.
 *
 * It leaves out who is present, because events keep that up to date only in the open rooms, for which `Rooms` keeps it.
 */
export function roomRecord({ isActive: _, ...answer }) {
  const participants = answer.participants.map(({ isPresent, ...person }) => person);
  // Earlier servers have no groups.
  const room = { kind: "direct", participantCount: participants.length, ...answer, name: answer.name || null, participants };
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

/** Sets the name. Without one, the people's names are shown. */
export function takeName(record, name) {
  record.room = { ...record.room, name: name || null, displayName: name || peopleNames(record.room) };
}

/** Returns whether all people of a room are known. Lists have only the first ones of a large group. */
export function hasAllPeople({ participants, participantCount }) {
  return participants.length >= participantCount;
}

/** Changes the people of a room, if all are known, and with them the displayed name of one without a name. */
export function takePeople(record, participants) {
  record.room = { ...record.room, participants, participantCount: participants.length };
  takeName(record, record.room.name);
}

const KEYS = {
  activity: activityAt,
  messages: ({ messagesAt }) => messagesAt ?? -Infinity,
  content: ({ contentAt }) => contentAt,
};

/**
 * Returns a function that compares rooms: latest first. If the times are equal, the newer room comes first, as on the
 * server.
 */
export function byOrder(order) {
  const key = KEYS[order];
  return (a, b) => {
    const difference = key(b) - key(a);
    // For two rooms without messages the difference is NaN: -Infinity minus itself.
    return difference && !Number.isNaN(difference) ? difference : a.id < b.id ? 1 : -1;
  };
}

/** Returns everything that `shownRoom` reads. If none of it differs, the room looks the same. */
export function partsOf({ room, contentAt, messagesAt }, { unreadMessages, unseenElements, elements, others }, presence, typing) {
  return [room, contentAt, messagesAt, unreadMessages, unseenElements, elements, JSON.stringify(others), presence, typing];
}

/**
 * Returns the room as it is shown.
 * @param presence by the id of another person, whether they have the room open; null if that is unknown.
 */
export function shownRoom(record, count, presence, typing) {
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
    present: presence && Object.freeze([...presence.keys()].filter((id) => presence.get(id))),
    typing,
  };
}

function iso(milliseconds) {
  return new Date(milliseconds).toISOString();
}
