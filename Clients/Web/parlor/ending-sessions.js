import { ClientFailure } from "./failure.js";
import { Backoff, Pause } from "./timing.js";

/** The keys of sessions to end begin with this, and the session's attempt id follows. */
const ENDING = "ending/";

/**
 * Ends signed-out sessions on the server, as soon as it can be reached, also after a reload.
 *
 * The storage has each session until the server has ended it, or has refused that for good. A session that the storage
 * refuses is known to this page only. Two tabs may end the same session: the second one is refused, and is done too.
 */
export class EndingSessions {
  #caller;
  #storage;
  #platform;
  /** By key. */
  #sessions = new Map();
  #isStarted = false;
  /** The keys of sessions that are being ended, each with its present pause, if any. */
  #running = new Map();

  constructor({ caller, storage, platform }) {
    this.#caller = caller;
    this.#storage = storage;
    this.#platform = platform;
  }

  /** Returns the change that stores a session to end. Make it in the write that removes the session. */
  static change(session) {
    // Nothing else of the person stays on the device.
    const { token, refreshToken, attemptId } = session;
    return [ENDING + attemptId, { token, refreshToken, attemptId }];
  }

  /** Ends the sessions that are stored. It does not wait for the server. */
  async start() {
    this.#isStarted = true;
    try {
      for (const [key, session] of await this.#storage.readAll(ENDING)) this.#sessions.set(key, session);
    } catch {
      // The next start tries again.
    }
    if (!this.#isStarted) return;
    for (const key of this.#sessions.keys()) this.#run(key);
  }

  /** Ends the pauses between tries. What is left stays stored for the next start. */
  stop() {
    this.#isStarted = false;
    this.retry();
  }

  /** Tries again at once, because the server may be reachable now. */
  retry() {
    for (const pause of this.#running.values()) pause?.cancel();
  }

  /** Ends one session. Before `start()` and after `stop()`, it is tried only once. */
  async add(session) {
    const [key, change] = EndingSessions.change(session);
    await this.#keep(key, change);
    this.#run(key);
  }

  /** Tries until the session has ended. One that the server cannot end holds up no other. */
  async #run(key) {
    if (this.#running.has(key)) return;
    this.#running.set(key, null);
    const backoff = new Backoff();
    while (this.#sessions.has(key)) {
      try {
        await this.#end(key);
        await this.#keep(key, undefined);
      } catch (error) {
        if (!this.#isStarted) break;
        const pause = new Pause(this.#platform, backoff.next(this.#platform.random(), ClientFailure.of(error).retryAfter));
        this.#running.set(key, pause);
        await pause.done;
        if (!this.#isStarted) break;
      }
    }
    this.#running.delete(key);
  }

  /** @throws ClientFailure if a later try may succeed. A refusal for good counts as the end. */
  async #end(key) {
    try {
      await this.#logOut(key);
    } catch (error) {
      if (ClientFailure.of(error).isRetryable) throw error;
    }
  }

  async #logOut(key) {
    const end = ({ token, refreshToken }) => this.#caller.call("POST", "/auth/logout", { token, body: { refreshToken } });
    const session = this.#sessions.get(key);
    try {
      await end(session);
    } catch (error) {
      if (!ClientFailure.of(error).is("unauthenticated")) throw error;
      // The token has expired, and only a valid one can end its session.
      const { refreshToken, attemptId } = session;
      const { data } = await this.#caller.call("POST", "/auth/refresh", { body: { refreshToken, attemptId } });
      // The refresh token has been used. If it were sent again after a minute, the server would take it for a copy.
      const { token, refreshToken: renewed } = data;
      await this.#keep(key, { token, refreshToken: renewed, attemptId: this.#platform.makeId() });
      await end(data);
    }
  }

  /** @param session undefined if there is nothing left to end. */
  async #keep(key, session) {
    if (session) this.#sessions.set(key, session);
    else this.#sessions.delete(key);
    // If a removal fails, the next start tries to end the session again, is refused, and removes it.
    await this.#storage.write([[key, session]]).catch(() => {});
  }
}
