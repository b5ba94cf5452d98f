/** Returns the outcome for a change that failed, for both messages and elements. */
export function commonOutcome(failure) {
  // If a token was refused or nobody is signed in, the change itself is not at fault. It is sent after the next
  // sign-in.
  if (failure.isRetryable || failure.kind !== "refused" || failure.code === "unauthenticated") {
    return { type: "later", retryAfter: failure.retryAfter };
  }
  return { type: "failed", failure: { code: failure.code, message: failure.message } };
}
