import { Pause } from "./timing.js";

/** The server ends a typist after three seconds without a renewal. */
const RENEWAL = 1_000;
const IDLE = 2_000;
/** Longer than the server's limit: for an end that was lost. */
const LIFETIME = 3_500;

/** Sends that the person types: at once, then at most once a second; and the stop, after two idle seconds. */
export class TypingSignal {
  #platform;
  #send;
  #isTyping = false;
  #sentAt = -Infinity;
  #typedAt = 0;
  #idle = null;

  /** @param send `(isTyping) → void` */
  constructor(platform, send) {
    this.#platform = platform;
    this.#send = send;
  }

  /** Called when the person has changed the text. */
  typed() {
    const now = this.#platform.now();
    this.#typedAt = now;
    // Also within a second after a stop. Earlier or later, as a clock may be set back.
    if (Math.abs(now - this.#sentAt) < RENEWAL) return;
    this.#sentAt = now;
    this.#isTyping = true;
    this.#send(true);
    this.#waitForIdle(IDLE);
  }

  /** Ends the typing: the message was sent, cleared or left, or the page is in the background. */
  stopped() {
    this.#idle?.cancel();
    this.#idle = null;
    if (!this.#isTyping) return;
    this.#isTyping = false;
    this.#send(false);
  }

  #waitForIdle(milliseconds) {
    if (this.#idle) return;
    this.#idle = new Pause(this.#platform, milliseconds);
    this.#idle.done.then((isOver) => {
      if (!isOver) return;
      this.#idle = null;
      const left = IDLE - Math.abs(this.#platform.now() - this.#typedAt);
      if (left > 0) this.#waitForIdle(left);
      else this.stopped();
    });
  }
}

/** The others who type in a room: until they stop, their message arrives, or nothing was received of them for a while. */
export class Typists {
  #platform;
  #ownId;
  #onChange;
  #heardAt = new Map();
  #pause = null;

  constructor(platform, ownId, onChange) {
    this.#platform = platform;
    this.#ownId = ownId;
    this.#onChange = onChange;
  }

  /** The typists in the order in which they began. */
  get ids() {
    return [...this.#heardAt.keys()];
  }

  note(userId, isTyping) {
    if (userId === this.#ownId) return;
    if (!isTyping) return this.end(userId);
    const isNew = !this.#heardAt.has(userId);
    this.#heardAt.set(userId, this.#platform.now());
    if (isNew) this.#onChange();
    this.#prune();
  }

  end(userId) {
    if (this.#heardAt.delete(userId)) this.#onChange();
  }

  /** Ends all typing, as a lost connection brings no stops. */
  clear() {
    this.#pause?.cancel();
    this.#pause = null;
    if (this.#heardAt.size === 0) return;
    this.#heardAt.clear();
    this.#onChange();
  }

  #prune() {
    if (this.#pause || this.#heardAt.size === 0) return;
    const next = Math.min(...this.#heardAt.values()) + LIFETIME - this.#platform.now();
    this.#pause = new Pause(this.#platform, Math.min(Math.max(next, 0), LIFETIME));
    this.#pause.done.then((isOver) => {
      if (!isOver) return;
      this.#pause = null;
      const now = this.#platform.now();
      // A time far in the future means that the clock was set back.
      for (const [id, at] of [...this.#heardAt]) if (Math.abs(now - at) >= LIFETIME) this.end(id);
      this.#prune();
    });
  }
}
