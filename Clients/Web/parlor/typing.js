import { Pause } from "./timing.js";

/** The server ends a typist after three seconds without a renewal. */
const RENEWAL = 1_000;
const IDLE = 2_000;
/** Longer than the server waits: this is for an end that was lost. */
const LIFETIME = 3_500;

/** Sends that one types: at once, then at most once a second; and that one has stopped, after two idle seconds. */
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

  /** The text has changed by the person's hand. */
  typed() {
    const now = this.#platform.now();
    this.#typedAt = now;
    // Also within a second after a stop. Before it or after: a clock may be set back.
    if (Math.abs(now - this.#sentAt) < RENEWAL) return;
    this.#sentAt = now;
    this.#isTyping = true;
    this.#send(true);
    this.#waitForIdle(IDLE);
  }

  /** Sent, cleared, left, or in the background. */
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

/** Who else types in a room: until they stop, their message comes, or nothing was received of them for a while. */
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

  /** In the order they began. */
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

  /** The connection is lost, and with it any word of an end. */
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
      // One that was received long after now was so before the clock was set back.
      for (const [id, at] of [...this.#heardAt]) if (Math.abs(now - at) >= LIFETIME) this.end(id);
      this.#prune();
    });
  }
}
