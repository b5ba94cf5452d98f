/**
 * Returns the functions of a browser, a worker or node. Each is called on its owner, because browsers refuse a detached
 * `fetch`.
 */
export function browserPlatform(overrides = {}) {
  const scope = globalThis;
  const locks = scope.navigator?.locks;
  return {
    fetch: (...rest) => scope.fetch(...rest),
    WebSocket: scope.WebSocket,
    setTimeout: (run, milliseconds) => scope.setTimeout(run, milliseconds),
    clearTimeout: (timer) => scope.clearTimeout(timer),
    now: () => Date.now(),
    isOffline: () => scope.navigator?.onLine === false,
    random: () => Math.random(),
    makeId: () => makeId(scope.crypto),
    locks: locks && { request: (name, run) => locks.request(name, run) },
    BroadcastChannel: scope.BroadcastChannel,
    ...overrides,
  };
}

/** Makes a unique id. `randomUUID` exists only in a secure context, and a server on a local network has no TLS. */
function makeId(crypto) {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
