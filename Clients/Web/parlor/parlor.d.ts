/**
 * parlor.js: the client library for the web. It consists of plain ES modules, without dependencies and without the DOM.
 * This file is its reference, so it is one file although it is long.
 *
 * Everything that changes is an {@link Observable}: `snapshot` is an immutable object that stays the same until
 * something changes, and listeners run once for all changes of one turn. Methods are bound, so they can be passed on
 * without their object. Ids are opaque strings. Times are ISO 8601 strings, as the server writes them.
 */

// ---- Observing ------------------------------------------------------------------------------------------------------

/** A value that changes. `snapshot` is replaced and never modified, so `===` shows whether anything has changed. */
export interface Observable<Snapshot> {
  readonly snapshot: Snapshot;
  /**
   * Runs `listener` after each change, in a microtask, once for all changes of one turn. It does not run at the time of
   * the call. If a listener throws, the others run all the same, and its error goes to `reportError`.
   * @returns a function that ends the subscription. It can be called more than once.
   */
  subscribe(listener: (snapshot: Snapshot) => void): () => void;
}

// ---- The server's data ----------------------------------------------------------------------------------------------

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
  /** In a direct room it means nothing. */
  readonly role: Role;
}

/** Owners add and remove people, and set roles. A group always has one. */
export type Role = "owner" | "member";

export interface LastMessage {
  readonly id: string;
  readonly senderId: string;
  readonly text: string;
  readonly createdAt: string;
}

/** A room as one person sees it. Fields of newer servers are passed through. */
export interface Room {
  readonly id: string;
  /** The two people of a direct room never change. Those of a group do. */
  readonly kind: "direct" | "group";
  /** null if the room has no name; it is never "". */
  readonly name: string | null;
  /** The name, or `peopleNames`. It is never empty. */
  readonly displayName: string;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly messagesUpdatedAt: string | null;
  readonly lastActivityAt: string;
  readonly lastActivityType: "message" | "roomUpdate";
  readonly participantCount: number;
  /**
   * In the order in which they came. Of more than ten, only the first ten and the person may be known until the room is
   * opened: then there are fewer than `participantCount`.
   */
  readonly participants: readonly Participant[];
  readonly elementCount: number;
  /** The counts of what is new to the person. Added services may have further badges. */
  readonly badges: { readonly messages: number; readonly elements: number; readonly [name: string]: number };
  readonly hasUnread: boolean;
  readonly lastMessage: LastMessage | null;
  /**
   * True for a room that somebody else has made for the person, or to which the person was added, until it is opened on
   * this device.
   */
  readonly isNew: boolean;
  /**
   * The ids of others who have the room open; null if that is unknown, because the room is not open here or there is no
   * connection. The server's `isActive` and `isPresent` are left out: they are true only at the time of an answer.
   */
  readonly present: readonly string[] | null;
  /** The ids of others who are typing, in the order in which they began. It is empty unless the room is open here. */
  readonly typing: readonly string[];
}

