/** What the server refuses, in its words. */
export class Refusal extends Error {
  constructor(status, code) {
    super(code);
    Object.assign(this, { status, code });
  }
}

const seconds = (time) => time.replace(/\.\d+Z$/, "Z");

/** A message with the first 20 of its readers. */
const listed = (message) => ({ ...message, readCount: message.readBy.length, readBy: message.readBy.slice(0, 20) });

/** One room's state, and how a person sees it. */
export class ScriptedRoom {
  messages = [];
  deletedTexts = [];
  elements = new Map();
  made = new Map();
  unseen = new Map();
  /** By person, in the order in which they came. */
  roles = new Map();
  joinedAt = new Map();
  lastSeq = 0;
  rev = 0;
  messagesAt = null;

  constructor(id, name, participants, time, kind = "direct") {
    Object.assign(this, { id, name, kind, createdBy: participants[0], createdAt: time, contentAt: time });
    for (const userId of participants) this.add(userId, time);
    this.roles.set(this.createdBy, "owner");
  }

  get participants() {
    return [...this.roles.keys()];
  }

  get owners() {
    return this.participants.filter((id) => this.roles.get(id) === "owner");
  }

  add(userId, time) {
    this.roles.set(userId, "member");
    this.joinedAt.set(userId, time);
  }

  /** A person as events name them: without `isPresent`. */
  participant(userId, parlor) {
    const { username, firstName } = parlor.people.get(userId);
    return { userId, username, firstName, joinedAt: seconds(this.joinedAt.get(userId)), role: this.roles.get(userId) };
  }

  unread(userId) {
    return this.messages.filter(({ senderId, createdAt, readBy }) =>
      senderId !== userId && createdAt >= this.joinedAt.get(userId) && !readBy.some((reader) => reader.userId === userId));
  }

  badges(userId) {
    return { messages: this.unread(userId).length, elements: this.unseen.get(userId)?.size ?? 0 };
  }

  /** @param isListed whether of more than ten people only the first ten and the person are shown. */
  seenBy(userId, parlor, isListed = false) {
    const people = this.participants;
    const listed = people.filter((id, index) => !isListed || index < 10 || id === userId);
    const names = people.slice(0, 3).map((id) => parlor.people.get(id).username).join(" & ") + (people.length > 3 ? ` +${people.length - 3}` : "");
    const badges = this.badges(userId);
    const last = this.messages.at(-1);
    const isMessage = this.messagesAt !== null && this.messagesAt > this.contentAt;
    return {
      id: this.id, kind: this.kind, name: this.name, displayName: this.name ?? names, createdBy: this.createdBy,
      createdAt: seconds(this.createdAt), updatedAt: seconds(this.contentAt), messagesUpdatedAt: this.messagesAt && seconds(this.messagesAt),
      lastActivityAt: isMessage ? this.messagesAt : this.contentAt, lastActivityType: isMessage ? "message" : "roomUpdate",
      isActive: people.some((id) => parlor.isPresent(this.id, id)), participantCount: people.length, firstUnreadSeq: this.unread(userId)[0]?.seq ?? null,
      participants: listed.map((id) => ({ ...this.participant(id, parlor), isPresent: parlor.isPresent(this.id, id) })),
      elementCount: this.elements.size, badges, hasUnread: badges.messages + badges.elements > 0,
      lastMessage: last ? { id: last.id, senderId: last.senderId, text: last.text, createdAt: last.createdAt } : null,
    };
  }
}

export const roomRoutes = {
  list(parlor, user, method, { otherUserId, participantIds, name }) {
    if (method === "GET") return { data: [...parlor.rooms.values()].filter(({ participants }) => participants.includes(user.id)).map((room) => room.seenBy(user.id, parlor, true)) };
    const others = participantIds ?? [otherUserId];
    const room = new ScriptedRoom(parlor.makeId("room"), name ?? null, [user.id, ...others], parlor.time(), participantIds ? "group" : "direct");
    parlor.rooms.set(room.id, room);
    for (const id of room.participants) parlor.toPerson(id, "room:created", { room: room.seenBy(id, parlor, true) });
    return { data: room.seenBy(user.id, parlor) };
  },
  rename(parlor, room, user, { name }) {
    room.name = name.trim() || null;
    room.contentAt = parlor.time();
    const updatedAt = seconds(room.contentAt);
    parlor.toRoom(room, "room:updated", { room: { id: room.id, name: room.name, updatedAt } });
    parlor.toAll("room:updated:global", { roomId: room.id, updatedBy: user.id, updatedAt });
    return room.seenBy(user.id, parlor);
  },
};

