import { ClientFailure } from "./failure.js";
import { SocketLink } from "./link.js";
import { JoinedRooms } from "./joined-rooms.js";
import { connectPolling } from "./polling-transport.js";
import { Backoff, Pause, within } from "./timing.js";
import { connectWebSocket } from "./websocket-transport.js";

// All times are in milliseconds.

/** The time limit for a token, and for each step of connecting. */
const CONNECT_TIMEOUT = 15_000;
/** The time after which a WebSocket that has not opened counts as blocked. */
const WEBSOCKET_TIMEOUT = 6_000;
/** After a WebSocket has failed and polling has worked, polling is tried first for this time, or until it fails. */
const POLLING_TIME = 300_000;
/** A server that sends no event and no `sync:done` for this time counts as one without recovery. */
const SYNC_TIMEOUT = 20_000;
/** A server that sends events, but no `sync:done` in this time, counts as one without recovery, too. */
const LONGEST_SYNC = 120_000;
/** After an attempt that connected and lasted this long, the pauses start short again. */
const GOOD_CONNECTION = 2_000;
/** An invalid cursor, which the server answers with a valid one. */
const NO_CURSOR = "none";

/**
 * The connection to the server's socket. It reconnects by itself, and catches up after each reconnect.
 *
 * Each `sync:done` brings a cursor. Live events carry none, so the cursor advances only at each connect. At the next
 * connect the server replays everything since then, in order, including the live events of the last connection. So an
 * event may come twice.
 *
 * `onUpdate` gets `{ type }` in this order: `connecting`, `connected`, `event` (with `name`, `data`) for missed
 * events, `recovered` (with `isWhole`), `event` for live ones, `disconnected` (with `failure`, `retryAt`). Then it
 * begins again with `connected`. While connected, also `slow` (with `isSlow`), see `SocketLink`, and `joined` (with
 * `room`, as the server described it) for each room that is joined.
 */
export class RoomsSocket {
  #platform;
  #address;
  #tokens;
  #mode;
  #handle;
  #link = null;
  #cursor = null;
  #awaitsSync = false;
  #lastEventAt = 0;
  #pause = null;
  #syncPause = null;
  #backoff = new Backoff();
  #pollingUntil = 0;
  /** Rises with each start and stop. Results of an earlier run are ignored. */
  #run = 0;
  #isRunning = false;
  #skipsPause = false;

  /** @param mode "auto", "websocket" or "polling". @param tokens has `token()` and `tokenReplacing(refused)`. */
  constructor({ platform, address, tokens, mode = "auto", onUpdate }) {
    this.#platform = platform;
    this.#address = address;
    this.#tokens = tokens;
    this.#mode = platform.WebSocket ? mode : "polling";
    this.#handle = onUpdate;
    this.rooms = new JoinedRooms(platform, (room) => onUpdate({ type: "joined", room }));
  }

  get isConnected() {
    return this.#link !== null;
  }

  get transportName() {
    return this.#link?.transportName ?? null;
  }

