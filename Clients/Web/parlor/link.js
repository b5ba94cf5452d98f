import { ClientFailure } from "./failure.js";
import { packets, parsePacket } from "./packets.js";
import { Pause, SLOW_AFTER } from "./timing.js";

/** The time limit, in milliseconds, for the server's handshake. */
const HANDSHAKE_TIMEOUT = 12_000;
/** The time limit, in milliseconds, for an ack. */
const ACK_TIMEOUT = 10_000;

/**
 * One connection: Socket.IO over a transport. It ends if nothing arrives for longer than the server's handshake allows.
 * When it ends, pending acks fail as `offline`.
 */
export class SocketLink {
  #platform;
  #transport;
  #handlers;
  #acks = new Map();
  #nextAck = 0;
  #admission = null;
  #opened;
  #silence = null;
  #longestSilence = HANDSHAKE_TIMEOUT;
  #pingInterval = 25_000;
  #heardAt;
  /** Why the connection has ended; null while it is open. */
  failure = null;

  /**
   * Connects.
   * @param connect `connectWebSocket` or `connectPolling`.
   * @param handlers `onEvent(name, data)` for each event; `onSlow(isSlow)`, which is called with true when a request
   * waits for long, and with false at each ack, and at each packet while no request waits; and `onEnd(failure)`, which is
   * called once.
   */
  constructor(platform, connect, address, handlers) {
    this.#platform = platform;
    this.#handlers = handlers;
    this.#heardAt = platform.now();
    /** Resolves with the handshake. */
    this.opened = new Promise((resolve, reject) => { this.#opened = { resolve, reject }; });
    this.opened.catch(() => {});
    this.#transport = connect(platform, address, {
      onText: (text) => this.#receive(text),
      onEnd: (failure) => this.close(failure),
    });
    this.#watch();
  }

  get transportName() {
    return this.#transport.name;
  }

  /**
   * Joins the namespace. After a refusal, it can be called again with another token.
   * @returns null, or `{ message, code }` of a refusal. @throws ClientFailure
   */
  connect(auth) {
    if (this.failure) return Promise.reject(this.failure);
    return new Promise((resolve, reject) => {
      this.#admission = { resolve, reject };
      this.#transport.send(packets.connect(auth));
    });
  }

  /**
   * True if no packet has arrived for 5 s longer than the ping interval. The connection is then dead, even without an
   * error.
   */
  get isStale() {
    return this.#platform.now() - this.#heardAt > this.#pingInterval + 5_000;
  }

  /**
   * Sends an event, and waits for its ack.
   * @returns the object of a successful ack.
   * @throws ClientFailure `refused`; `offline` if the connection has ended or no ack arrived in time. The server may
   * then have acted.
   */
  ask(event, payload) {
    if (this.failure) return Promise.reject(this.#requestFailure);
    const id = this.#nextAck++;
    return new Promise((resolve, reject) => {
      const pause = new Pause(this.#platform, ACK_TIMEOUT);
      pause.done.then((isLate) => {
        if (isLate && this.#acks.delete(id)) reject(ClientFailure.offline(`${event} was not answered in time.`));
      });
      const slow = new Pause(this.#platform, SLOW_AFTER);
      slow.done.then((isOver) => isOver && !this.failure && this.#handlers.onSlow(true));
      this.#acks.set(id, { resolve, reject, pauses: [pause, slow] });
      this.#transport.send(packets.event(event, payload, id));
    });
  }

  /** Sends an event without an ack. */
  send(event, payload) {
    if (!this.failure) this.#transport.send(packets.event(event, payload));
  }

  /**
   * The failure of requests once the connection has ended. A server that ends the connection for good has not refused
   * the requests, so they fail as `offline`.
   */
  get #requestFailure() {
    return this.failure.isRetryable ? this.failure : ClientFailure.offline("The server has ended the connection.");
  }

  /** Ends the connection. Only the first call counts. */
  close(failure) {
    if (this.failure) return;
    this.failure = failure;
    this.#silence?.cancel();
    this.#transport?.close();
    this.#opened.reject(failure);
    this.#admission?.reject(failure);
    for (const { reject, pauses } of this.#acks.values()) {
      pauses.forEach((pause) => pause.cancel());
      reject(this.#requestFailure);
    }
    this.#acks.clear();
    this.#handlers.onEnd(failure);
  }

  #receive(text) {
    if (this.failure) return;
    this.#heardAt = this.#platform.now();
    // A request over HTTP may have been given up before the server went on.
    if (this.#acks.size === 0) this.#handlers.onSlow(false);
    let packet;
    try {
      packet = parsePacket(text);
    } catch {
      return this.close(ClientFailure.offline("Something other than the server has answered."));
    }
    this.#take(packet);
  }

  #take(packet) {
    switch (packet.type) {
      case "open": {
        const { pingInterval = 25_000, pingTimeout = 20_000 } = packet.handshake;
        this.#pingInterval = pingInterval;
        this.#longestSilence = pingInterval + pingTimeout;
        this.#silence.cancel();
        this.#watch();
        return this.#opened.resolve(packet.handshake);
      }
      case "ping": return this.#transport.send(packets.pong(packet.payload));
      case "close": return this.close(ClientFailure.offline("The server closed the connection."));
      case "connected": return this.#admit(null);
      case "refused": return this.#admit({ message: packet.message, code: packet.code });
      case "disconnect":
        return this.close(ClientFailure.refused("disconnected", "The server has ended the connection."));
      case "event": return this.#handlers.onEvent(packet.name, packet.data);
      case "ack": return this.#settle(packet.id, packet.data);
    }
  }

  #admit(refusal) {
    this.#admission?.resolve(refusal);
    this.#admission = null;
  }

  #settle(id, data) {
    this.#handlers.onSlow(false);
    const ack = this.#acks.get(id);
    // No request waits for this ack, so it came too late.
    if (!ack) return;
    this.#acks.delete(id);
    ack.pauses.forEach((pause) => pause.cancel());
    if (data?.success === true) return ack.resolve(data);
    const error = data?.error;
    if (typeof error?.code !== "string") return ack.reject(ClientFailure.offline("The ack is malformed."));
    ack.reject(ClientFailure.refused(error.code, error.message, { isRetryable: error.retryable === true }));
  }

  /** Watches for silence with one timer for many packets: when it fires, it checks the time of the last packet. */
  #watch() {
    const wait = this.#heardAt + this.#longestSilence - this.#platform.now();
    this.#silence = new Pause(this.#platform, Math.max(wait, 0));
    this.#silence.done.then((isOver) => {
      if (!isOver || this.failure) return;
      if (this.#platform.now() - this.#heardAt >= this.#longestSilence) {
        return this.close(ClientFailure.offline("The server has fallen silent."));
      }
      this.#watch();
    });
  }
}
