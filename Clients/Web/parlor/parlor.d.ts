/**
 * parlor.js: the client library for the web. Plain ES modules, no dependency, no DOM.
 *
 * Everything that changes is an {@link Observable}: `snapshot` is an immutable object that stays the same object until something
 * changed, and listeners run once for all changes of one turn. Ids are opaque strings, times ISO 8601 strings as the server writes them.
 */

// ---- Observing -------------------------------------------------------------------------------------------------------------------

/** A value that changes. `snapshot` is replaced, never modified, so `===` says whether anything changed. */
export interface Observable<Snapshot> {
  readonly snapshot: Snapshot;
  /**
   * Runs `listener` after each change, in a microtask, once for all changes of one turn; not at once.
   * A listener that throws does not keep the others from running; its error goes to `reportError`.
   * @returns ends the subscription; safe to call twice.
   */
  subscribe(listener: (snapshot: Snapshot) => void): () => void;
}

// ---- What the server says --------------------------------------------------------------------------------------------------------

export interface Person {
  readonly id: string;
  readonly username: string;
  readonly firstName: string | null;
  readonly email: string | null;
}

export interface Participant {
  readonly userId: string;
  readonly username: string;
  readonly firstName: string | null;
  readonly joinedAt: string;
  /** They have the room open now. */
  readonly isPresent: boolean;
}

export interface LastMessage {
  readonly id: string;
  readonly senderId: string;
  readonly text: string;
  readonly createdAt: string;
}

/** A row of the list. Fields that a newer server adds are passed through. */
export interface Room {
  readonly id: string;
  /** null if unnamed; never "". */
  readonly name: string | null;
  /** Never empty: the name, or the participants joined by " & ", the creator first. */
  readonly displayName: string;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly messagesUpdatedAt: string | null;
  readonly lastActivityAt: string;
  readonly lastActivityType: "message" | "roomUpdate";
  /** Someone has the room open now. */
  readonly isActive: boolean;
  readonly participants: readonly Participant[];
  readonly elementCount: number;
  readonly badges: { readonly messages: number; readonly elements: number };
  readonly hasUnread: boolean;
  readonly lastMessage: LastMessage | null;
  /** Others who type there, in the order they began. The server says so for open rooms only. */
  readonly typing: readonly string[];
}

export interface PersonWithRooms {
  readonly id: string;
  readonly username: string;
  readonly firstName: string | null;
  /** By content, latest first. */
  readonly rooms: readonly Room[];
}

export interface Message {
  readonly id: string;
  readonly roomId: string;
  readonly seq: number;
  readonly senderId: string;
  readonly sender: Person;
  readonly receiverId: string | null;
  readonly text: string;
  readonly createdAt: string;
  readonly readStatus: boolean;
  readonly readBy: readonly { readonly userId: string; readonly readAt: string }[];
  readonly tempId: string | null;
}

export interface Position { readonly x: number; readonly y: number }

/** The server's element of a board. */
export interface Element {
  readonly id: string;
  readonly roomId: string;
  /** `[a-z][a-z0-9_-]{0,31}`: "note", "image", "link", "stroke" for the page. */
  readonly type: string;
  /** Any JSON object up to 64 KiB, kept as sent. */
  readonly content: { readonly [key: string]: unknown };
  readonly position: Position | null;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly updatedBy: string;
  readonly updatedAt: string;
  readonly version: number;
  readonly tempId: string | null;
}

// ---- Failures --------------------------------------------------------------------------------------------------------------------

/** Why something did not succeed. */
export class ClientFailure extends Error {
  /**
   * `offline`: not reached, or the connection was lost before the answer, so whether it was done is not known.
   * `refused`: the server's own words, `code` is the contract's. `signed_out`: nobody is signed in, or no longer.
   * `not_kept`: this device's storage refused.
   */
  readonly kind: "offline" | "refused" | "signed_out" | "not_kept";
  /** The contract's code (`room_not_found`, `invalid_field`, …) if refused, else the same as `kind`. */
  readonly code: string;
  /** Trying the same again later may succeed. */
  readonly isRetryable: boolean;
  readonly status: number | null;
  readonly requestId: string | null;
  /** Milliseconds that the server asked to wait. */
  readonly retryAfter: number | null;
}

