import { Board, boardLane } from "./board.js";
import { isConflict, sendBoardChange } from "./board-sending.js";
import { Cache } from "./cache.js";
import { Conversation, messagesLane } from "./conversation.js";
import { Drafts } from "./drafts.js";
import { sendMessage } from "./message-sending.js";
import { Outbox } from "./outbox.js";
import { ReadReceipts } from "./read-receipts.js";
import { Rooms } from "./rooms.js";
import { Server } from "./server.js";
import { RoomsSocket } from "./socket.js";
import { within } from "./timing.js";

/** The time limit, in milliseconds, for the last writes and requests before stopping. */
const FLUSH_TIME = 3_000;

/** Everything of one signed-in person. All events and changes pass through this object, in order. */
export class Account {
  #socket;
  #server;
  #receipts;
  #cache;
  #connection;
  #isAway = true;
  #isEnded = false;
  /** True while nobody looks at the open rooms. They are not joined then. */
  #isResting = false;
  #isStarted = false;
  #backing;
  /** Open rooms by id, with their conversation, board, and number of screens. */
  #open = new Map();
  #session;

  /** @param connection a Value with the state of the connection, which the app shows. */
  constructor({ platform, address, session, storage, channel, mode, user, connection }) {
    this.user = user;
    this.#connection = connection;
    this.#session = session;
    this.#socket = new RoomsSocket({ platform, address, tokens: session, mode, onUpdate: (update) => this.#take(update) });
    this.#server = new Server(session, this.#socket);
    this.#cache = new Cache(storage, user.id);
    this.outbox = new Outbox({ platform, storage, prefix: `${user.id}/outbox/`, channel, send: (entry) => this.#send(entry) });
    this.#receipts = new ReadReceipts({
      platform, server: this.#server, ownId: user.id, cache: this.#cache,
      onCount: (receipts) => this.outbox.counts.set({ receipts }),
    });
    const shared = { platform, server: this.#server, cache: this.#cache, receipts: this.#receipts, ownId: user.id };
    this.drafts = new Drafts({ platform, cache: this.#cache, channel, userId: user.id });
    this.rooms = new Rooms({ ...shared, channel, onGone: (roomId, removedBy) => this.#forget(roomId, removedBy) });
    this.#backing = {
      ...shared,
      outbox: this.outbox,
      unreadCount: (roomId) => this.rooms.unreadCount(roomId),
      onEnd: (roomId, isAtEnd) => this.rooms.noteAtEnd(roomId, isAtEnd),
      onTyping: (roomId, userIds) => this.rooms.setTyping(roomId, userIds),
      onGone: (roomId) => this.rooms.check(roomId),
    };
  }

  start() {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#server.open();
    this.outbox.start();
    this.rooms.loadFirst();
    void this.drafts.load();
    void this.#receipts.restore();
    this.#socket.start();
  }

  async stop() {
    this.#isStarted = false;
    await within(this.#backing.platform, FLUSH_TIME, "the time to stop is over", this.flush()).catch(() => {});
    // `start()` was called meanwhile.
    if (this.#isStarted) return;
    this.outbox.stop();
    this.#socket.stop();
    this.#server.close();
  }

  wake() {
    // A connection that the server has ended is reopened only here. If it were reopened at once, two pages could end
    // each other's connections without pause.
    if (this.#isStarted && this.#connection.snapshot.state === "ended") this.#socket.start();
    else this.#socket.wake();
    this.outbox.noteConnection();
    this.rooms.becomeActive();
    if (!this.#isResting) return;
    this.#isResting = false;
    for (const [roomId, { conversation, board, isGone }] of this.#open) {
      if (isGone) continue;
      this.rooms.enter(roomId);
      conversation.resume();
      board.resume();
    }
  }

  rest() {
    if (this.#isResting) return;
    this.#isResting = true;
    for (const [roomId, { conversation, board, isGone }] of this.#open) {
      if (isGone) continue;
      conversation.rest();
      board.rest();
      this.#leave(roomId);
    }
  }

  async flush() {
    const opened = [...this.#open.values()];
    await Promise.all([
      this.outbox.flush(), this.#receipts.keepAll(), this.#receipts.flush(), this.rooms.flush(), this.drafts.flush(),
      ...opened.flatMap(({ conversation, board }) => [conversation.flush(), board.writeCache()]),
    ]);
  }

  /**
   * Stops for good, because this person is no longer signed in.
   * @param erases true if the person signed out: then nothing stays on the device. Otherwise unsent changes wait for
   * the next sign-in.
   * @param isElsewhere true if another tab has ended the session: then the cache stays as that tab left it.
   */
  async end({ erases, isElsewhere }) {
    this.#isEnded = true;
    this.outbox.stop();
    if (isElsewhere) this.#cache.end();
    if (!erases) void this.#receipts.keepAll();
    this.#receipts.end();
    if (!erases) [this.rooms, this.drafts].forEach((kept) => kept.flush());
    this.rooms.end();
    const isErased = erases && Promise.allSettled([this.outbox.removeAll(), this.#cache.removeAll()]);
    for (const { conversation, board } of this.#open.values()) {
      conversation.leave();
      board.leave();
      conversation.end();
      board.end();
    }
    this.#open.clear();
    this.#socket.stop();
    this.#server.close();
    await isErased;
  }

  open(roomId) {
    let room = this.#open.get(roomId);
    if (!room || room.isGone) {
      room = {
        conversation: new Conversation(roomId, this.#backing, { isAway: this.#isAway }),
        board: new Board(roomId, this.#backing, { isAway: this.#isAway }),
        screens: 0,
      };
      this.#open.set(roomId, room);
      this.#followRoom(roomId, room);
    }
    room.screens += 1;
    if (room.screens === 1 && !this.#isEnded) {
      if (!this.#isResting) this.rooms.enter(roomId);
      for (const part of [room.conversation, room.board]) {
        part.enter();
        if (this.#isResting) part.rest();
      }
    }
    let isOpen = true;
    const { rooms } = this;
    return Object.freeze({
      roomId,
      get unseenElements() {
        return rooms.unseenAtOpening(roomId);
      },
      conversation: room.conversation,
      board: room.board,
      close: () => {
        if (isOpen) this.#close(roomId, room);
        isOpen = false;
      },
    });
  }

  /**
   * Passes a room to its conversation while it is open. Its people may change, and a room that is opened by its address
   * may not be loaded yet, or not be the person's yet.
   */
  #followRoom(roomId, opened) {
    let known = "";
    const take = () => {
      const room = this.rooms.get(roomId);
      const sign = room && JSON.stringify([room.participants, room.firstUnreadSeq]);
      if (!room || sign === known) return;
      known = sign;
      opened.conversation.setRoom(room);
      for (const part of [opened.conversation, opened.board]) if (part.snapshot.failure?.is("room_not_found")) part.refresh();
    };
    take();
    const unsubscribe = this.rooms.subscribe(() => (this.#open.get(roomId) === opened ? take() : unsubscribe()));
  }

  #close(roomId, room) {
    room.screens -= 1;
    if (room.screens > 0 || this.#open.get(roomId) !== room) return;
    this.#open.delete(roomId);
    room.conversation.leave();
    room.board.leave();
    this.#leave(roomId);
  }

  #leave(roomId) {
    this.rooms.beginLeaving(roomId);
    this.#server.leave(roomId).then(() => {
      // A screen may have opened the room again meanwhile.
      if (this.#isResting || !this.#open.has(roomId)) this.rooms.leave(roomId);
      this.#receipts.flush();
    });
  }

  /** Removes everything of a room that the person no longer belongs to. */
  #forget(roomId, removedBy) {
    const room = this.#open.get(roomId);
    if (room && !room.isGone) {
      room.isGone = true;
      room.conversation.end(removedBy);
      room.board.end();
      this.#server.leave(roomId);
    }
    this.#cache.remove(roomId);
    this.outbox.removeLane(messagesLane(roomId));
    this.outbox.removeLane(boardLane(roomId));
  }

  /** Notes whether a request waits for long. Without a connection, that says nothing new. */
  noteSlow(isSlow) {
    if (this.#connection.snapshot.state !== "connected") return;
    this.#connection.set({ isSlow });
    if (isSlow) this.#forward({ type: "slow" });
  }

  #take(update) {
    const { type, failure, retryAt } = update;
    if (type === "slow") return this.noteSlow(update.isSlow);
    if (type === "joined") return this.rooms.noteJoined(update.room);
    if (type === "connecting") this.#connection.set({ state: "connecting", failure: null });
    if (type === "connected") {
      this.#connection.set({ state: "connected", transport: this.#socket.transportName, isSlow: false, failure: null, retryAt: null });
    }
    if (type === "recovered") this.#isAway = false;
    if (type === "disconnected") {
      this.#isAway = true;
      const isOver = failure.kind === "signed_out" || failure.code === "disconnected";
      // The session may have been ended elsewhere. This request finds out.
      if (failure.code === "disconnected") this.#session.call("GET", "/users/me").catch(() => {});
      const state = isOver ? "ended" : retryAt === null ? "idle" : "offline";
      this.#connection.set({ state, transport: null, isSlow: false, failure: state === "idle" ? null : failure, retryAt });
    }
    this.#connection.set({ isCaughtUp: type === "recovered" || (type === "event" && this.#connection.snapshot.isCaughtUp) });
    if (type === "event") this.#apply(update.name, update.data);
    else this.#forward(update);
    if (type === "connected") {
      this.outbox.noteConnection();
      this.#receipts.flush();
    }
  }

  #forward(update) {
    this.rooms.applyUpdate(update);
    for (const { conversation, board } of this.#open.values()) {
      conversation.applyUpdate(update);
      board.applyUpdate(update);
    }
  }

  /** Applies an event. One that violates the contract is ignored, so that later ones are still applied. */
  #apply(name, data) {
    try {
      this.rooms.apply(name, data);
      const room = this.#open.get(data.roomId ?? data.message?.roomId ?? data.element?.roomId);
      if (!room || room.isGone) return;
      room.conversation.apply(name, data);
      room.board.apply(name, data);
    } catch (error) {
      console.error(`parlor: the event ${name} was ignored`, error);
    }
  }

  #send(entry) {
    if (entry.change.type !== "message") return this.#sendBoardChange(entry);
    return sendMessage(this.#server, entry, this.#backing.platform.now());
  }

  /** Sends a board change. Later changes of the same element are then based on its result. */
  async #sendBoardChange(entry) {
    const outcome = await sendBoardChange(this.#server, entry);
    if (outcome.value) this.#endConflicts(entry);
    const element = outcome.value?.element;
    // A later edit was not based on content that the person had not seen, so it conflicts as this one does.
    const { version, base } = isConflict(outcome) ? entry.change : { version: element?.version, base: element?.content };
    for (const later of element ? this.outbox.entries(entry.lane) : []) {
      if (later === entry || later.id !== entry.id || later.change.type === "create") continue;
      later.change.elementId ??= element.id;
      if (later.change.content !== undefined && later.change.version === undefined) Object.assign(later.change, { version, base });
      this.outbox.keep(later);
    }
    return outcome;
  }

  /** Removes the earlier conflicts of an element after a newer edit, which replaces them, or after its deletion. */
  #endConflicts(entry) {
    const { id, lane, change } = entry;
    if (change.type !== "delete" && change.content === undefined) return;
    for (const earlier of [...this.outbox.entries(lane)]) {
      if (earlier === entry) return;
      if (earlier.id === id && isConflict(earlier)) this.outbox.remove(earlier);
    }
  }
}
