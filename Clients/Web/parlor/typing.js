import { Pause } from "./timing.js";

/** The server ends a typist after three seconds without a renewal. */
const RENEWAL = 1_000;
const IDLE = 2_000;

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

/**
 * The others who type in a room: until the server says that they stopped, their message arrives, or the connection is lost.
 *
 * There is no time limit: the server passes on no renewals, and promises the end.
 */
export class Typists {
  #ownId;
  #onChange;
  #ids = new Set();

  constructor(ownId, onChange) {
    this.#ownId = ownId;
    this.#onChange = onChange;
  }

  /** The typists in the order in which they began. */
  get ids() {
    return [...this.#ids];
  }

  note(userId, isTyping) {
    if (!isTyping) return this.end(userId);
    if (userId === this.#ownId || this.#ids.has(userId)) return;
    this.#ids.add(userId);
    this.#onChange();
  }

  end(userId) {
    if (this.#ids.delete(userId)) this.#onChange();
  }

  /** Ends all typing, as a lost connection brings no stops. */
  clear() {
    if (this.#ids.size === 0) return;
    this.#ids.clear();
    this.#onChange();
  }
}