// ---- The platform and storage ----------------------------------------------------------------------------------------------------

/**
 * Where tokens, unsent changes and the cache are kept. Values are JSON. One storage serves all tabs of one origin.
 * Keys begin with `session`, or with `USERID/`.
 */
export interface ParlorStorage {
  read(key: string): Promise<unknown | undefined>;
  /** All entries whose key begins with `prefix`, by key. */
  readAll(prefix: string): Promise<Array<[key: string, value: unknown]>>;
  /** All of it or nothing; `undefined` removes. Resolves when it would survive a reload. */
  write(changes: Array<[key: string, value: unknown | undefined]>): Promise<void>;
}

/** In IndexedDB, under one database name. */
export function indexedDBStorage(name?: string, factory?: IDBFactory): ParlorStorage;
/** In memory: nothing survives. For tests, and for browsers that refuse IndexedDB. */
export function memoryStorage(): ParlorStorage;

/** All that the library takes from its surroundings. Tests script each. */
export interface Platform {
  fetch: typeof fetch;
  /** Absent: long-polling only. */
  WebSocket?: typeof WebSocket;
  setTimeout(run: () => void, milliseconds: number): unknown;
  clearTimeout(timer: unknown): void;
  /** Milliseconds since 1970. */
  now(): number;
  /** From 0 up to 1. */
  random(): number;
  /** No two alike, ever: names messages, elements and rooms that are made here. */
  makeId(): string;
  /** Web Locks; absent: tabs refresh each on its own. */
  locks?: { request<T>(name: string, run: () => Promise<T>): Promise<T> };
  /** Absent: tabs don't hear of one another. */
  BroadcastChannel?: typeof BroadcastChannel;
}

/** What a browser (or a worker) offers. */
export function browserPlatform(overrides?: Partial<Platform>): Platform;

// ---- Everything together ---------------------------------------------------------------------------------------------------------

export interface ParlorOptions {
  /** "https://host" or "http://host:port"; "" is the page's own origin. */
  server: string;
  /** Default: IndexedDB where there is any, else memory. */
  storage?: ParlorStorage;
  platform?: Platform;
  /** "auto": WebSocket, and long-polling while WebSocket cannot be had. */
  transport?: "auto" | "websocket" | "polling";
}

export interface Connection {
  /** `ended`: it does not come back by itself, because nobody is signed in or the server dismissed this client. */
  readonly state: "idle" | "connecting" | "connected" | "offline" | "ended";
  /** All that was missed has been received: what is shown is current. */
  readonly isCaughtUp: boolean;
  readonly transport: "websocket" | "polling" | null;
  readonly failure: ClientFailure | null;
  /** When the next attempt begins, in milliseconds since 1970, while offline. */
  readonly retryAt: number | null;
}

/**
 * One server and whoever is signed in to it.
 *
 * ```js
 * const parlor = new Parlor({ server: "" });
 * parlor.session.subscribe(({ status }) => status === "signedIn" ? showRooms(parlor.rooms) : showSignIn());
 * await parlor.start();
 * ```
 */
export class Parlor {
  constructor(options: ParlorOptions);
  readonly session: Session;
  /** null until somebody is signed in; a new object for each person. Set before `session` says so. */
  readonly rooms: Rooms | null;
  readonly connection: Observable<Connection>;
  /** Own changes that the server does not have yet, over all rooms, and those that failed. */
  readonly unsent: Observable<{ readonly waiting: number; readonly failed: number }>;

  /** Reads the kept session, and connects if there is one. Resolves when it is known whether somebody is signed in. */
  start(): Promise<void>;
  /** Disconnects. What is unsent stays, and is sent after the next `start()`. */
  stop(): Promise<void>;
  /**
   * Connects at once in place of after a pause: to be called on `online`, and on `visibilitychange` to visible.
   * A connection that has been silent for longer than pings are apart is given up.
   */
  wake(): void;
  /** To be called on `pagehide`: writes the cache, sends waiting read receipts, ends typing. */
  flush(): Promise<void>;

  /**
   * Opens a room: presence begins, its element badge is gone, its messages and elements load, the cached ones first.
   * Screens of one room share one conversation and one board; each calls `close()` on what it got.
   */
  open(roomId: string): OpenRoom;
}