  start() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#run += 1;
    this.#skipsPause = false;
    this.#backoff.reset();
    this.#stayConnected(this.#run);
  }

  stop() {
    if (!this.#isRunning) return;
    this.#isRunning = false;
    this.#run += 1;
    this.#pause?.cancel();
    const failure = ClientFailure.offline("stopped");
    const link = this.#link;
    this.#setLink(null);
    link?.close(failure);
    this.#handle({ type: "disconnected", failure, retryAt: null });
  }

  wake() {
    this.#backoff.reset();
    this.#skipsPause = this.#isRunning && this.#link === null;
    this.#pause?.cancel();
    // When a browser loses its network, its sockets get no error. They would seem open until the server's ping is
    // overdue.
    if (this.#link?.isStale || (this.#link && this.#platform.isOffline())) {
      this.#skipsPause = true;
      this.#link.close(ClientFailure.offline("The server has fallen silent."));
    }
  }

  /** Sends an event, and returns the ack's object. @throws ClientFailure; without a connection, `offline` at once. */
  async emit(event, payload) {
    if (!this.#link) throw ClientFailure.offline("not connected");
    return this.#link.ask(event, payload);
  }

  /** Sends an event without an ack. Without a connection the event is dropped. */
  send(event, payload) {
    this.#link?.send(event, payload);
  }

  async #stayConnected(run) {
    this.#handle({ type: "connecting" });
    while (run === this.#run) {
      const startedAt = this.#platform.now();
      let failure;
      let wasConnected = false;
      try {
        const { link, ended } = await this.#connect(run);
        wasConnected = true;
        this.#serve(link);
        failure = await ended;
      } catch (error) {
        failure = ClientFailure.of(error);
      }
      if (run !== this.#run) return;
      this.#setLink(null);
      if (failure.kind === "signed_out" || failure.code === "disconnected") {
        this.#isRunning = false;
        this.#run += 1;
        return this.#handle({ type: "disconnected", failure, retryAt: null });
      }
      if (wasConnected && this.#platform.now() - startedAt >= GOOD_CONNECTION) this.#backoff.reset();
      const delay = this.#skipsPause ? 0 : this.#backoff.next(this.#platform.random(), failure.retryAfter);
      this.#skipsPause = false;
      this.#handle({ type: "disconnected", failure, retryAt: this.#platform.now() + delay });
      if (run !== this.#run) return;
      this.#pause = new Pause(this.#platform, delay);
      await this.#pause.done;
      this.#skipsPause = false;
    }
  }

  /** Connects. @returns the link, when the server has accepted the token, and a promise of the failure that ends it. */
  async #connect(run) {
    const token = await within(this.#platform, CONNECT_TIMEOUT, "no token", this.#tokens.token());
    if (run !== this.#run) throw ClientFailure.offline("stopped");
    if (this.#mode === "polling") return this.#connectBy(connectPolling, CONNECT_TIMEOUT, token, run);
    if (this.#mode === "websocket") return this.#connectBy(connectWebSocket, CONNECT_TIMEOUT, token, run);
    const isPollingFirst = this.#platform.now() < this.#pollingUntil;
    if (isPollingFirst) {
      const connected = await this.#unlessBlocked(this.#connectBy(connectPolling, CONNECT_TIMEOUT, token, run), run);
      if (connected) return connected;
      this.#pollingUntil = 0;
    }
    const opening = this.#connectBy(connectWebSocket, WEBSOCKET_TIMEOUT, token, run);
    // Polling that has just failed is not tried again in this attempt.
    if (isPollingFirst) return opening;
    const opened = await this.#unlessBlocked(opening, run);
    if (opened) return opened;
    const connected = await this.#connectBy(connectPolling, CONNECT_TIMEOUT, token, run);
    this.#pollingUntil = this.#platform.now() + POLLING_TIME;
    return connected;
  }

  /** @returns null if a transport has failed before the server answered, so that another one may work. */
  async #unlessBlocked(connecting, run) {
    try {
      return await connecting;
    } catch (error) {
      const failure = ClientFailure.of(error);
      // If the server has answered, the transport works, and another one would fail in the same way.
      if (run !== this.#run || !failure.isBeforeHandshake) throw failure;
      return null;
    }
  }

  async #connectBy(connect, timeout, token, run) {
    let end;
    const ended = new Promise((resolve) => { end = resolve; });
    const link = new SocketLink(this.#platform, connect, this.#address, {
      onEvent: (name, data) => run === this.#run && this.#take(link, name, data),
      onSlow: (isSlow) => link === this.#link && this.#handle({ type: "slow", isSlow }),
      onEnd: (failure) => end(failure),
    });
    try {
      await within(this.#platform, timeout, "no connection", link.opened);
    } catch (error) {
      link.close(ClientFailure.of(error));
      throw Object.assign(ClientFailure.of(error), { isBeforeHandshake: true });
    }
    try {
      await within(this.#platform, CONNECT_TIMEOUT, "not admitted in time", this.#admit(link, token));
      if (run !== this.#run) throw ClientFailure.offline("stopped");
    } catch (error) {
      link.close(ClientFailure.of(error));
      throw error;
    }
    return { link, ended };
  }

  /** Joins the namespace with a token. If the server refuses it, another one is tried on the same connection, once. */
  async #admit(link, token) {
    for (const isLast of [false, true]) {
      // This is set before the answer, because the replay follows it at once.
      this.#awaitsSync = true;
      const refusal = await link.connect({ token, since: this.#cursor ?? NO_CURSOR });
      if (refusal === null) return;
      if (refusal.code !== "unauthenticated") {
        throw ClientFailure.refused(refusal.code ?? "refused", refusal.message, { isRetryable: true });
      }
      if (isLast) throw ClientFailure.signedOut();
      token = await this.#tokens.tokenReplacing(token);
    }
  }

  #serve(link) {
    if (this.#link === link || link.failure) return;
    this.#setLink(link);
    // The connection that `wake` may have asked for is here. After its loss, there is a pause again.
    this.#skipsPause = false;
    this.#lastEventAt = this.#platform.now();
    this.#handle({ type: "connected" });
    if (this.#link === link) this.#awaitSync(link, this.#platform.now());
  }

  #take(link, name, data) {
    // Events may arrive in the same turn as the server's acceptance, before `#stayConnected` continues.
    this.#serve(link);
    if (this.#link !== link) return;
    if (name === "sync:done") {
      this.#awaitsSync = false;
      this.#syncPause?.cancel();
      this.#cursor = data?.cursor ?? this.#cursor;
      return this.#handle({ type: "recovered", isWhole: data?.recovered === true });
    }
    this.#lastEventAt = this.#platform.now();
    this.#handle({ type: "event", name, data: data ?? {} });
  }

  async #awaitSync(link, start) {
    while (await (this.#syncPause = new Pause(this.#platform, SYNC_TIMEOUT)).done) {
      const now = this.#platform.now();
      if (!this.#awaitsSync || link !== this.#link) return;
      if (now - this.#lastEventAt < SYNC_TIMEOUT && now - start < LONGEST_SYNC) continue;
      this.#awaitsSync = false;
      return this.#handle({ type: "recovered", isWhole: false });
    }
  }

  #setLink(link) {
    this.#link = link;
    this.#syncPause?.cancel();
    this.rooms.use(link);
  }
}