/** The people of a group. */
export const peopleRoutes = {
  http(parlor, room, user, method, { id, query, body }) {
    if (method === "GET") {
      const [start, limit] = [Number(query.get("cursor") ?? 0), Number(query.get("limit") ?? 50)];
      const { participants } = room.seenBy(user.id, parlor);
      return { data: participants.slice(start, start + limit), page: { next: start + limit < participants.length ? String(start + limit) : null } };
    }
    if (room.kind === "direct") throw new Refusal(409, "direct_room");
    if (!room.owners.includes(user.id) && id !== user.id) throw new Refusal(403, "forbidden");
    if (method === "POST") peopleRoutes.add(parlor, room, user, body.userIds);
    else if (!room.roles.has(id)) throw new Refusal(404, "user_not_found");
    else if (method === "DELETE") peopleRoutes.remove(parlor, room, user, id);
    else peopleRoutes.setRole(parlor, room, user, id, body.role);
    return { data: room.roles.has(user.id) ? room.seenBy(user.id, parlor) : null };
  },
  add(parlor, room, user, userIds) {
    const added = userIds.filter((id) => !room.roles.has(id));
    for (const id of added) room.add(id, parlor.time());
    const updatedAt = peopleRoutes.touch(parlor, room);
    for (const id of added) parlor.toRoom(room, "participant:joined", { roomId: room.id, participant: room.participant(id, parlor), addedBy: user.id, updatedAt });
    for (const id of added) parlor.toPerson(id, "room:created", { room: room.seenBy(id, parlor, true) });
    if (added.length > 0) parlor.toAll("room:updated:global", { roomId: room.id, updatedBy: user.id, updatedAt });
  },
  remove(parlor, room, user, userId) {
    parlor.endVisits(room.id, userId);
    room.roles.delete(userId);
    const removedBy = userId === user.id ? null : user.id;
    const updatedAt = peopleRoutes.touch(parlor, room);
    parlor.toRoom(room, "participant:left", { roomId: room.id, userId, removedBy, updatedAt });
    if (room.owners.length === 0 && room.participants.length > 0) {
      room.roles.set(room.participants[0], "owner");
      parlor.toRoom(room, "participant:updated", { roomId: room.id, participant: room.participant(room.participants[0], parlor) });
    }
    parlor.toAll("room:updated:global", { roomId: room.id, updatedBy: user.id, updatedAt });
    parlor.toPerson(userId, "room:removed", { roomId: room.id, removedBy });
  },
  setRole(parlor, room, user, userId, role) {
    if (role === "member" && room.owners.every((id) => id === userId)) throw new Refusal(422, "invalid_field");
    room.roles.set(userId, role);
    const updatedAt = peopleRoutes.touch(parlor, room);
    parlor.toRoom(room, "participant:updated", { roomId: room.id, participant: room.participant(userId, parlor) });
    parlor.toAll("room:updated:global", { roomId: room.id, updatedBy: user.id, updatedAt });
  },
  touch(parlor, room) {
    room.contentAt = parlor.time();
    return seconds(room.contentAt);
  },
};

export const messageRoutes = {
  http(parlor, room, user, method, id, query, body) {
    if (method === "DELETE") return { data: messageRoutes.delete(parlor, room, user, id) };
    if (method === "POST" && id === "read") return { data: messageRoutes.read(parlor, room, user, body) };
    if (method === "POST") return { data: messageRoutes.send(parlor, room, user, body).message };
    const [before, after, limit] = ["before", "after", "limit"].map((name) => (query.has(name) ? Number(query.get(name)) : undefined));
    if (after !== undefined) {
      const later = room.messages.filter(({ seq }) => seq > after);
      return { data: later.slice(0, limit).map(listed), page: { next: later.length > limit ? "more" : null } };
    }
    const earlier = room.messages.filter(({ seq }) => seq < (before ?? Infinity));
    return { data: earlier.slice(-limit).map(listed), page: { next: earlier.length > limit ? "more" : null } };
  },
  socket(parlor, room, user, event, data) {
    if (event === "message:send") return messageRoutes.send(parlor, room, user, data);
    if (event === "message:delete") return messageRoutes.delete(parlor, room, user, data.messageId);
    return messageRoutes.read(parlor, room, user, data);
  },
  send(parlor, room, user, { text, tempId }) {
    if ([...text].length > 4_000 || text.includes("\0")) throw new Refusal(422, "invalid_field");
    const key = `${user.id} ${tempId}`;
    if (room.made.has(key)) {
      const message = room.messages.find(({ id }) => id === room.made.get(key));
      if (!message) throw new Refusal(404, "message_not_found");
      return { message, duplicate: true };
    }
    room.messagesAt = parlor.time();
    const message = {
      id: parlor.makeId("message"), roomId: room.id, seq: ++room.lastSeq, senderId: user.id, sender: user, receiverId: null, text, content: text,
      createdAt: room.messagesAt, readStatus: false, readBy: [], tempId: tempId ?? null,
    };
    room.messages.push(message);
    room.made.set(key, message.id);
    parlor.toRoom(room, "message:new", { message: structuredClone(message) });
    parlor.toAll("message:new:global", { roomId: room.id, messageId: message.id, senderId: user.id, messagesUpdatedAt: seconds(room.messagesAt) });
    return { message: structuredClone(message) };
  },
  delete(parlor, room, user, messageId) {
    const index = room.messages.findIndex(({ id }) => id === messageId);
    if (index < 0) throw new Refusal(404, "message_not_found");
    room.deletedTexts.push(room.messages.splice(index, 1)[0].text);
    room.messagesAt = parlor.time();
    parlor.toRoom(room, "message:deleted", { roomId: room.id, messageId, deletedBy: user.id });
    parlor.toAll("message:deleted:global", { roomId: room.id, messageId, deletedBy: user.id, messagesUpdatedAt: seconds(room.messagesAt) });
    for (const id of room.participants) parlor.toPerson(id, "room:badges", { roomId: room.id, badges: room.badges(id), hasUnread: false });
    return {};
  },
  read(parlor, room, user, { messageIds }) {
    const readAt = parlor.time();
    const fresh = room.messages.filter(({ id, senderId, readBy }) => messageIds.includes(id) && senderId !== user.id && !readBy.some(({ userId }) => userId === user.id));
    for (const message of fresh) {
      message.readBy = [...message.readBy, { userId: user.id, readAt }];
      const readers = room.participants.filter((id) => id !== message.senderId && room.joinedAt.get(id) <= message.createdAt);
      message.readStatus = readers.every((id) => message.readBy.some(({ userId }) => userId === id));
    }
    if (fresh.length > 0) {
      parlor.toRoom(room, "messages:read", { roomId: room.id, userId: user.id, messageIds: fresh.map(({ id }) => id), readAt });
      parlor.toPerson(user.id, "room:badges", { roomId: room.id, badges: room.badges(user.id), hasUnread: false });
    }
    return { readCount: fresh.length };
  },
};