export interface OpenRoom {
  readonly roomId: string;
  readonly conversation: Conversation;
  readonly board: Board;
  /** Safe to call twice. Unsent changes go on being sent. */
  close(): void;
}

// ---- Session ---------------------------------------------------------------------------------------------------------------------

export interface SessionSnapshot {
  /** `unknown` until `start()` has read the storage. */
  readonly status: "unknown" | "signedOut" | "signedIn";
  readonly user: Person | null;
  /** Why one was signed out other than by `logout()`; null else. */
  readonly failure: ClientFailure | null;
}

/**
 * Who is signed in, in all tabs of this origin: signing in or out in one does so in all.
 *
 * Refresh tokens work once, so one tab refreshes for all, under a Web Lock, with an `attemptId` that is kept before it asks.
 */
export class Session implements Observable<SessionSnapshot> {
  readonly snapshot: SessionSnapshot;
  subscribe(listener: (snapshot: SessionSnapshot) => void): () => void;
  /** @throws ClientFailure `username_taken`, `email_taken`, `invalid_field`, … */
  register(fields: { username: string; password: string; firstName?: string; email?: string }): Promise<Person>;
  /** @param username or e-mail. @throws ClientFailure `invalid_credentials`, … */
  login(username: string, password: string): Promise<Person>;
  /** Takes over a session made elsewhere, such as a demo link's. */
  adopt(tokens: { token: string; expiresAt: string; refreshToken: string; user: Person }): Promise<void>;
  /** Leaves nothing of this person on the device, unsent changes included. The server is told if it can be reached. */
  logout(): Promise<void>;
}

// ---- Rooms -----------------------------------------------------------------------------------------------------------------------

export type RoomOrder = "activity" | "messages" | "content";

export interface RoomsSnapshot {
  /** By `order`, latest first. */
  readonly rooms: readonly Room[];
  readonly order: RoomOrder;
  /** By latest activity; people of two-person rooms. */
  readonly people: readonly PersonWithRooms[];
  readonly unreadMessages: number;
  readonly unseenElements: number;
  readonly isLoading: boolean;
  /** There has been an answer. False: rooms are the cached ones, and none does not mean that there are none. */
  readonly isLoaded: boolean;
  /** Why the last try to load failed; what is shown stays. */
  readonly failure: ClientFailure | null;
}

/** The rooms of one person, live. An answer never undoes an event that came while it was on its way. */
export class Rooms implements Observable<RoomsSnapshot> {
  readonly snapshot: RoomsSnapshot;
  subscribe(listener: (snapshot: RoomsSnapshot) => void): () => void;
  readonly userId: string;
  get(roomId: string): Room | undefined;
  setOrder(order: RoomOrder): void;
  /** Resolves with an answer that was asked for after this call, or with `failure` set. */
  refresh(): Promise<void>;
  /**
   * Always a new room, but for the same call that was never answered, within five minutes.
   * @throws ClientFailure
   */
  create(userId: string, name?: string): Promise<Room>;
  /** "" clears the name. Shown at once, and taken back if refused. @throws ClientFailure */
  rename(roomId: string, name: string): Promise<Room>;
  /** People one shares no room with, by username. @param q prefix of username or first name. @throws ClientFailure */
  findPeople(q?: string, options?: { cursor?: string; limit?: number; signal?: AbortSignal }):
    Promise<{ people: Person[]; next: string | null }>;
}

// ---- Conversation ----------------------------------------------------------------------------------------------------------------

/** One line: a message that the server has, or one on its way there. The object stays the same until it changes. */
export interface MessageItem {
  /** Stays the same when a pending message becomes a stored one. */
  readonly id: string;
  readonly senderId: string;
  readonly text: string;
  /** The server's time once it has it, and this device's until then. */
  readonly createdAt: string;
  readonly isOwn: boolean;
  /** `sending`: waits or is on its way. `sent`: the server has it. `read`: all others have read it. */
  readonly state: "sending" | "sent" | "read" | "failed";
  /** Only if failed. */
  readonly failure: { readonly code: string; readonly message: string } | null;
  /** null until the server has it. */
  readonly message: Message | null;
}

