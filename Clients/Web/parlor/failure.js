/** The reason why a call failed. See parlor.d.ts. */
export class ClientFailure extends Error {
  constructor(kind, message, { code = kind, isRetryable = kind === "offline", status = null, requestId = null, retryAfter = null } = {}) {
    super(message);
    this.name = "ClientFailure";
    Object.assign(this, { kind, code, isRetryable, status, requestId, retryAfter });
  }

  /** The contract's message names the field in backticks. */
  get field() {
    return this.is("invalid_field") ? /`(\w+)`/.exec(this.message)?.[1] ?? null : null;
  }

  static offline(message) {
    return new ClientFailure("offline", message);
  }

  /** Returns the failure of requests after `stop()`. They are not retried; the next `start()` catches up. */
  static stopped() {
    return new ClientFailure("offline", "stopped", { isRetryable: false });
  }

  static signedOut() {
    return new ClientFailure("signed_out", "Nobody is signed in.");
  }

  static refused(code, message, details = {}) {
    return new ClientFailure("refused", message || code, { isRetryable: false, ...details, code });
  }

  /** Converts any error. One that is not a ClientFailure becomes `offline`. */
  static of(error) {
    return error instanceof ClientFailure ? error : ClientFailure.offline(String(error?.message ?? error));
  }

  /** Returns true if the server has refused with this code. */
  is(code) {
    return this.kind === "refused" && this.code === code;
  }
}
