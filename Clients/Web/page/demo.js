/** The addresses of this machine itself. */
const HERE = new Set(["127.0.0.1", "localhost", "[::1]"]);

/**
 * Signs in with a link that `parlor --demo` prints, `#/demo/NAME/PASSWORD`, and takes it out of the address. Only on this machine: on
 * a real server, following somebody's link must not sign one in as somebody else.
 */
export async function followDemoLink(session) {
  const match = HERE.has(location.hostname) && /^#\/demo\/([\w.-]+)\/([\w-]+)$/.exec(location.hash);
  if (!match) return;
  history.replaceState(null, "", location.pathname);
  await session.open();
  // Also signs out a person of the same name from an earlier demo, and removes their data.
  await session.logout();
  await session.login(match[1], match[2]);
}
