import { ClientFailure } from "./failure.js";
import { Backoff, Pause } from "./timing.js";

/**
 * The rooms to join. They are joined again on each connection, until they are left or the server refuses them for good.
 */
export class JoinedRooms {
  #platform;
  #onJoined;
  #wanted = new Set();
  #joined = new Set();
  /** The joins in progress on this connection, by room. */
  #joining = new Map();
  #link = null;
  #isJoining = false;

  /** @param onJoined `(room) → void`, which runs with the server's answer to each join. */
  constructor(platform, onJoined) {
    this.#platform = platform;
    this.#onJoined = onJoined;
  }

  /** Joins all rooms on a new connection. @param link null if there is no connection. */
  use(link) {
    this.#link = link;
    this.#joined.clear();
    this.#joining.clear();
    this.#isJoining = false;
    this.#joinAll();
  }

  /**
   * Joins a room.
   * @returns the room. @throws ClientFailure; if it is retryable, the room is still joined as soon as possible.
   */
  async join(roomId) {
    this.#wanted.add(roomId);
    const link = this.#link;
    if (!link) throw ClientFailure.offline("not connected");
    return this.#join(roomId, link);
  }

  /** Joins a room, unless it is joined on this connection already. Shares a join that is in progress. */
  async joinOnce(roomId) {
    if (!this.#joined.has(roomId)) await (this.#joining.get(roomId) ?? this.join(roomId));
  }

  /** Leaves a room, which is not joined again. Without a connection this succeeds at once. */
  async leave(roomId) {
    this.#wanted.delete(roomId);
    this.#joined.delete(roomId);
    this.#joining.delete(roomId);
    await this.#link?.ask("room:leave", { roomId });
  }

  async #join(roomId, link) {
    const joining = this.#ask(roomId, link);
    this.#joining.set(roomId, joining);
    try {
      return await joining;
    } finally {
      if (this.#joining.get(roomId) === joining) this.#joining.delete(roomId);
    }
  }

  async #ask(roomId, link) {
    try {
      const { room } = await link.ask("room:join", { roomId, keepOthers: true });
      if (link === this.#link && this.#wanted.has(roomId)) {
        this.#joined.add(roomId);
        this.#onJoined(room);
      }
      return room;
    } catch (error) {
      if (!ClientFailure.of(error).isRetryable) this.#wanted.delete(roomId);
      else if (link === this.#link) this.#joinAll();
      throw error;
    }
  }

  async #joinAll() {
    const link = this.#link;
    if (!link || this.#isJoining) return;
    this.#isJoining = true;
    const backoff = new Backoff();
    let roomId;
    while (link === this.#link && (roomId = [...this.#wanted].find((id) => !this.#joined.has(id))) !== undefined) {
      try {
        await this.#join(roomId, link);
        backoff.reset();
      } catch (error) {
        // The service is unavailable, or there were too many joins. A room that is refused for good was removed above.
        if (ClientFailure.of(error).isRetryable && link === this.#link) {
          await new Pause(this.#platform, backoff.next(this.#platform.random())).done;
        }
      }
    }
    if (link === this.#link) this.#isJoining = false;
  }
}