export interface ConversationSnapshot {
  /** By `seq`, then the unsent ones in the order typed. */
  readonly items: readonly MessageItem[];
  readonly hasOlder: boolean;
  readonly isLoading: boolean;
  readonly isLoadingOlder: boolean;
  /** The server has confirmed all that is shown, and sends every change. */
  readonly isVerified: boolean;
  readonly failure: ClientFailure | null;
  /** Ids of others who type, in the order they began. */
  readonly typing: readonly string[];
  /**
   * The first of others' messages that was unread when the room was opened, for the "new messages" mark;
   * null if none was. It stays while the room is open.
   */
  readonly firstUnreadId: string | null;
  /** The room is no longer one's own. */
  readonly isGone: boolean;
}

export class Conversation implements Observable<ConversationSnapshot> {
  readonly snapshot: ConversationSnapshot;
  subscribe(listener: (snapshot: ConversationSnapshot) => void): () => void;
  readonly roomId: string;
  /** Shows it at once, keeps it, and sends it now or when the server can be reached. @returns its item's id; null of white space alone. */
  send(text: string): string | null;
  /** Sends a failed message again, under the same `tempId`. */
  retry(itemId: string): void;
  /** Gives an unsent message up. @returns false if it is on its way or stored. */
  discard(itemId: string): boolean;
  /** Deletes an own stored message for everyone. @throws ClientFailure */
  delete(itemId: string): Promise<void>;
  /** The page before the first message; does nothing if there is none, or one is being fetched. */
  loadOlder(): Promise<void>;
  refresh(): Promise<void>;
  /** These items can be seen: others' unread ones are read now. Receipts go out in batches. */
  noteVisible(itemIds: Iterable<string>): void;
  /** The person has changed the text. Stops by itself after two idle seconds, and on sending. */
  typed(): void;
  stoppedTyping(): void;
}

// ---- Board -----------------------------------------------------------------------------------------------------------------------

/** An element as it is shown: the server's, with own changes on top that it does not have yet. */
export interface BoardElement {
  /** Stays the same when a new element becomes a stored one: use it as the key and in every call. */
  readonly id: string;
  readonly type: string;
  readonly content: { readonly [key: string]: unknown };
  readonly position: Position | null;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly updatedBy: string;
  readonly updatedAt: string;
  readonly isOwn: boolean;
  readonly state: "saved" | "saving" | "failed";
  readonly failure: { readonly code: string; readonly message: string } | null;
  /** The server's; null until it has it. */
  readonly element: Element | null;
}

/** The server had a newer version than what was edited here; it is shown, and this was not saved. */
export interface BoardConflict {
  readonly id: string;
  readonly content: { readonly [key: string]: unknown };
}

export interface BoardSnapshot {
  /** Oldest first. z-order is the content's business. */
  readonly elements: readonly BoardElement[];
  readonly isLoading: boolean;
  readonly isVerified: boolean;
  readonly failure: ClientFailure | null;
  readonly conflict: BoardConflict | null;
}

/**
 * Changes show at once and are kept until the server has them. While one is on its way, later ones of the same element become one,
 * so `move` may be called with every pointer event. Moves: the last one wins. Edits carry the version that was seen: on a
 * conflict the server's version is shown.
 */
export class Board implements Observable<BoardSnapshot> {
  readonly snapshot: BoardSnapshot;
  subscribe(listener: (snapshot: BoardSnapshot) => void): () => void;
  readonly roomId: string;
  /** @returns the id of the new element. */
  create(fields: { type: string; content?: object; position?: Position | null }): string;
  move(id: string, position: Position | null): void;
  /** Replaces the whole content. */
  edit(id: string, content: object): void;
  delete(id: string): void;
  /** Removes all elements, others' too. Needs a connection; taken back if it fails. @throws ClientFailure */
  clear(): Promise<void>;
  /** Sends a failed change again. */
  retry(id: string): void;
  /** Gives failed changes of an element up: the server's version is shown, or a new element disappears. */
  discard(id: string): void;
  dismissConflict(): void;
  refresh(): Promise<void>;
}

// ---- Display ---------------------------------------------------------------------------------------------------------------------

/** First name, or username. */
export function personName(person: { firstName?: string | null; username: string }): string;
/** "" for 0, "99+" over 99. */
export function badgeText(count: number): string;
