/** Returns the item of a conversation for a message that the server has. */
export function messageItem(message, ownId, isUnread) {
  const isOwn = message.senderId === ownId;
  return Object.freeze({
    id: isOwn ? message.tempId ?? message.id : message.id,
    senderId: message.senderId,
    text: message.text,
    createdAt: message.createdAt,
    isOwn,
    isUnread,
    state: message.readStatus ? "read" : "sent",
    failure: null,
    message: Object.freeze(message),
  });
}

/** Returns whether a message is by somebody else, and its readers do not name the person. */
export function isUnread(message, ownId) {
  return message.senderId !== ownId && !message.readBy.some(({ userId }) => userId === ownId);
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
