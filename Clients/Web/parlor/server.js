import { ClientFailure } from "./failure.js";
import { path } from "./http.js";

/**
 * Sends the requests of conversations, boards and lists. Messages, deletions, receipts, changes of elements and
 * clearings go over the socket while it is connected. Joins, leaves and typing go over the socket only, everything else
 * over HTTP only.
 *
 * If a request on the socket gets no answer, it is repeated over HTTP, unless that could do harm. Requests with a
 * `tempId`, deletions, receipts and updates of elements are repeated. A clearing is not.
 */
export class Server {
  #session;
  #socket;
  #isOpen = true;

  constructor(session, socket) {
    this.#session = session;
    this.#socket = socket;
  }

  /** Makes all later requests fail, until `open()`. */
  close() {
    this.#isOpen = false;
  }

  open() {
    this.#isOpen = true;
  }

  async #call(method, ...rest) {
    if (!this.#isOpen) throw ClientFailure.stopped();
    return this.#session.call(method, ...rest);
  }

  /** Sends a request on the socket. @returns null if there is no connection, or if no answer arrived. */
  async #ask(event, payload) {
    if (!this.#isOpen) throw ClientFailure.stopped();
    try {
      return await this.#socket.emit(event, payload);
    } catch (error) {
      if (ClientFailure.of(error).kind === "offline") return null;
      throw error;
    }
  }

  // Rooms

  async rooms(order) {
    const { data, degraded = [] } = await this.#call("GET", "/rooms/my-rooms", { query: { sort: order } });
    return { rooms: data, degraded };
  }

  room(roomId) {
    return this.#room("GET", path("rooms", roomId));
  }

  /** @param people `{ otherUserId }` for a direct room, `{ participantIds }` for a group. */
  makeRoom(people, name, clientRequestId) {
    return this.#room("POST", "/rooms", { body: { ...people, name, clientRequestId } });
  }

  rename(roomId, name) {
    return this.#room("PUT", path("rooms", roomId, "name"), { body: { name } });
  }

  async participants(roomId, { cursor, limit, signal } = {}) {
    const { data, page } = await this.#call("GET", path("rooms", roomId, "participants"), { query: { cursor, limit }, signal });
    return { participants: data, next: page?.next ?? null };
  }

  addPeople(roomId, userIds) {
    return this.#room("POST", path("rooms", roomId, "participants"), { body: { userIds } });
  }

  async removePerson(roomId, userId) {
    await this.#call("DELETE", path("rooms", roomId, "participants", userId));
  }

  setRole(roomId, userId, role) {
    return this.#room("PUT", path("rooms", roomId, "participants", userId, "role"), { body: { role } });
  }

  async #room(...request) {
    const { data: room, degraded = [] } = await this.#call(...request);
    return { room, degraded };
  }

  async peopleWithoutRooms(q, { cursor, limit, signal } = {}) {
    const { data, page } = await this.#call("GET", "/users/without-rooms", { query: { q: q || undefined, cursor, limit }, signal });
    return { people: data, next: page?.next ?? null };
  }

  /**
   * Joins a room. Without a connection, it is joined later.
   * @param isOnce true if a join that has succeeded on this connection is enough.
   * @returns null, or the failure if the room cannot be joined for now.
   * @throws ClientFailure if it can never be joined.
   */
  async join(roomId, { isOnce = false } = {}) {
    const { rooms } = this.#socket;
    try {
      await (isOnce ? rooms.joinOnce(roomId) : rooms.join(roomId));
      return null;
    } catch (error) {
      const failure = ClientFailure.of(error);
      if (!failure.isRetryable) throw failure;
      return this.#socket.isConnected ? failure : null;
    }
  }

  /** Leaves a room. It is not joined again, even if the request fails. */
  async leave(roomId) {
    await this.#socket.rooms.leave(roomId).catch(() => {});
  }

  // Messages

  async messages(roomId, { before, after, limit }) {
    const { data, page } = await this.#call("GET", path("rooms", roomId, "messages"), { query: { before, after, limit } });
    return { items: data, next: page?.next ?? null };
  }

  async send(roomId, text, tempId) {
    const ack = await this.#ask("message:send", { roomId, text, tempId });
    return ack ? ack.message : (await this.#call("POST", path("rooms", roomId, "messages"), { body: { text, tempId } })).data;
  }

  async deleteMessage(roomId, messageId) {
    if (await this.#ask("message:delete", { roomId, messageId })) return;
    await this.#call("DELETE", path("rooms", roomId, "messages", messageId));
  }

  async markRead(roomId, messageIds) {
    if (await this.#ask("messages:mark-read", { roomId, messageIds })) return;
    await this.#call("POST", path("rooms", roomId, "messages", "read"), { body: { messageIds } });
  }

  /** Sends the typing state. Without a connection it sends nothing, because HTTP has no such request. */
  setTyping(roomId, isTyping) {
    this.#socket.send("message:typing", { roomId, isTyping });
  }

  // Elements

  /** Returns all elements of a room, from all pages. */
  async elements(roomId) {
    const all = [];
    let cursor;
    do {
      const { data, page } = await this.#call("GET", path("rooms", roomId, "elements"), { query: { limit: 200, cursor } });
      all.push(...data);
      cursor = page?.next ?? null;
    } while (cursor);
    return all;
  }

  async createElement(roomId, fields) {
    const ack = await this.#ask("element:create", { roomId, ...fields });
    return ack ? ack.element : (await this.#call("POST", path("rooms", roomId, "elements"), { body: fields })).data;
  }

  async updateElement(roomId, elementId, fields) {
    const ack = await this.#ask("element:update", { roomId, elementId, ...fields });
    return ack ? ack.element : (await this.#call("PATCH", path("rooms", roomId, "elements", elementId), { body: fields })).data;
  }

  async deleteElement(roomId, elementId) {
    const ack = await this.#ask("element:delete", { roomId, elementId });
    if (!ack) await this.#call("DELETE", path("rooms", roomId, "elements", elementId));
  }

  /**
   * Deletes all elements of a room. This is never repeated, because that would remove elements that were created since.
   */
  async clearRoom(roomId) {
    if (this.#socket.isConnected) await this.#socket.emit("room:clear", { roomId });
    else await this.#call("DELETE", path("rooms", roomId, "elements"));
  }
}
