import { Observable } from "./observable.js";
import { Pause } from "./timing.js";

/** The delay before a write, in milliseconds. What is typed in this time is part of the same write. */
const PAUSE = 500;

/** What the person is still writing, by a key: a room's id for its message, and `<roomId>/…` for its board. See parlor.d.ts. */
export class Drafts extends Observable {
  #platform;
  #cache;
  #channel;
  #userId;
  /** "" stands for a draft that was removed here, so that a late read does not bring it back. */
  #texts = new Map();
  /** The drafts that this tab has last stored, or taken from another tab. */
  #shared = new Map();
  /** The keys of drafts that are not stored yet. */
  #changed = new Set();
  #pause = null;

  constructor({ platform, cache, channel, userId }) {
    super();
    this.#platform = platform;
    this.#cache = cache;
    this.#channel = channel;
    this.#userId = userId;
    channel.listen("drafts", (content) => content.userId === userId && this.#take(content.drafts.filter((draft) => this.#follows(draft))));
  }

  makeSnapshot() {
    return Object.freeze(Object.fromEntries([...this.#texts].filter(([, text]) => text)));
  }

  /** Reads the stored drafts. Those that were changed meanwhile stay as they are. */
  async load() {
    this.#take((await this.#cache.drafts()).filter(([key]) => !this.#texts.has(key)));
  }

  keep(key, text) {
    if ((this.#texts.get(key) ?? "") === text) return;
    this.#changed.add(key);
    this.#texts.set(key, text);
    this.invalidate();
    if (this.#pause) return;
    this.#pause = new Pause(this.#platform, PAUSE);
    this.#pause.done.then((isOver) => isOver && this.flush());
  }

  /** Stores the drafts, and shows them in other tabs. @returns a promise that resolves when they are stored. */
  async flush() {
    this.#pause?.cancel();
    this.#pause = null;
    if (this.#changed.size === 0) return;
    const drafts = [...this.#changed].map((key) => [key, this.#texts.get(key), this.#shared.get(key) ?? ""]);
    this.#changed.clear();
    this.#share(drafts);
    this.#channel.post("drafts", { userId: this.#userId, drafts });
    await this.#cache.keepDrafts(drafts);
  }

  /**
   * Returns whether another tab's draft continues the one that is here, such as when it was sent there. If not, the
   * person has gone on writing here, and that stays.
   */
  #follows([key, , before]) {
    const text = this.#texts.get(key) ?? "";
    return text === before || (text === "" && !this.#changed.has(key));
  }

  /** Takes drafts that are stored already. */
  #take(drafts) {
    this.#share(drafts);
    for (const [key, text] of drafts) this.#texts.set(key, text);
    this.invalidate();
  }

  #share(drafts) {
    for (const [key, text] of drafts) this.#shared.set(key, text);
  }
}
