/**
 * parlor.js: the client library for the web. Plain ES modules, no dependency, no DOM.
 *
 * Everything that changes is an {@link Observable}: `snapshot` is an immutable object that stays the same until something changes, and
 * listeners run once for all changes of one turn. Ids are opaque strings; times are ISO 8601 strings, as the server writes them.
 */

// ---- Observing -------------------------------------------------------------------------------------------------------------------

/** A value that changes. `snapshot` is replaced, never modified: compare with `===` to see whether anything changed. */
export interface Observable<Snapshot> {
  readonly snapshot: Snapshot;
  /**
   * Runs `listener` after each change, in a microtask, once for all changes of one turn; not at once.
   * A listener that throws does not keep the others from running; its error goes to `reportError`.
   * @returns a function that ends the subscription; safe to call twice.
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
  /** null if the room has no name; never "". */
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
  /** Services that are added to the server may have further badges. */
  readonly badges: { readonly messages: number; readonly elements: number; readonly [name: string]: number };
  readonly hasUnread: boolean;
  readonly lastMessage: LastMessage | null;
  /** Ids of others who are typing, in the order they began. Only for rooms that are open: the server sends it to no one else. */
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

/** Why a call failed. */
export class ClientFailure extends Error {
  /**
   * `offline`: the server was not reached, or the connection was lost before the answer: it may have been done.
   * `refused`: the server refused; `code` is the contract's, `message` the server's. `signed_out`: nobody is signed in (any more).
   * `not_kept`: this device could not store it.
   */
  readonly kind: "offline" | "refused" | "signed_out" | "not_kept";
  /** The contract's code (`room_not_found`, `invalid_field`, …) if refused, else the same as `kind`. */
  readonly code: string;
  /** The same call may succeed later. */
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
/** In memory: nothing survives. For tests, and for environments without IndexedDB. */
export function memoryStorage(): ParlorStorage;

/** Everything that the library takes from its environment. Tests replace it. */
export interface Platform {
  fetch: typeof fetch;
  /** Whether the browser says that it has no network. False says nothing. */
  isOffline(): boolean;
  /** Absent: long-polling only. */
  WebSocket?: typeof WebSocket;
  setTimeout(run: () => void, milliseconds: number): unknown;
  clearTimeout(timer: unknown): void;
  /** Milliseconds since 1970. */
  now(): number;
  /** From 0 up to 1. */
  random(): number;
  /** Never the same twice: ids of messages, elements and rooms that are made here. */
  makeId(): string;
  /** Web Locks. Absent: each tab refreshes the tokens on its own. */
  locks?: { request<T>(name: string, run: () => Promise<T>): Promise<T> };
  /** Absent: tabs do not notify one another. */
  BroadcastChannel?: typeof BroadcastChannel;
}

/** What a browser (or a worker) offers. */
export function browserPlatform(overrides?: Partial<Platform>): Platform;

// ---- Everything together ---------------------------------------------------------------------------------------------------------

export interface ParlorOptions {
  /** "https://host" or "http://host:port"; "" is the page's own origin. */
  server: string;
  /** Default: IndexedDB, or memory in environments without it. Where site data is blocked, nothing survives the page. */
  storage?: ParlorStorage;
  platform?: Platform;
  /** "auto": WebSocket, and long-polling where no WebSocket opens. Default: "auto". */
  transport?: "auto" | "websocket" | "polling";
}

export interface Connection {
  /** `ended`: the server ended the connection, and it does not reconnect by itself; `wake()` does while somebody is signed in. */
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
   * Connects at once, without waiting for the next attempt, also if the server ended the connection, and ends a `rest()`. Call it
   * on `visibilitychange` to visible, and on `online` and `offline` while the page is visible.
   * A connection that has received nothing for longer than the ping interval is closed and opened again; so is any connection if
   * the browser says that it has no network.
   */
  wake(): void;
  /**
   * Leaves the open rooms on the server until `wake()`, as nobody looks at them. Call it when the page has been hidden for a while,
   * or begins hidden: a person who has a room open is present there, and gets no notification of its messages on other devices.
   * The list goes on: there a message counts as unread, and an element of others as unseen. Open rooms stay as they are shown;
   * `wake()` joins them again, and what has changed meanwhile appears.
   */
  rest(): void;
  /** Call it on `pagehide`: writes the cache, sends waiting read receipts, ends typing. */
  flush(): Promise<void>;

