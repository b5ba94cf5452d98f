/**
 * Returns the item of a conversation for a message that the server has.
 * @param joinedAt when the person came into the room, in milliseconds.
 */
export function messageItem(message, ownId, joinedAt) {
  const isOwn = message.senderId === ownId;
  return Object.freeze({
    id: isOwn ? message.tempId ?? message.id : message.id,
    senderId: message.senderId,
    text: message.text,
    createdAt: message.createdAt,
    isOwn,
    isUnread: isUnread(message, ownId, joinedAt),
    state: message.readStatus ? "read" : "sent",
    failure: null,
    message: Object.freeze(message),
  });
}

/** Returns whether a message is by somebody else, and was sent since the person came. Earlier ones need no reading. */
export function isToRead(message, ownId, joinedAt) {
  return message.senderId !== ownId && Date.parse(message.createdAt) >= joinedAt;
}

export function isUnread(message, ownId, joinedAt = -Infinity) {
  return isToRead(message, ownId, joinedAt) && !message.readBy.some(({ userId }) => userId === ownId);
}

/** Returns the item of a conversation for a message in the outbox. */
export function pendingItem(entry, ownId) {
  return Object.freeze({
    id: entry.id,
    senderId: ownId,
    text: entry.change.text,
    createdAt: new Date(entry.createdAt).toISOString(),
    isOwn: true,
    isUnread: false,
    state: entry.state === "failed" ? "failed" : "sending",
    failure: entry.failure,
    message: null,
  });
}