export interface PersonWithRooms {
  readonly id: string;
  readonly username: string;
  readonly firstName: string | null;
  /** Sorted by content, latest first. */
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

/** A point on a board, in units of the app's own. */
export interface Position { readonly x: number; readonly y: number }

/** An element of a board, as the server has it. */
export interface Element {
  readonly id: string;
  readonly roomId: string;
  /** `[a-z][a-z0-9_-]{0,31}`. Parlor's page uses "note", "image", "link" and "stroke". */
  readonly type: string;
  /** Any JSON object of at most 64 KiB. The server does not change it. */
  readonly content: { readonly [key: string]: unknown };
  readonly position: Position | null;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly updatedBy: string;
  readonly updatedAt: string;
  readonly version: number;
  readonly tempId: string | null;
}

// ---- Failures -------------------------------------------------------------------------------------------------------

/** The reason why a call failed. */
export class ClientFailure extends Error {
  /**
   * - `offline`: the server was not reached, or the connection was lost before the answer. The server may have acted.
   * - `refused`: the server refused the call. `code` is one of the contract's, and `message` is the server's.
   * - `signed_out`: nobody is signed in, or the session has ended.
   * - `not_kept`: this device could not store the change or the session.
   */
  readonly kind: "offline" | "refused" | "signed_out" | "not_kept";
  /**
   * For `refused`, a code of the contract, such as `room_not_found`. The failure of a connection may also have the code
   * `disconnected` or `refused`. For every other kind, the code is the kind.
   */
  readonly code: string;
  /** True if the same call may succeed later. */
  readonly isRetryable: boolean;
  readonly status: number | null;
  readonly requestId: string | null;
  /** The time, in milliseconds, that the server asked to wait. */
  readonly retryAfter: number | null;
  /** For `invalid_field`, the name of the field that the server has refused, such as "email"; otherwise null. */
  readonly field: string | null;
}

/**
 * Returns a sentence for a person about a failure, or about the failure of an item: the one for its code, or a general
 * one. It is never the error's own message, which is in English and for developers.
 * @param language such as "de-AT"; what is not German means English.
 */
export function failureSentence(failure: unknown, language?: string): string;

// ---- The platform and storage ---------------------------------------------------------------------------------------

/**
 * The storage of tokens, unsent changes and the cache. Values are JSON. All tabs of one origin share one storage.
 * The keys are `session`, `signed-out/USERID`, and those that begin with `ending/` or `USERID/`.
 */
export interface ParlorStorage {
  /** Returns the value of a key; undefined if there is none. */
  read(key: string): Promise<unknown | undefined>;
  /** Returns all entries whose key begins with `prefix`, sorted by key. */
  readAll(prefix: string): Promise<Array<[key: string, value: unknown]>>;
  /** Makes all changes or none. `undefined` removes a key. Resolves when the changes would survive a reload. */
  write(changes: Array<[key: string, value: unknown | undefined]>): Promise<void>;
}

/**
 * Returns a storage in IndexedDB, in a database with this name. If the database does not open within 3 s, each call
 * fails, as where the browser blocks site data. `Parlor` then keeps everything in memory.
 */
export function indexedDBStorage(name?: string, factory?: IDBFactory, platform?: Platform): ParlorStorage;
/** Returns a storage in memory, which does not survive a reload. For tests, and for environments without IndexedDB. */
export function memoryStorage(): ParlorStorage;

/** Everything that the library uses of its environment. Tests replace it. */
export interface Platform {
  fetch: typeof fetch;
  /** Returns true if the browser says that it has no network. If it returns false, there may still be no network. */
  isOffline(): boolean;
  /** Without it, only long-polling is used. */
  WebSocket?: typeof WebSocket;
  setTimeout(run: () => void, milliseconds: number): unknown;
  clearTimeout(timer: unknown): void;
  /** Returns the milliseconds since 1970. */
  now(): number;
  /** Returns a number from 0 up to 1. */
  random(): number;
  /** Returns a unique id, for messages, elements and rooms that are made here. */
  makeId(): string;
  /** Web Locks. Without them, several tabs may renew the session at the same time, and get the same tokens. */
  locks?: { request<T>(name: string, run: () => Promise<T>): Promise<T> };
  /** Without it, tabs do not notify each other. */
  BroadcastChannel?: typeof BroadcastChannel;
  /**
   * Asks the browser to keep what is stored when it makes space. It is called with true after a sign-in, and with false
   * if `start()` finds a session: then it must not prompt.
   */
  persist?(mayPrompt: boolean): Promise<void>;
}

/** Returns the environment of a browser, a worker or node. */
export function browserPlatform(overrides?: Partial<Platform>): Platform;

// ---- Everything together --------------------------------------------------------------------------------------------

export interface ParlorOptions {
  /** The server's address, such as "https://host" or "http://host:port"; "" for the page's own origin. */
  server: string;
  /**
   * By default IndexedDB if there is one, otherwise memory. If it fails, nothing survives the page, and the session's
   * `failure` is `not_kept`.
   */
  storage?: ParlorStorage;
  platform?: Platform;
  /** By default "auto": a WebSocket, or long-polling if no WebSocket opens. */
  transport?: "auto" | "websocket" | "polling";
}

export interface Connection {
  /**
   * `ended` means that the server has ended the connection. The library then does not reconnect by itself. `wake()`
   * reconnects while somebody is signed in.
   */
  readonly state: "idle" | "connecting" | "connected" | "offline" | "ended";
  /** True if everything missed has been received, so what is shown is current. */
  readonly isCaughtUp: boolean;
  /**
   * True from the moment when a request, over the socket or HTTP, has waited 8 s for an answer, until an answer comes,
   * anything else comes while no request waits on the socket, or the connection ends.
   */
  readonly isSlow: boolean;
  readonly transport: "websocket" | "polling" | null;
  readonly failure: ClientFailure | null;
  /** While offline, the time of the next attempt, in milliseconds since 1970. */
  readonly retryAt: number | null;
}

/**
 * One server and the person who is signed in to it.
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
  /**
   * null while nobody is signed in, and a new object for each person. It is set before `session` changes. When a session
   * ends, it is null once the listeners of its rooms have run.
   */
  readonly rooms: Rooms | null;
  /** As `rooms`. */
  readonly drafts: Drafts | null;
  readonly connection: Observable<Connection>;
  /**
   * The numbers of the person's waiting and failed changes in all rooms, and of messages read here whose receipts the
   * server does not have yet. An edit in conflict counts as failed.
   */
  readonly unsent: Observable<{ readonly waiting: number; readonly failed: number; readonly receipts: number }>;
  /** The text of a room's newest message that the server does not have yet, or has refused; null if there is none. */
  unsentText(roomId: string): string | null;

