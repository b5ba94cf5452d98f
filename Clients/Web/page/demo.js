import { choice } from "./dialog.js";
import { h } from "./dom.js";
import { t } from "./texts.js";

/** The host names of this machine. */
const HERE = new Set(["127.0.0.1", "localhost", "[::1]"]);

/**
 * Signs in with a link that `parlor --demo` prints, `#/demo/NAME/PASSWORD`, and removes it from the address. It asks first,
 * and works only on this machine: any page may open such a link, for an account that it has made, and would read what is
 * written there.
 */
export async function followDemoLink(session) {
  const match = HERE.has(location.hostname) && /^#\/demo\/([\w.-]+)\/([\w-]+)$/.exec(location.hash);
  if (!match) return;
  history.replaceState(null, "", location.pathname);
  const buttons = [{ name: t("cancel"), value: false }, { name: t("signIn"), value: true, look: "primary", hasFocus: true }];
  if (!(await choice(t("demoAsk", { name: match[1] }), h("p", {}, t("demoLead")), buttons))) return;
  await session.open();
  // This signs out whoever is signed in, even a person of that name from an earlier demo, and removes their data.
  await session.logout();
  await session.login(match[1], match[2]);
}
