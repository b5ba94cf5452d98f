import { Account } from "./account.js";
import { TabChannel } from "./channel.js";
import { messagesLane } from "./conversation.js";
import { ClientFailure } from "./failure.js";
import { Caller } from "./http.js";
import { Observable, Value, bindMethods } from "./observable.js";
import { browserPlatform } from "./platform.js";
import { Session } from "./session.js";
import { indexedDBStorage, memoryStorage } from "./storage.js";

export { attach } from "./attach.js";
export { badgeText, peopleNames, personName } from "./display.js";
export { failureSentence } from "./failure-sentence.js";
export { messageText } from "./message-text.js";
export { browserPlatform, ClientFailure, indexedDBStorage, memoryStorage };

const IDLE = { state: "idle", isCaughtUp: false, isSlow: false, transport: null, failure: null, retryAt: null };

/** One server and the person signed in to it. See parlor.d.ts. */
export class Parlor {
  #platform;
  #address;
  #storage;
  #mode;
  #channel;
  #account = null;
  /** The account that is being ended: its listeners still run, and find its rooms. */
  #leaving = null;
  #isStarted = false;
  #isResting = false;

  constructor({ server, platform = browserPlatform(), storage, transport = "auto" }) {
    if (typeof server !== "string") throw new TypeError("`server` has to be an address, or \"\" for the page's own origin");
    bindMethods(this);
    this.#platform = platform;
    // "" means the page's own origin. A socket needs a complete address.
    this.#address = (server || globalThis.location?.origin || "").replace(/\/+$/, "");
    const name = `parlor ${this.#address}`;
    const makeStorage = "indexedDB" in globalThis ? indexedDBStorage : memoryStorage;
    this.#storage = storage ?? makeStorage(name, undefined, platform);
    this.#mode = transport;
    this.#channel = new TabChannel(platform, name);
    this.connection = new Value(IDLE);
    this.unsent = new Unsent();
    this.session = new Session({
      caller: new Caller(platform, this.#address, (isSlow) => this.#account?.noteSlow(isSlow)),
      storage: this.#storage,
      platform,
      channel: this.#channel,
      onChange: (user, end) => this.#use(user, end),
    });
  }

  get rooms() {
    return (this.#account ?? this.#leaving)?.rooms ?? null;
  }

  get drafts() {
    return (this.#account ?? this.#leaving)?.drafts ?? null;
  }

  async start() {
    this.#isStarted = true;
    await this.session.open();
    this.#account?.start();
  }

  async stop() {
    this.#isStarted = false;
    this.session.stopEnding();
    await this.#account?.stop();
  }

  wake() {
    this.#isResting = false;
    this.session.retryEnding();
    this.#account?.wake();
  }

  rest() {
    this.#isResting = true;
    this.#account?.rest();
  }

  unsentText(roomId) {
    return this.#account?.outbox.entries(messagesLane(roomId)).at(-1)?.change.text ?? null;
  }

  async flush() {
    await this.#account?.flush();
  }

  open(roomId) {
    if (typeof roomId !== "string") throw new TypeError("open() takes the id of a room");
    if (!this.#account) throw ClientFailure.signedOut();
    return this.#account.open(roomId);
  }

  /** Replaces the account, because somebody has signed in or out. */
  async #use(user, { isLogout, isElsewhere }) {
    const before = this.#account;
    [this.#account, this.#leaving] = [null, before];
    try {
      await before?.end({ erases: isLogout, isElsewhere });
    } finally {
      this.#leaving = null;
    }
    this.connection.set(IDLE);
    if (!user) return this.unsent.follow(null);
    this.#account = new Account({
      platform: this.#platform, address: this.#address, session: this.session, storage: this.#storage, channel: this.#channel,
      mode: this.#mode, user, connection: this.connection,
    });
    this.unsent.follow(this.#account.outbox.counts);
    if (this.#isResting) this.#account.rest();
    if (this.#isStarted) this.#account.start();
  }
}

/** The counts of unsent changes of the person who is signed in. */
class Unsent extends Observable {
  #counts = null;
  #end = () => {};

  makeSnapshot() {
    return this.#counts?.snapshot ?? NOTHING;
  }

  follow(counts) {
    this.#end();
    this.#counts = counts;
    this.#end = counts?.subscribe(() => this.invalidate()) ?? (() => {});
    this.invalidate();
  }
}

const NOTHING = Object.freeze({ waiting: 0, failed: 0, receipts: 0 });