  /**
   * Reads the stored session, and connects if there is one. Resolves when it is known whether somebody is signed in.
   */
  start(): Promise<void>;
  /**
   * Sends and stores what it can in a few seconds, then disconnects. Unsent changes are sent after the next `start()`.
   */
  stop(): Promise<void>;
  /**
   * Connects at once instead of after the pause, even if the server has ended the connection. Ends a `rest()`. It
   * replaces a connection that has received nothing for 5 s longer than the ping interval. If the browser says that it
   * has no network, it replaces any connection.
   */
  wake(): void;
  /**
   * Leaves the open rooms on the server until `wake()`, because nobody looks at them. A person who has a room open is
   * present there, and gets no notification of its messages on other devices.
   * The list of rooms stays current: new messages count as unread, and new elements of others as unseen. Open rooms
   * stay as they are shown. `wake()` joins them again, and then they show what has changed meanwhile.
   */
  rest(): void;
  /** Writes the cache, stores and sends waiting read receipts, and ends typing. */
  flush(): Promise<void>;

  /**
   * Opens a room. The person is then present there, its badge for elements is cleared, and its messages and elements
   * load, cached ones first. All screens of a room share one conversation and one board. Each screen has to call
   * `close()` on its result.
   * @throws ClientFailure `signed_out` if nobody is signed in.
   */
  open(roomId: string): OpenRoom;
}

/**
 * Connects a `Parlor` to the life of a page. Call it once, before `start()`. It calls `wake()` when the page becomes
 * visible, also from the back/forward cache, and on `online` and `offline` while it is visible; `rest()` if the page is
 * hidden now, and when it has been hidden for 15 s; and `flush()` when it becomes hidden or is left.
 * @returns a function that ends this.
 */
export function attach(parlor: Parlor, window: Window): () => void;

export interface OpenRoom {
  readonly roomId: string;
  /**
   * How many elements were unseen when the room was opened. It is 0 until that is known, while the room rests, and once it
   * is closed. `wake()` counts anew.
   */
  readonly unseenElements: number;
  readonly conversation: Conversation;
  readonly board: Board;
  /** Closes the room for one screen. Unsent changes are still sent. It can be called more than once. */
  close(): void;
}

// ---- Session --------------------------------------------------------------------------------------------------------