export const elementRoutes = {
  http(parlor, room, user, method, id, query, body) {
    if (method === "GET") return { data: [...room.elements.values()], page: { next: null } };
    if (method === "POST") return { data: elementRoutes.create(parlor, room, user, body).element };
    if (method === "PATCH") return { data: elementRoutes.update(parlor, room, user, { elementId: id, ...body }).element };
    return { data: id === undefined ? elementRoutes.clear(parlor, room, user) : elementRoutes.delete(parlor, room, user, id) };
  },
  socket(parlor, room, user, event, data) {
    if (event === "element:create") return elementRoutes.create(parlor, room, user, data);
    if (event === "element:update") return elementRoutes.update(parlor, room, user, data);
    if (event === "element:delete") return elementRoutes.delete(parlor, room, user, data.elementId);
    return elementRoutes.clear(parlor, room, user);
  },
  create(parlor, room, user, { type, content = {}, position = null, tempId }) {
    const key = `${user.id} ${tempId}`;
    if (room.made.has(key)) {
      const element = room.elements.get(room.made.get(key));
      if (!element) throw new Refusal(404, "element_not_found");
      return { element, duplicate: true };
    }
    const time = parlor.time();
    const element = { id: parlor.makeId("element"), roomId: room.id, type, content, position, createdBy: user.id, createdAt: time, updatedBy: user.id, updatedAt: time, version: 1, tempId: tempId ?? null };
    room.elements.set(element.id, element);
    room.made.set(key, element.id);
    for (const id of room.participants) {
      if (id !== user.id && !parlor.isPresent(room.id, id)) room.unseen.set(id, (room.unseen.get(id) ?? new Set()).add(element.id));
    }
    elementRoutes.emit(parlor, room, "element:created", { element: { ...element } }, { elementId: element.id, createdBy: user.id, type });
    return { element: { ...element } };
  },
  update(parlor, room, user, { elementId, content, position, version }) {
    const element = room.elements.get(elementId);
    if (!element) throw new Refusal(404, "element_not_found");
    if (version !== undefined && version !== element.version) throw new Refusal(409, "version_conflict");
    const changed = { ...element, version: element.version + 1, updatedBy: user.id, updatedAt: parlor.time() };
    if (content !== undefined) changed.content = content;
    if (position !== undefined) changed.position = position;
    room.elements.set(elementId, changed);
    elementRoutes.emit(parlor, room, "element:updated", { element: { ...changed } }, { elementId, updatedBy: user.id });
    return { element: { ...changed } };
  },
  delete(parlor, room, user, elementId) {
    if (!room.elements.delete(elementId)) throw new Refusal(404, "element_not_found");
    elementRoutes.emit(parlor, room, "element:deleted", { roomId: room.id, elementId, deletedBy: user.id }, { elementId, deletedBy: user.id });
    return {};
  },
  clear(parlor, room, user) {
    const deletedCount = room.elements.size;
    room.elements.clear();
    if (deletedCount > 0) elementRoutes.emit(parlor, room, "room:cleared", { roomId: room.id, clearedBy: user.id }, { clearedBy: user.id });
    return { deletedCount };
  },
  emit(parlor, room, event, data, global) {
    room.rev += 1;
    room.contentAt = parlor.time();
    parlor.toRoom(room, event, data);
    parlor.toAll(`${event}:global`, { roomId: room.id, ...global, updatedAt: seconds(room.contentAt), elementCount: room.elements.size, rev: room.rev });
  },
};
