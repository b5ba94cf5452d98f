import { EndingSessions } from "./ending-sessions.js";
import { ClientFailure } from "./failure.js";
import { path } from "./http.js";
import { Observable } from "./observable.js";
import { removeAll } from "./storage.js";

const KEY = "session";
/**
 * The keys of marks begin with this, and the person's id follows. A mark stands for a sign-out that has not yet removed
 * all data of the person.
 */
const MARK = "signed-out/";
const LOCK = "parlor-session";
/**
 * A token is renewed this long before it expires, in milliseconds; a short-lived token is renewed after half its life.
 * The leeway covers clocks that differ, and the time of the request.
 */
const LONGEST_LEEWAY = 60_000;
/** The refusal after which a refresh token never works again. Any other may be temporary, or a proxy's, and ends no session. */
const FINAL_CODE = "invalid_token";

/**
 * Keeps one session for all tabs of an origin, and renews it. See parlor.d.ts.
 *
 * The storage has the valid session. A tab that wants to renew it takes a lock and reads the storage again: if another
 * tab has renewed the session meanwhile, no request is needed. With each refresh token an `attemptId` is stored, so a
 * request whose answer is lost can be repeated, even after a reload. A page without TLS has no locks. There several
 * tabs may send the request, but with the same id, so they get the same tokens. Servers that do not know the id ignore
 * it.
 */
export class Session extends Observable {
  #caller;
  #storage;
  #platform;
  #channel;
  /** The sessions of people who have signed out, to be ended on the server. */
  #ending;
  #current = null;
  /**
   * Set while the storage refuses this tab's session: the `failure`, and the `refreshToken` of the session that is
   * stored, if any.
   */
  #outdated = null;
  /** True if the storage could not be read the last time. */
  #isUnreadable = false;
  /** The refresh token of the session that was last read from the storage, or written to it. */
  #stored = undefined;
  #leeway = LONGEST_LEEWAY;
  #status = "unknown";
  /** The snapshot. `#current` is used as soon as it is stored, but shown only once the person's `Account` exists. */
  #shown = Object.freeze({ status: "unknown", user: null, failure: null });
  #refreshing = null;
  /** Rises when somebody signs in or out. Answers to earlier requests are then ignored. */
  #epoch = 0;

  /**
   * @param channel notifies other tabs.
   * @param onChange `(person, { isLogout, isElsewhere })`; it runs before the snapshot changes.
   */
  constructor({ caller, storage, platform, channel, onChange }) {
    super();
    this.#caller = caller;
    this.#storage = storage;
    this.#platform = platform;
    this.#channel = channel;
    this.#ending = new EndingSessions({ caller, storage, platform });
    this.onChange = onChange;
    channel.listen("session", (content) => this.#readAgain(content?.isLogout));
  }

  makeSnapshot() {
    return this.#shown;
  }

  async open() {
    if (this.#status === "unknown") {
      await this.#finishSignOuts();
      await this.#readAgain();
      if (this.#current) this.#persist(false);
    }
    this.#ending.start();
  }

  /** Tries again to end signed-out sessions, because the server may be reachable now. */
  retryEnding() {
    this.#ending.retry();
  }

  /** Stops trying to end signed-out sessions, until `open()`. */
  stopEnding() {
    this.#ending.stop();
  }

  async register({ username, password, firstName, email }) {
    const { data } = await this.#caller.call("POST", "/auth/register", { body: { username, password, firstName, email } });
    return this.adopt(data);
  }

  async login(username, password) {
    const { data } = await this.#caller.call("POST", "/auth/login", { body: { username, password } });
    return this.adopt(data);
  }

  async adopt(tokens) {
    this.#epoch += 1;
    this.#refreshing = null;
    await this.#finishSignOuts();
    await this.#keepTokens(tokens);
    this.#ending.retry();
    // The person has just pressed a button, and expects to stay signed in.
    this.#persist(true);
    return tokens.user;
  }

  async logout() {
    const session = this.#current;
    if (!session) return;
    await this.#end(null, true);
    // This does not wait for the server: the session has ended here.
    await this.#ending.add(session);
  }

  async signIns() {
    return (await this.call("GET", "/auth/sessions")).data;
  }

  async endSignIn(id) {
    await this.call("DELETE", path("auth", "sessions", id));
  }

  async endOtherSignIns() {
    await this.call("DELETE", "/auth/sessions");
  }

  async changePassword(currentPassword, newPassword) {
    const epoch = this.#epoch;
    const body = { currentPassword, newPassword };
    // The answer has a new refresh token in place of the one that another tab might be sending.
    await this.#withToken((token) => this.#locked(async () => {
      const { data } = await this.#caller.call("POST", "/auth/password", { body, token });
      if (epoch === this.#epoch) await this.#keepTokens(data);
    }));
  }