export interface SessionSnapshot {
  /** It is `unknown` until `start()` has read the storage. */
  readonly status: "unknown" | "signedOut" | "signedIn";
  readonly user: Person | null;
  /**
   * Why the session ended; null after `logout()`. While somebody is signed in, it is null, or `not_kept` if this device
   * could not store the session. Such a session lasts as long as the page. It is also `not_kept` if nobody is signed in
   * because `start()` could not read the storage.
   */
  readonly failure: ClientFailure | null;
}

/**
 * The person who is signed in. All tabs of an origin share the session: signing in or out in one tab does so in all.
 *
 * A refresh token works only once. So one tab renews the session for all, under a Web Lock. Where a browser has no locks,
 * several tabs may renew it: they send the same `attemptId`, which is stored with the token, and get the same new tokens.
 */
export class Session implements Observable<SessionSnapshot> {
  readonly snapshot: SessionSnapshot;
  subscribe(listener: (snapshot: SessionSnapshot) => void): () => void;
  /** Creates an account and signs in. @throws ClientFailure `username_taken`, `email_taken`, `invalid_field`, … */
  register(fields: { username: string; password: string; firstName?: string; email?: string }): Promise<Person>;
  /** Signs in. @param username the username or the e-mail address. @throws ClientFailure `invalid_credentials`, … */
  login(username: string, password: string): Promise<Person>;
  /** Signs in with tokens from elsewhere. @returns the person who is now signed in. */
  adopt(tokens: { token: string; expiresAt: string; refreshToken: string; user: Person }): Promise<Person>;
  /**
   * Removes all data of the person from the device, including unsent changes, and does not wait for the server. The
   * server ends the session as soon as it can be reached, also after a reload. Until then the session's tokens stay
   * stored, under a key that begins with `ending/`.
   */
  logout(): Promise<void>;
  /** Returns where the person is signed in, oldest first. @throws ClientFailure */
  signIns(): Promise<SignIn[]>;
  /** Ends a sign-in elsewhere. One that has ended already is no failure. @throws ClientFailure */
  endSignIn(id: string): Promise<void>;
  /** Ends all sign-ins but this one. @throws ClientFailure */
  endOtherSignIns(): Promise<void>;
  /**
   * Changes the password, and ends all other sign-ins. A failure without an answer leaves open which password is valid.
   * @throws ClientFailure `invalid_credentials` if the current password is wrong; `invalid_field`, …
   */
  changePassword(currentPassword: string, newPassword: string): Promise<void>;
}

/** A device or an app on which the person is signed in. */
export interface SignIn {
  readonly id: string;
  readonly createdAt: string;
  readonly lastUsedAt: string;
  /** What the browser or the app calls itself; "" if it says nothing. */
  readonly userAgent: string;
  readonly address: string;
  /** True for the sign-in of this page. */
  readonly current: boolean;
}

// ---- Rooms ----------------------------------------------------------------------------------------------------------

export type RoomOrder = "activity" | "messages" | "content";

export interface RoomsSnapshot {
  /** Sorted by `order`, latest first. */
  readonly rooms: readonly Room[];
  readonly order: RoomOrder;
  /** The other people in direct rooms, sorted by latest activity. */
  readonly people: readonly PersonWithRooms[];
  readonly unreadMessages: number;
  readonly unseenElements: number;
  readonly isLoading: boolean;
  /** True when the server has answered. Until then `rooms` has the cached rooms, and an empty list may be wrong. */
  readonly isLoaded: boolean;
  /** Why the last load failed; `rooms` stays as it was. */
  readonly failure: ClientFailure | null;
}

/**
 * The rooms of one person, which events keep up to date. An answer never undoes an event that arrived after its
 * request.
 */
