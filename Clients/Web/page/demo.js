/** The host names of this machine. */
const HERE = new Set(["127.0.0.1", "localhost", "[::1]"]);

/**
 * Signs in with a link that `parlor --demo` prints, `#/demo/NAME/PASSWORD`, and removes it from the address. This works
 * only on this machine: on a real server, a link must not sign anybody in as somebody else.
 */
export async function followDemoLink(session) {
  const match = HERE.has(location.hostname) && /^#\/demo\/([\w.-]+)\/([\w-]+)$/.exec(location.hash);
  if (!match) return;
  history.replaceState(null, "", location.pathname);
  await session.open();
  // This signs out whoever is signed in, even a person of that name from an earlier demo, and removes their data.
  await session.logout();
  await session.login(match[1], match[2]);
}
