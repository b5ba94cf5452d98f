/** The time, in milliseconds, after which a hidden page rests. Shorter visits to other tabs do not count. */
const REST_AFTER = 15_000;

/** Connects `parlor` to the life of a page. See parlor.d.ts. */
export function attach(parlor, window) {
  const { document } = window;
  let rest;
  // A hidden page reconnects by itself, a little later. `wake` would open its rooms again.
  const wake = () => document.hidden || parlor.wake();
  const flush = () => void parlor.flush();
  const turn = () => {
    window.clearTimeout(rest);
    if (!document.hidden) return parlor.wake();
    flush();
    rest = window.setTimeout(() => parlor.rest(), REST_AFTER);
  };
  const listeners = [
    [window, "online", wake], [window, "offline", wake], [window, "pagehide", flush],
    [document, "visibilitychange", turn],
    // A page that comes from the back/forward cache has lost its connection.
    [window, "pageshow", ({ persisted }) => persisted && wake()],
  ];
  for (const [target, name, run] of listeners) target.addEventListener(name, run);
  if (document.hidden) parlor.rest();
  return () => {
    window.clearTimeout(rest);
    for (const [target, name, run] of listeners) target.removeEventListener(name, run);
  };
}