export class Rooms implements Observable<RoomsSnapshot> {
  readonly snapshot: RoomsSnapshot;
  subscribe(listener: (snapshot: RoomsSnapshot) => void): () => void;
  readonly userId: string;
  get(roomId: string): Room | undefined;
  setOrder(order: RoomOrder): void;
  /**
   * Loads all rooms with a request that is sent after this call. Resolves when `rooms` is up to date or `failure` is
   * set.
   */
  refresh(): Promise<void>;
  /**
   * Makes a new direct room. If a call had no answer, the same call within five minutes does not make a second room.
   * @throws ClientFailure
   */
  create(userId: string, name?: string): Promise<Room>;
  /**
   * Makes a group of the person, who becomes its owner, and 1 to 99 others. As with `create`, the same call can be
   * repeated.
   * @throws ClientFailure `rate_limited` if people were added too often; `blocked`, `user_not_found`, …
   */
  createGroup(userIds: Iterable<string>, name?: string): Promise<Room>;
  /**
   * Adds people to a group, who then see all of its messages. Who is in it already is ignored. For owners.
   * @throws ClientFailure `invalid_field` if the group would have more than 100 people; `forbidden`, `rate_limited`, …
   */
  addPeople(roomId: string, userIds: Iterable<string>): Promise<Room>;
  /**
   * Removes somebody else from a group, which is no failure if they are not in it. For owners. After
   * `service_unavailable`, the server completes the removal by itself; the same call waits for that.
   * @throws ClientFailure
   */
  removePerson(roomId: string, userId: string): Promise<Room>;
  /** Makes somebody an owner or a member. For owners. @throws ClientFailure `invalid_field` for the last owner; … */
  setRole(roomId: string, userId: string, role: Role): Promise<Room>;
  /**
   * Leaves a group, and removes it with all unsent changes from this device. If the last owner leaves, whoever has been
   * there longest becomes owner. If nobody is left, the group is gone for good. @throws ClientFailure
   */
  leaveGroup(roomId: string): Promise<void>;
  /** Returns a page of a room's people, in the order in which they came. An open room has all. @throws ClientFailure */
  listParticipants(roomId: string, options?: { cursor?: string; limit?: number; signal?: AbortSignal }):
    Promise<{ participants: Participant[]; next: string | null }>;
  /**
   * Renames a room; "" removes the name. The new name shows at once, and is undone if the call fails.
   * @throws ClientFailure
   */
  rename(roomId: string, name: string): Promise<Room>;
  /**
   * Marks all messages of a room as read, also those that are not loaded: the newest 20,000 are searched, with a request
   * for each 200, until as many unread ones are found as the room's badge counts. Without a connection it continues
   * with the next one, until `stop()`. The badge falls when the server has the receipts.
   */
  markAllRead(roomId: string): Promise<void>;
  /**
   * Returns people who share no room with the person, sorted by username.
   * @param q the beginning of a username or first name.
   * @throws ClientFailure
   */
  findPeople(q?: string, options?: { cursor?: string; limit?: number; signal?: AbortSignal }):
    Promise<{ people: Person[]; next: string | null }>;
}

// ---- Drafts ---------------------------------------------------------------------------------------------------------

/**
 * What the person is still writing: a message under the id of its room, and what is written for the room's board under
 * keys that begin with `<roomId>/`. What is empty is missing. Drafts are read soon after `start()`, stay on this device until the person
 * signs out or loses the room, and are the same in all tabs, except while the person writes in several at once.
 */
export class Drafts implements Observable<{ readonly [key: string]: string }> {
  readonly snapshot: { readonly [key: string]: string };
  subscribe(listener: (snapshot: { readonly [key: string]: string }) => void): () => void;
  /** Keeps what is written so far; "" removes the draft. Call it at each change of the text, and when it was sent. */
  keep(key: string, text: string): void;
}

// ---- Conversation ---------------------------------------------------------------------------------------------------

/**
 * A message that the server has, or one that is not sent yet. The object stays the same until something in it changes.
 */
export interface MessageItem {
  /** It stays the same when the server stores a pending message. */
  readonly id: string;
  readonly senderId: string;
  readonly text: string;
  /** The server's time; until the server has the message, this device's. */
  readonly createdAt: string;
  readonly isOwn: boolean;
  /** True if it is somebody else's, and the person has not read it. What was sent before they came needs no reading. */
  readonly isUnread: boolean;
  /**
   * `sending` means waiting or being sent, `sent` that the server has it, and `read` that all others who were there when
   * it was sent have read it.
   */
  readonly state: "sending" | "sent" | "read" | "failed";
  /** The reason if `state` is `failed`, otherwise null: a code of the contract, `not_kept`, or `too_old`. */
  readonly failure: { readonly code: string; readonly message: string } | null;
  /** The server's message; null until the server has it. */
  readonly message: Message | null;
}

