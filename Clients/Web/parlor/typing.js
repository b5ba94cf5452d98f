import { Pause } from "./timing.js";

/**
 * The time, in milliseconds, before the signal is sent again. It must be below 3 s, after which the server ends the
 * typing.
 */
const RENEWAL = 1_000;
/** The time, in milliseconds, without a keystroke after which the typing ends. */
const IDLE = 2_000;

/** Sends that the person is typing: at once, and then at most once a second. Sends the end after two idle seconds. */
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

  /** Notes that the person has changed the text. */
  typed() {
    const now = this.#platform.now();
    this.#typedAt = now;
    // The limit also holds after a stop. `Math.abs` is for a clock that was set back.
    if (Math.abs(now - this.#sentAt) < RENEWAL) return;
    this.#sentAt = now;
    this.#isTyping = true;
    this.#send(true);
    this.#waitForIdle(IDLE);
  }

  /** Ends the typing: the text was sent or cleared, the field or room was left, or the page is in the background. */
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
 * The other people who type in a room, until the server says that they stopped, their message arrives, or the
 * connection is lost or slow.
 *
 * There is no time limit: the server does not pass on renewals, and always sends the end.
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

  /** Ends all typing, because the events that would end it may no longer arrive. */
  clear() {
    if (this.#ids.size === 0) return;
    this.#ids.clear();
    this.#onChange();
  }
}
