import { ClientFailure } from "./failure.js";
import { Backoff, Pause } from "./timing.js";

/** Rooms that are to be joined: on each connection again, until they are left or the server refuses. */
export class JoinedRooms {
  #platform;
  #wanted = new Set();
  #joined = new Set();
  #link = null;
  #isJoining = false;

  constructor(platform) {
    this.#platform = platform;
  }

  /** Rooms are joined on this connection from now on; null: there is none. */
  use(link) {
    this.#link = link;
    this.#joined.clear();
    this.#isJoining = false;
    this.#joinAll();
  }

  /**
   * @returns the room. @throws ClientFailure; if it is retryable, the room will still be joined as soon as can be.
   */
  async join(roomId) {
    this.#wanted.add(roomId);
    const link = this.#link;
    if (!link) throw ClientFailure.offline("not connected");
    return this.#join(roomId, link);
  }

  /** Succeeds without a connection: the room is not joined again. */
  async leave(roomId) {
    this.#wanted.delete(roomId);
    this.#joined.delete(roomId);
    await this.#link?.ask("room:leave", { roomId });
  }

  async #join(roomId, link) {
    try {
      const { room } = await link.ask("room:join", { roomId, keepOthers: true });
      if (link === this.#link && this.#wanted.has(roomId)) this.#joined.add(roomId);
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
        // The service behind is away, or there were too many joins; what is refused for good is not wanted any more.
        if (ClientFailure.of(error).isRetryable && link === this.#link) {
          await new Pause(this.#platform, backoff.next(this.#platform.random())).done;
        }
      }
    }
    if (link === this.#link) this.#isJoining = false;
  }
}