/** The rules for the text of a message, for a field in which a person writes one. */
export const messageText: {
  /** The maximum of `count`: the server's. */
  readonly limit: 4000;
  /** Returns the number of characters as the server counts them: code points, without the white space around the text. */
  count(text: string): number;
  /** Returns true if `Conversation.send` takes the text: something is left of it, and it is not over the limit. */
  canBeSent(text: string): boolean;
};

export interface ConversationSnapshot {
  /** Sorted by `seq`, followed by unsent messages in the order of the calls. */
  readonly items: readonly MessageItem[];
  readonly hasOlder: boolean;
  readonly isLoading: boolean;
  readonly isLoadingOlder: boolean;
  /** True if the server has confirmed everything that is shown, and every change arrives as an event. */
  readonly isVerified: boolean;
  readonly failure: ClientFailure | null;
  /** The ids of others who are typing, in the order in which they began. */
  readonly typing: readonly string[];
  /**
   * The first message of others that was unread when the room was opened, for a "new messages" line; null if there was
   * none. It stays the same while the room is open.
   */
  readonly firstUnreadId: string | null;
  /** True if the room does not exist, or if the person is no longer in it. */
  readonly isGone: boolean;
  /**
   * If `isGone`, the id of who has removed the person from the group: their own if they have left it, null if that is
   * unknown, or if the room does not exist.
   */
  readonly removedBy: string | null;
}

export class Conversation implements Observable<ConversationSnapshot> {
  readonly snapshot: ConversationSnapshot;
  subscribe(listener: (snapshot: ConversationSnapshot) => void): () => void;
  readonly roomId: string;
  /**
   * Shows and stores a message at once, and sends it as soon as the server can be reached. A message that this device
   * cannot store is sent at once. If the server cannot take it then, the message fails with `not_kept`. A message that
   * has waited for more than a day is not sent by itself: it fails with `too_old`, `retry` sends it, and `discard`
   * drops it.
   * @returns the item's id; null if `messageText` says that the text cannot be sent, or if the room is gone. Such a text
   * has to stay in the field.
   */
  send(text: string): string | null;
  /** Sends a failed message again, under the same `tempId`. */
  retry(itemId: string): void;
  /** Removes an unsent message. @returns false if it is being sent or already stored. */
  discard(itemId: string): boolean;
  /** Deletes one of the person's own messages for everyone, if the server has it. @throws ClientFailure */
  delete(itemId: string): Promise<void>;
  /**
   * Loads the page before the first message. Does nothing if there is none, or if a page is being loaded.
   * @param limit the number of messages: 50 by default, 200 at most.
   * @returns false if the shown messages were not fetched yet, so that older ones cannot be. `refresh()` fetches them.
   */
  loadOlder(limit?: number): Promise<boolean>;
  /** Fetches the messages again. Resolves when the fetch has ended; `failure` says whether it failed. */
  refresh(): Promise<void>;
  /**
   * Notes which items are visible: unread messages of others count as read. Receipts are sent in batches, after a
   * reload if not before.
   * @param isAtEnd true while the newest messages are in view, and those that arrive come into view by themselves. Then
   * none of the room's messages counts in `badges`, so that a badge does not blink until the server has the receipts.
   * Call it again when that ends, such as when the page is hidden.
   */
  noteVisible(itemIds: Iterable<string>, isAtEnd?: boolean): void;
  /**
   * Notes that the person has gone to the end of the messages: all up to this `seq` count as read, also those that were
   * skipped, and those that are not loaded, as with `Rooms.markAllRead`.
   */
  markReadUpTo(seq: number): void;
  /**
   * Notes that the person has changed the text. Typing ends by itself after two idle seconds, and when a message is
   * sent.
   */
  typed(): void;
  /** Ends typing at once, for example because the text is empty again. */
  stoppedTyping(): void;
}

