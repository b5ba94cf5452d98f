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
    persist: (mayPrompt) => persist(scope.navigator, mayPrompt),
    ...overrides,
  };
}

/**
 * Asks the browser to keep what is stored, unless the person removes it. Otherwise Safari removes it after seven days
 * without a visit, and others when the disk is full.
 *
 * Chromium and Safari decide without a prompt, and may decide differently later. Firefox prompts, until the person has
 * answered once. So where nobody has just signed in, Firefox is asked only if it has the answer already.
 */
export async function persist({ storage, permissions, userAgentData } = {}, mayPrompt) {
  if (!storage?.persist || (await storage.persisted())) return;
  // Only Chromium has `userAgentData`. Its permission is "prompt", too, but it never prompts. Safari has no such
  // permission.
  if (!mayPrompt && !userAgentData) {
    const permission = await permissions?.query({ name: "persistent-storage" }).catch(() => null);
    if (permission?.state === "prompt") return;
  }
  await storage.persist();
}

/** Makes a unique id. `randomUUID` exists only in a secure context, and a server on a local network has no TLS. */
function makeId(crypto) {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