  /**
   * Opens a room: the person is present there, its element badge is cleared, and its messages and elements load, cached ones first.
   * Screens of one room share one conversation and one board; each screen calls `close()` on what it got.
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
  /**
   * Why the session ended, if not by `logout()`. While somebody is signed in, `not_kept` if this device could not store the
   * session, which then lasts as long as the page. Else null.
   */
  readonly failure: ClientFailure | null;
}

/**
 * Who is signed in, in all tabs of this origin: signing in or out in one does so in all.
 *
 * A refresh token works once. So one tab refreshes for all, under a Web Lock, with an `attemptId` that is stored before the request.
 */
export class Session implements Observable<SessionSnapshot> {
  readonly snapshot: SessionSnapshot;
  subscribe(listener: (snapshot: SessionSnapshot) => void): () => void;
  /** @throws ClientFailure `username_taken`, `email_taken`, `invalid_field`, … */
  register(fields: { username: string; password: string; firstName?: string; email?: string }): Promise<Person>;
  /** @param username or e-mail. @throws ClientFailure `invalid_credentials`, … */
  login(username: string, password: string): Promise<Person>;
  /** Signs in with tokens from elsewhere, such as a demo link's. @returns the person who is signed in now. */
  adopt(tokens: { token: string; expiresAt: string; refreshToken: string; user: Person }): Promise<Person>;
  /** Removes everything of this person from the device, also unsent changes. Ends the session on the server if it can be reached. */
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
  /** The server has answered. Until then `rooms` has the cached ones: an empty list does not mean that there are no rooms. */
  readonly isLoaded: boolean;
  /** Why loading failed the last time; `rooms` stays as it was. */
  readonly failure: ClientFailure | null;
}

/** The rooms of one person, live. An answer never undoes an event that arrived after the request was sent. */
export class Rooms implements Observable<RoomsSnapshot> {
  readonly snapshot: RoomsSnapshot;
  subscribe(listener: (snapshot: RoomsSnapshot) => void): () => void;
  readonly userId: string;
  get(roomId: string): Room | undefined;
  setOrder(order: RoomOrder): void;
  /** Loads all rooms, by a request made after this call. Resolves when `rooms` is up to date or `failure` is set. */
  refresh(): Promise<void>;
  /**
   * Makes a new room. The same call again within five minutes of one that got no answer makes no second room.
   * @throws ClientFailure
   */
  create(userId: string, name?: string): Promise<Room>;
  /** "" removes the name. The new name shows at once, and is undone if the call fails. @throws ClientFailure */
  rename(roomId: string, name: string): Promise<Room>;
  /** People who share no room with this person, by username. @param q prefix of username or first name. @throws ClientFailure */
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
  /** `sending`: waiting, or on its way. `sent`: the server has it. `read`: all others have read it. */
  readonly state: "sending" | "sent" | "read" | "failed";
  /** Only if failed. */
  readonly failure: { readonly code: string; readonly message: string } | null;
  /** null until the server has it. */
  readonly message: Message | null;
}

export interface ConversationSnapshot {
  /** By `seq`, then unsent ones in the order they were sent. */
  readonly items: readonly MessageItem[];
  readonly hasOlder: boolean;
  readonly isLoading: boolean;
  readonly isLoadingOlder: boolean;
  /** Everything shown is confirmed by the server, and every change arrives as an event. */
  readonly isVerified: boolean;
  readonly failure: ClientFailure | null;
  /** Ids of others who are typing, in the order they began. */
  readonly typing: readonly string[];
  /**
   * The first message of others that was unread when the room was opened, for the "new messages" mark; null if there was none.
   * It stays while the room is open.
   */
  readonly firstUnreadId: string | null;
  /** The person is no longer in the room, or it does not exist. */
  readonly isGone: boolean;
}

export class Conversation implements Observable<ConversationSnapshot> {
  readonly snapshot: ConversationSnapshot;
  subscribe(listener: (snapshot: ConversationSnapshot) => void): () => void;
  readonly roomId: string;
  /**
   * Shows and stores it at once, and sends it as soon as the server can be reached. If this device cannot store it, it is sent at
   * once, or fails with `not_kept`. @returns its item's id; null if it is blank.
   */
  send(text: string): string | null;
  /** Sends a failed message again, under the same `tempId`. */
  retry(itemId: string): void;
  /** Removes an unsent message. @returns false if it is on its way or stored. */
  discard(itemId: string): boolean;
  /** Deletes an own stored message for everyone. @throws ClientFailure */
  delete(itemId: string): Promise<void>;
  /** Loads the page before the first message; does nothing if there is none, or one is being loaded. */
  loadOlder(): Promise<void>;
  refresh(): Promise<void>;
  /** These items are visible: unread ones of others count as read. Receipts are sent in batches. */
  noteVisible(itemIds: Iterable<string>): void;
  /** The person has changed the text. Typing ends by itself after two idle seconds, and on sending. */
  typed(): void;
  stoppedTyping(): void;
}

// ---- Board -----------------------------------------------------------------------------------------------------------------------

/** An element as it is shown: the server's, with the changes made here that the server does not have yet. */
export interface BoardElement {
  /** Stays the same when a new element becomes a stored one: use it as the key, and in every call. */
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

/** An edit that was not saved, because the server had a newer version, which is shown. */
export interface BoardConflict {
  readonly id: string;
  readonly content: { readonly [key: string]: unknown };
}

export interface BoardSnapshot {
  /** Oldest first. Which element covers which is up to `content`. */
  readonly elements: readonly BoardElement[];
  readonly isLoading: boolean;
  readonly isVerified: boolean;
  readonly failure: ClientFailure | null;
  readonly conflict: BoardConflict | null;
}

/**
 * Changes show at once, and are stored until the server has them. While one is on its way, later ones of the same element are merged,
 * so `move` may be called with every pointer event. Of moves the last one wins. Edits carry the version that was seen: on a conflict
 * the server's version is shown. A change that this device cannot store is sent at once, or fails with `not_kept`.
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
  /** Removes all elements, also those of others. Needs a connection; undone if it fails. @throws ClientFailure */
  clear(): Promise<void>;
  /** Sends a failed change again. */
  retry(id: string): void;
  /** Drops failed changes of an element: the server's version is shown, or a new element disappears. */
  discard(id: string): void;
  dismissConflict(): void;
  refresh(): Promise<void>;
}

// ---- Display ---------------------------------------------------------------------------------------------------------------------

/** The first name, else the username. */
export function personName(person: { firstName?: string | null; username: string }): string;
/** "" for 0, "99+" over 99. */
export function badgeText(count: number): string;