// ---- Board ----------------------------------------------------------------------------------------------------------

/** An element as it is shown: the server's, with the person's unsent changes applied. */
export interface BoardElement {
  /** It stays the same when the server stores a new element. Use it as the key, and in every call. */
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
  /** The server's element; null until the server has it. */
  readonly element: Element | null;
}

/**
 * An edit that was not saved, because somebody else had changed the content or deleted the element first. The server's
 * content is shown, if there is any. The edit stays stored until it is dismissed, until the server has a newer edit of
 * the element, or until the person deletes the element or clears the board. If a newer edit conflicts, too, it replaces
 * the conflict.
 */
export interface BoardConflict {
  readonly id: string;
  readonly type: string;
  readonly content: { readonly [key: string]: unknown };
  /** Set if the element is gone. */
  readonly isDeleted?: true;
}

export interface BoardSnapshot {
  /** Oldest first. The order of overlapping elements is up to the app, which can keep it in `content`. */
  readonly elements: readonly BoardElement[];
  readonly isLoading: boolean;
  /** True if the server has confirmed everything that is shown, and every change arrives as an event. */
  readonly isVerified: boolean;
  /** Why the elements could not be fetched, or the room could not be joined; null if both have succeeded. */
  readonly failure: ClientFailure | null;
  /** The oldest one that was not dismissed. It is null until its element is loaded, or known to be gone. */
  readonly conflict: BoardConflict | null;
}

/**
 * One room's board. Changes show at once, and are stored until the server has them. While one change is being sent,
 * later ones of the same element are merged, so `move` may be called for every pointer event. The last move wins. An
 * edit is based on the content that is shown: if somebody else has changed that first, the server's content is shown,
 * and `conflict` has the edit. A change that this device cannot store is sent at once. If the server cannot take it
 * then, the change fails with `not_kept`. Tabs that were opened while a change waited send it, too: its newest version
 * wins.
 */
export class Board implements Observable<BoardSnapshot> {
  readonly snapshot: BoardSnapshot;
  subscribe(listener: (snapshot: BoardSnapshot) => void): () => void;
  readonly roomId: string;
  /** Creates an element. @returns its id. */
  create(fields: { type: string; content?: object; position?: Position | null }): string;
  /** Moves an element; null removes its position. */
  move(id: string, position: Position | null): void;
  /** Replaces the whole content of an element. */
  edit(id: string, content: object): void;
  /** Deletes an element for everyone. */
  delete(id: string): void;
  /**
   * Brings back an element that `delete` has removed, for everyone, as `element` was before. If the deletion was not
   * sent yet, it never will be. Otherwise this creates an element with the same content and position: the server cannot
   * undo a deletion. A second call creates a second element.
   * @returns the id that the element has now.
   */
  restore(element: BoardElement): string;
  /**
   * Deletes all elements for everyone, and drops the unsent changes that were made before this call. It is sent once and
   * never kept for later. Changes that are made during the call are sent after it. If it fails, the elements are shown
   * again, with their unsent changes.
   * @throws ClientFailure
   */
  clear(): Promise<void>;
  /** Sends the failed changes of an element again. */
  retry(id: string): void;
  /** Drops the failed changes of an element. The server's version is then shown, or a new element disappears. */
  discard(id: string): void;
  /**
   * Removes a conflict for good: the given one of a snapshot, or the one shown now. The snapshot then shows the next
   * one. The server's content stays.
   */
  dismissConflict(conflict?: BoardConflict): void;
  /** Fetches the elements again. Resolves when the fetch has ended; `failure` says whether it failed. */
  refresh(): Promise<void>;
}

// ---- Display --------------------------------------------------------------------------------------------------------

/** Returns the first name, or the username if there is none. */
export function personName(person: { firstName?: string | null; username: string }): string;
/** Returns the names of a room's first three people, joined by " & ", and the number of the others, such as "+4". */
export function peopleNames(room: { participants: readonly Participant[]; participantCount: number }): string;
/** Returns the text of a badge: "" for 0, and "99+" over 99. */
export function badgeText(count: number): string;
