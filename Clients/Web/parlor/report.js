/** Reports an error that must not end the caller, such as a listener's. */
export function report(error) {
  if (typeof globalThis.reportError === "function") globalThis.reportError(error);
  else console.error(error);
}
