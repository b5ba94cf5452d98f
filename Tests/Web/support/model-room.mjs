import { ClientFailure } from "../../../Clients/Web/parlor/failure.js";

/** The most messages of a page, so that a short history has several pages. */
const PAGE = 4;
const START = Date.parse("2030-01-01T00:00:00Z");
const offline = () => ClientFailure.offline("no network");

/**
 * One room as the contract describes it, on a network that a test controls: as `ModelServer` of ParlorClient's tests. A call is
 * handled and answered, handled without an answer, or lost. An answer may be delayed, and events wait until they are let through.
 */
export class ModelRoom {
  messages = [];
  /** Events for the client, `[name, data]`, sent while it is connected, or replayed later. */
  events = [];
  /** The texts of own messages that have arrived, including deleted ones. */
  arrived = new Set();
  keepsEvents = true;
  /** Pending calls, the oldest first: `{ kind, about, work, resolve, reject }`. */
  calls = [];
  #held = [];
  /** Events since the client's last leave: a join replays them. */
  #sinceLeave = [];
  #isJoined = false;
  #lastSeq = 0;
  #idsByTempId = new Map();

  // What others do

  write(text, senderId, tempId = null) {
    const known = this.messages.find(({ id }) => id === this.#idsByTempId.get(tempId));
    if (known) return known;
    const seq = ++this.#lastSeq;
    const message = {
      id: `m${seq}`, roomId: "room", seq, senderId, sender: { id: senderId, username: senderId }, text, createdAt: time(seq),
      readBy: [], readStatus: false, tempId,
    };
    this.messages.push(message);
    if (senderId === "me") this.arrived.add(text);
    if (tempId !== null) this.#idsByTempId.set(tempId, message.id);
    this.#emit("message:new", { message: structuredClone(message) });
    return message;
  }

  delete(messageId) {
    const index = this.messages.findIndex(({ id }) => id === messageId);
    if (index < 0) return;
    this.messages.splice(index, 1);
    this.#emit("message:deleted", { roomId: "room", messageId, deletedBy: "ann" });
  }

  read(message, userId) {
    message.readBy.push({ userId, readAt: time(0) });
    message.readStatus = true;
    this.#emit("messages:read", { roomId: "room", userId, messageIds: [message.id], readAt: time(0) });
  }

  #emit(...event) {
    if (this.keepsEvents) (this.#isJoined ? this.events : this.#sinceLeave).push(event);
  }

  // What the client asks

  /** The connection of one run of the app. */
  link() {
    const link = { isDead: false };
    const call = (kind, about, work) => new Promise((resolve, reject) => {
      if (link.isDead) reject(offline());
      else this.calls.push({ kind, about, work, resolve, reject });
    });
    return Object.assign(link, {
      join: async () => {
        if (link.isDead) return;
        this.#isJoined = true;
        this.events.push(...this.#sinceLeave.splice(0));
      },
      leave: async () => {
        if (!link.isDead) this.#isJoined = false;
      },
      setTyping() {},
      messages: (_, asked) => call("page", null, () => this.#page(asked)),
      send: (_, text, tempId) => call("send", text, () => this.#send(text, tempId)),
      deleteMessage: (_, id) => call("delete", id, () => this.delete(id)),
    });
  }

  #page({ before, after, limit }) {
    const count = Math.min(limit, PAGE);
    const found = this.messages.filter(({ seq }) => (after === undefined ? seq < (before ?? Infinity) : seq > after));
    const items = after === undefined ? found.slice(-count) : found.slice(0, count);
    return { items: structuredClone(items), next: found.length > count ? "more" : null };
  }

  #send(text, tempId) {
    const id = this.#idsByTempId.get(tempId);
    if (id && !this.messages.some((message) => message.id === id)) throw ClientFailure.refused("message_not_found");
    return structuredClone(this.write(text, "me", tempId));
  }

  // What the test decides

  get hasCalls() {
    return this.calls.length > 0 || this.#held.length > 0;
  }

  disconnect(keepsEvents) {
    this.keepsEvents = keepsEvents;
    if (!keepsEvents) this.forgetEvents();
  }

  /** @returns whether all missed events are replayed. */
  connect() {
    const isWhole = this.keepsEvents;
    this.keepsEvents = true;
    return isWhole;
  }

  forgetEvents() {
    this.events = [];
    this.#sinceLeave = [];
  }

  deal(call, fate) {
    this.calls.splice(this.calls.indexOf(call), 1);
    if (fate === "lost") return call.reject(offline());
    if (fate === "refused") return call.reject(ClientFailure.refused("invalid_field"));
    let answer;
    try {
      const value = call.work();
      answer = () => call.resolve(value);
    } catch (failure) {
      answer = () => call.reject(failure);
    }
    if (fate === "answered") answer();
    else if (fate === "held") this.#held.push({ call, answer });
    else call.reject(offline());
  }

  /** Lets one of the held answers arrive, if there are any. */
  release(choice) {
    if (this.#held.length > 0) this.#held.splice(choice % this.#held.length, 1)[0].answer();
  }

  releaseAnswersToSending() {
    const answers = this.#held.filter(({ call }) => call.kind === "send");
    this.#held = this.#held.filter(({ call }) => call.kind !== "send");
    for (const { answer } of answers) answer();
  }

  /** Ends a run of the app. Its calls are not handled, and get no answers. */
  end(link) {
    link.isDead = true;
    this.#isJoined = false;
    for (const { reject } of [...this.calls.splice(0), ...this.#held.splice(0).map(({ call }) => call)]) reject(offline());
    this.forgetEvents();
    this.connect();
  }
}

function time(seq) {
  return new Date(START + seq * 1_000).toISOString();
}