  /** Returns an access token that is valid for a while, and renews the session if necessary. @throws ClientFailure */
  async token() {
    const session = this.#current;
    if (!session) throw ClientFailure.signedOut();
    const left = Date.parse(session.expiresAt) - this.#platform.now();
    if (this.#leeway === null || left > this.#leeway) return session.token;
    try {
      return await this.#refresh(session);
    } catch (error) {
      // The old token is still valid for a short time.
      if (ClientFailure.of(error).isRetryable && left > 0) return session.token;
      throw error;
    }
  }

  /** Returns another token in place of one that the server has refused. @throws ClientFailure */
  async tokenReplacing(refused) {
    const session = this.#current;
    if (!session) throw ClientFailure.signedOut();
    return session.token === refused ? this.#refresh(session) : session.token;
  }

  /** Sends a request with a token. */
  call(method, path, options = {}) {
    return this.#withToken((token) => this.#caller.call(method, path, { ...options, token }));
  }

  /** Asks the browser to keep what is stored. It may refuse, which changes nothing. */
  #persist(mayPrompt) {
    this.#platform.persist?.(mayPrompt)?.catch(() => {});
  }

  /** Runs a request with a token. If the server refuses the token, it is replaced, once. */
  async #withToken(run) {
    const token = await this.token();
    try {
      return await run(token);
    } catch (error) {
      if (!(error instanceof ClientFailure && error.is("unauthenticated"))) throw error;
      return run(await this.tokenReplacing(token));
    }
  }

  #refresh(session) {
    const epoch = this.#epoch;
    this.#refreshing ??= this.#locked(() => this.#renewLocked(session, epoch)).finally(() => { this.#refreshing = null; });
    return this.#refreshing;
  }

  /** Runs work that replaces the session's tokens, in one tab at a time. */
  async #locked(work) {
    let isRun = false;
    const run = () => {
      isRun = true;
      return work();
    };
    try {
      if (this.#platform.locks) return await this.#platform.locks.request(LOCK, run);
    } catch (error) {
      // A browser that blocks site data may refuse locks too.
      if (isRun) throw error;
    }
    return run();
  }

  async #renewLocked(session, epoch) {
    const kept = await this.#read();
    if (epoch !== this.#epoch) throw ClientFailure.signedOut();
    if (kept === undefined) {
      await this.#take(null, null, { isElsewhere: true });
      throw ClientFailure.signedOut();
    }
    if (kept.refreshToken !== session.refreshToken) {
      await this.#take(kept, null);
      if (kept.user.id !== session.user.id) throw ClientFailure.signedOut();
      return kept.token;
    }
    let renewed;
    try {
      renewed = await this.#requestTokens(kept);
    } catch (error) {
      const failure = ClientFailure.of(error);
      if (epoch === this.#epoch && failure.kind === "refused" && failure.code === FINAL_CODE) {
        await this.#end(failure);
        throw ClientFailure.signedOut();
      }
      throw failure;
    }
    if (epoch !== this.#epoch) throw ClientFailure.signedOut();
    await this.#keepTokens(renewed);
    return renewed.token;
  }

  async #requestTokens({ refreshToken, attemptId }) {
    return (await this.#caller.call("POST", "/auth/refresh", { body: { refreshToken, attemptId } })).data;
  }

  async #end(failure, isLogout = false) {
    this.#epoch += 1;
    // One write sets the mark and moves the session to those that have to end. So the person is signed out, even if the
    // page is closed at any moment. A full storage refuses that write, but still removes the session with the next one.
    if (isLogout) {
      const changes = [[KEY, undefined], [MARK + this.#current.user.id, true], EndingSessions.change(this.#current)];
      await this.#storage.write(changes).catch(() => {});
    }
    await this.#write(undefined);
    await this.#take(null, failure, { isLogout });
    if (isLogout) await this.#finishSignOuts();
    this.#channel.post("session", { isLogout });
  }

  /** Removes all data of people who have signed out. The page may have been closed before all of it was removed. */
  async #finishSignOuts() {
    try {
      for (const [key] of await this.#storage.readAll(MARK)) {
        await removeAll(this.#storage, `${key.slice(MARK.length)}/`);
        await this.#storage.write([[key, undefined]]);
      }
    } catch {
      // The mark stays, so the next start tries again.
    }
  }

  /** Stores new tokens before they are used, because the previous ones no longer work. */
  async #keepTokens({ token, expiresAt, refreshToken, user }) {
    const session = { token, expiresAt, refreshToken, user, attemptId: this.#platform.makeId() };
    await this.#write(session);
    await this.#take(session, this.#outdated?.failure ?? null);
    this.#channel.post("session");
  }

  /** Writes the session. If that fails, the session lives only as long as the page. */
  async #write(session) {
    try {
      const changes = [[KEY, session]];
      // This also removes a mark of this person, because an earlier removal may have failed. If the mark stayed, the
      // next start would remove what the person has stored since.
      if (session) changes.push([MARK + session.user.id, undefined]);
      await this.#storage.write(changes);
      this.#outdated = null;
      this.#stored = session?.refreshToken;
    } catch (error) {
      const words = `The session cannot be stored on this device (${error?.message ?? error}).`;
      // Later refusals keep the first failure, so that the snapshot does not change.
      const failure = this.#outdated?.failure ?? new ClientFailure("not_kept", words);
      this.#outdated = { refreshToken: this.#stored, failure };
    }
  }

  /**
   * Returns the stored session. Returns this tab's session instead if the storage cannot be read, or if it still has
   * the session from before a refused write. The refresh token of that session has been used. Sending it again would
   * end the session.
   */
  async #read() {
    let kept;
    try {
      kept = await this.#storage.read(KEY);
      this.#isUnreadable = false;
    } catch {
      this.#isUnreadable = true;
      return this.#current ?? undefined;
    }
    this.#stored = kept?.refreshToken;
    const isOutdated = this.#outdated !== null && this.#outdated.refreshToken === kept?.refreshToken;
    return (isOutdated ? this.#current : kept) ?? undefined;
  }

  /** @param isLogout true if the person has signed out in another tab. */
  async #readAgain(isLogout = false) {
    const epoch = this.#epoch;
    const kept = await this.#read();
    if (epoch !== this.#epoch) return;
    if (kept?.token === this.#current?.token && this.#status !== "unknown") return;
    // If nobody has signed out, the server has ended the session.
    const failure = kept !== undefined || isLogout ? null
      : this.#current !== null ? ClientFailure.signedOut()
      : this.#isUnreadable ? new ClientFailure("not_kept", "What is stored on this device cannot be read.") : null;
    await this.#take(kept ?? null, failure, { isLogout, isElsewhere: kept === undefined });
  }

  /** @param isElsewhere true if another tab has ended the session. Then that tab alone changes what is stored. */
  async #take(session, failure, { isLogout = false, isElsewhere = false } = {}) {
    const before = this.#current?.user.id;
    if (session?.user.id !== before) this.#epoch += 1;
    this.#current = session;
    this.#status = session ? "signedIn" : "signedOut";
    const life = session ? Date.parse(session.expiresAt) - this.#platform.now() : 0;
    // If a new token seems to have expired, this clock is ahead, and the real expiry is unknown.
    this.#leeway = life > 0 ? Math.min(LONGEST_LEEWAY, life / 2) : null;
    if (session?.user.id !== before) await this.onChange(session?.user ?? null, { isLogout, isElsewhere });
    // Somebody else may have signed in meanwhile.
    if (this.#current !== session) return;
    const next = { status: this.#status, user: session?.user ?? null, failure };
    // A renewed session of the same person does not change the snapshot.
    if (JSON.stringify([next.status, next.user]) === JSON.stringify([this.#shown.status, this.#shown.user]) && failure === this.#shown.failure) return;
    this.#shown = Object.freeze(next);
    this.invalidate();
  }
}
