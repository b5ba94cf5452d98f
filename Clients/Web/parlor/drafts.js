import { Observable } from "./observable.js";
import { Pause } from "./timing.js";

/** The delay before a write, in milliseconds. What is typed in this time is part of the same write. */
const PAUSE = 500;

/** The messages that the person is still writing, by room. See parlor.d.ts. */
export class Drafts extends Observable {
  #platform;
  #cache;
  #channel;
  #userId;
  /** "" stands for a draft that was removed here, so that a late read does not bring it back. */
  #texts = new Map();
  /** The rooms whose drafts are not stored yet. */
  #changed = new Set();
  #pause = null;

  constructor({ platform, cache, channel, userId }) {
    super();
    this.#platform = platform;
    this.#cache = cache;
    this.#channel = channel;
    this.#userId = userId;
    channel.listen("drafts", (content) => content.userId === userId && this.#take(content.drafts));
  }

  makeSnapshot() {
    return Object.freeze(Object.fromEntries([...this.#texts].filter(([, text]) => text)));
  }

  /** Reads the stored drafts. Those that were changed meanwhile stay as they are. */
  async load() {
    this.#take((await this.#cache.drafts()).filter(([roomId]) => !this.#texts.has(roomId)));
  }

  keep(roomId, text) {
    if ((this.#texts.get(roomId) ?? "") === text) return;
    this.#changed.add(roomId);
    this.#take([[roomId, text]]);
    if (this.#pause) return;
    this.#pause = new Pause(this.#platform, PAUSE);
    this.#pause.done.then((isOver) => isOver && this.flush());
  }

  /** Stores the drafts, and shows them in other tabs. @returns a promise that resolves when they are stored. */
  async flush() {
    this.#pause?.cancel();
    this.#pause = null;
    if (this.#changed.size === 0) return;
    const drafts = [...this.#changed].map((roomId) => [roomId, this.#texts.get(roomId)]);
    this.#changed.clear();
    this.#channel.post("drafts", { userId: this.#userId, drafts });
    await this.#cache.keepDrafts(drafts);
  }

  #take(drafts) {
    for (const [roomId, text] of drafts) this.#texts.set(roomId, text);
    this.invalidate();
  }
}
