/** Returns the outcome of a refused own change, for messages and elements alike. */
export function commonOutcome(failure) {
  // A refused token, or a missing sign-in, says nothing about the change: it is sent after the next sign-in.
  if (failure.isRetryable || failure.kind !== "refused" || failure.code === "unauthenticated") {
    return { type: "later", retryAfter: failure.retryAfter };
  }
  return { type: "failed", failure: { code: failure.code, message: failure.message } };
}
