/** Why something did not succeed. See parlor.d.ts. */
export class ClientFailure extends Error {
  constructor(kind, message, { code = kind, isRetryable = kind === "offline", status = null, requestId = null, retryAfter = null } = {}) {
    super(message);
    this.name = "ClientFailure";
    Object.assign(this, { kind, code, isRetryable, status, requestId, retryAfter });
  }

  static offline(message) {
    return new ClientFailure("offline", message);
  }

  /** Nothing is asked after `stop()`: it is not tried again, the next `start()` catches up. */
  static stopped() {
    return new ClientFailure("offline", "stopped", { isRetryable: false });
  }

  static signedOut() {
    return new ClientFailure("signed_out", "Nobody is signed in.");
  }

  static refused(code, message, details = {}) {
    return new ClientFailure("refused", message || code, { isRetryable: false, ...details, code });
  }

  /** Any error as one: what is no failure of the server's is one of reaching it. */
  static of(error) {
    return error instanceof ClientFailure ? error : ClientFailure.offline(String(error?.message ?? error));
  }

  /** The server has refused with this code. */
  is(code) {
    return this.kind === "refused" && this.code === code;
  }
}
