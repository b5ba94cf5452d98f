import { Refusal, elementRoutes, messageRoutes, peopleRoutes, roomRoutes } from "./scripted-routes.mjs";

/** A server after the contract, in memory: what a test needs of it, and no network. */
export class ScriptedParlor {
  people = new Map();
  rooms = new Map();
  /** By refresh token, whose it is. */
  sessions = new Map();
  tokens = new Map();
  sockets = new Map();
  /** Room and person events to replay: `{ to: ids, roomId, event, data }`. Those of a room have no `to`. */
  log = [];
  /** Everybody's password. */
  password = "correct horse";
  knowsAttempts = true;
  tokenLife = 3_600_000;
  /** Every call: "POST /auth/refresh", "message:send". */
  calls = [];
  /** The status and the code with which `room:join` is refused; null if it is not. */
  joinRefusal = null;
  /** The status and the code with which `POST /auth/refresh` is refused; null if it is not. */
  refreshRefusal = null;
  #count = 0;
  #typists = new Set();
  #now;

  constructor(now) {
    this.#now = now;
  }

  makeId(kind) {
    return `${kind}-${String(++this.#count).padStart(8, "0")}`;
  }

  time() {
    return new Date(this.#now()).toISOString();
  }

  addPerson(username) {
    const person = { id: this.makeId("user"), username, firstName: null, email: null };
    this.people.set(person.id, person);
    return person;
  }

  openSession(user) {
    const session = { user, token: this.makeId("token"), refreshToken: this.makeId("refresh"), expiresAt: new Date(this.#now() + this.tokenLife).toISOString() };
    this.tokens.set(session.token, session);
    this.sessions.set(session.refreshToken, { session, next: null });
    return session;
  }

  refresh({ refreshToken, attemptId }) {
    if (this.refreshRefusal) throw new Refusal(...this.refreshRefusal);
    const known = this.sessions.get(refreshToken);
    if (!known) throw new Refusal(401, "invalid_token");
    if (known.next) {
      if (this.knowsAttempts && attemptId && known.attemptId === attemptId) return known.next;
      this.sessions.clear();
      throw new Refusal(401, "invalid_token");
    }
    known.attemptId = attemptId;
    known.next = this.openSession(known.session.user);
    return known.next;
  }

  userOf(token) {
    const session = this.tokens.get(token);
    if (!session || Date.parse(session.expiresAt) <= this.#now()) throw new Refusal(401, "unauthenticated");
    return session.user;
  }

  /** @returns `{ status, body }` of a request below `/api`. */
  answer(method, url, body, token) {
    const [path, search] = url.split("?");
    this.calls.push(`${method} ${path}`);
    try {
      return { status: 200, body: this.#route(method, path.split("/").slice(1).map(decodeURIComponent), new URLSearchParams(search), body ?? {}, token) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { status: error.status, body: { error: { code: error.code, message: error.code } } };
    }
  }

  #route(method, segments, query, body, token) {
    if (segments.join("/") === "auth/refresh") return { data: this.refresh(body) };
    const user = this.userOf(token);
    if (segments[0] === "auth") return { data: this.#account(`${method} ${segments.join("/")}`, user, body, token) };
    if (segments[0] === "users") return { data: user };
    const [, roomId, part, id] = segments;
    if (roomId === undefined || roomId === "my-rooms") return roomRoutes.list(this, user, method, body);
    const room = this.room(roomId, user);
    if (part === undefined) return { data: room.seenBy(user.id, this) };
    if (part === "name") return { data: roomRoutes.rename(this, room, user, body) };
    if (part === "participants") return peopleRoutes.http(this, room, user, method, { id, query, body });
    if (part === "messages") return messageRoutes.http(this, room, user, method, id, query, body);
    return elementRoutes.http(this, room, user, method, id, query, body);
  }

  /** A sign-in's id is its refresh token's. */
  #account(call, user, body, token) {
    const ofUser = [...this.sessions].filter(([, { session, next }]) => session.user === user && next === null);
    const isCurrent = ([, { session }]) => session.token === token;
    const end = (sessions) => sessions.forEach(([id]) => this.sessions.delete(id));
    if (call === "POST auth/logout") return this.sessions.delete(body.refreshToken);
    if (call === "GET auth/sessions") return ofUser.map((one) => ({ id: one[0], current: isCurrent(one) }));
    if (call === "POST auth/password" && body.currentPassword !== this.password) throw new Refusal(401, "invalid_credentials");
    if (call === "POST auth/password") {
      this.password = body.newPassword;
      end(ofUser);
      return this.openSession(user);
    }
    const [, id] = /^DELETE auth\/sessions\/?(.*)$/.exec(call);
    end(ofUser.filter((one) => (id ? one[0] === id : !isCurrent(one))));
    return null;
  }

  room(roomId, user) {
    const room = this.rooms.get(roomId);
    if (!room?.participants.includes(user.id)) throw new Refusal(404, "room_not_found");
    return room;
  }

  // Sockets

  open(socket) {
    this.sockets.set(socket, { user: null, joined: new Set() });
    socket.deliver("0" + JSON.stringify({ sid: this.makeId("sid"), upgrades: [], pingInterval: 25_000, pingTimeout: 20_000, maxPayload: 1e6 }));
  }

  close(socket) {
    const state = this.sockets.get(socket);
    this.sockets.delete(socket);
    for (const roomId of state?.joined ?? []) this.#notePresence(roomId, state.user.id);
  }

  receive(socket, text) {
    const state = this.sockets.get(socket);
    if (!state || text[0] !== "4") return;
    if (text[1] === "0") return this.#connect(socket, state, JSON.parse(text.slice(2)));
    const [, id, rest] = /^42(\d*)(.*)$/s.exec(text);
    const [event, data] = JSON.parse(rest);
    this.calls.push(event);
    let ack;
    try {
      ack = { success: true, ...this.#event(state, socket, event, data) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      ack = { success: false, error: { code: error.code, message: error.code, retryable: error.status >= 500 } };
    }
    if (id) socket.deliver(`43${id}${JSON.stringify([ack])}`);
  }

  #connect(socket, state, { token, since }) {
    try {
      state.user = this.userOf(token);
    } catch {
      return socket.deliver("44" + JSON.stringify({ message: "unauthorized", data: { code: "unauthenticated" } }));
    }
    socket.deliver('40{"sid":"x"}');
    const position = /^cursor:(\d+)$/.exec(since)?.[1];
    for (const { to, roomId, event, data } of position ? this.log.slice(position) : []) {
      if (event === "room:removed" ? to.includes(state.user.id) : this.#isTheirs(state.user.id, to, roomId)) this.#deliver(socket, event, data);
    }
    state.position = this.log.length;
    this.#deliver(socket, "sync:done", { recovered: position !== undefined, cursor: `cursor:${this.log.length}` });
  }

  #event(state, socket, event, data) {
    const room = this.room(data.roomId, state.user);
    switch (event) {
      case "room:join":
        if (this.joinRefusal) throw new Refusal(...this.joinRefusal);
        // A joined room continues from the cursor.
        for (const { to, roomId, event: name, data: missed } of state.joined.has(room.id) ? [] : this.log.slice(state.position)) {
          if (roomId === room.id && !to) this.#deliver(socket, name, missed);
        }
        state.joined.add(room.id);
        room.unseen.set(state.user.id, new Set());
        this.#notePresence(room.id, state.user.id);
        return { room: room.seenBy(state.user.id, this) };
      case "room:leave":
        state.joined.delete(room.id);
        this.#notePresence(room.id, state.user.id);
        return {};
      case "message:typing": {
        // A renewal is not passed on.
        const typist = `${room.id} ${state.user.id}`;
        if (this.#typists.has(typist) === data.isTyping) return {};
        if (data.isTyping) this.#typists.add(typist);
        else this.#typists.delete(typist);
        this.toRoom(room, event, { roomId: room.id, userId: state.user.id, isTyping: data.isTyping }, { isKept: false, except: state.user.id });
        return {};
      }
      default:
        return event.startsWith("element") || event === "room:clear"
          ? elementRoutes.socket(this, room, state.user, event, data) : messageRoutes.socket(this, room, state.user, event, data);
    }
  }

  isPresent(roomId, userId) {
    return [...this.sockets.values()].some(({ user, joined }) => user?.id === userId && joined.has(roomId));
  }

  /** Whether an event is replayed: of the rooms that are the person's now, also if it is from before they came. */
  #isTheirs(userId, to, roomId) {
    return (!to || to.includes(userId)) && this.rooms.get(roomId)?.roles.has(userId);
  }

  /** Ends a person's visits of a room on all sockets. */
  endVisits(roomId, userId) {
    for (const { user, joined } of this.sockets.values()) if (user?.id === userId) joined.delete(roomId);
    this.#notePresence(roomId, userId);
  }

  #notePresence(roomId, userId) {
    const room = this.rooms.get(roomId);
    this.toRoom(room, "room:presence", { roomId, userId, isPresent: this.isPresent(roomId, userId) }, { isKept: false });
  }

  // Sending events

  toRoom(room, event, data, { isKept = true, except } = {}) {
    if (isKept) this.log.push({ to: null, roomId: room.id, event, data });
    for (const [socket, { user, joined }] of this.sockets) {
      if (user && joined.has(room.id) && user.id !== except) this.#deliver(socket, event, data);
    }
  }

  toAll(event, data) {
    for (const [socket, { user }] of this.sockets) if (user) this.#deliver(socket, event, data);
  }

  toPerson(userId, event, data) {
    this.log.push({ to: [userId], roomId: data.roomId ?? data.room.id, event, data });
    for (const [socket, { user }] of this.sockets) if (user?.id === userId) this.#deliver(socket, event, data);
  }

  #deliver(socket, event, data) {
    socket.deliver(`42${JSON.stringify([event, data])}`, event);
  }
}
