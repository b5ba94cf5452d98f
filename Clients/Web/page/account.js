import { h, fill } from "./dom.js";
import { t, failureText } from "./texts.js";
import { deviceName, relativeTime } from "./format.js";
import { openDialog, toast } from "./dialog.js";
import { failed } from "./failed.js";
import { makeForm, NEW_PASSWORD, passwordField } from "./form.js";

/** Asks for the present password and a new one, and changes it. */
export async function changePassword(session) {
  const isChanged = await openDialog(t("changePassword"), (close) => {
    const current = passwordField(t("currentPassword"), { name: "currentPassword", autocomplete: "current-password", "data-focus": "" });
    const next = passwordField(t("newPassword"), { name: "newPassword", ...NEW_PASSWORD }, { hint: t("passwordRule") });
    const submit = h("button", { class: "button primary", type: "submit" }, t("changePassword"));
    const form = makeForm({ fields: [current, next], about: { invalid_credentials: "currentPassword" }, texts: { invalid_credentials: t("currentPasswordWrong") }, submit, send },
      // So that a password manager knows whose password this is.
      h("input", { hidden: true, name: "username", autocomplete: "username", value: session.snapshot.user.username }),
      current.element, next.element, h("p", { class: "hint" }, t("changePasswordLead")),
      h("div", { class: "dialog-foot" }, h("button", { class: "button", type: "button", on: { click: () => close() } }, t("cancel")), submit));
    async function send() {
      await session.changePassword(current.input.value, next.input.value);
      close(true);
    }
    return form.element;
  });
  if (isChanged) toast(t("passwordChanged"));
}

/** Shows where the person is signed in, and ends what they choose. */
export function showSignIns(session) {
  const foot = h("div", { class: "dialog-foot" });
  return openDialog(t("signIns"), () => {
    const list = h("ul", { class: "sign-ins", tabindex: "-1", "data-focus": "" });
    const status = h("div", { role: "status" });
    async function load() {
      fill(status, h("p", { class: "hint" }, t("loading")));
      try {
        draw(await session.signIns());
        fill(status);
      } catch (failure) {
        fill(status, h("div", { class: "empty" }, failed(t("signInsFailed"), failure, load)));
      }
    }
    function draw(signIns) {
      const here = signIns.filter(({ current }) => current);
      const others = signIns.filter(({ current }) => !current).sort((a, b) => (a.lastUsedAt < b.lastUsedAt ? 1 : -1));
      fill(list, [...here, ...others].map(row));
      fill(foot, others.length > 0 && h("button", { class: "button danger", type: "button", on: { click: () => end(() => session.endOtherSignIns()) } }, t("endOthers")));
    }
    function row({ id, current, userAgent, address, createdAt, lastUsedAt }) {
      const name = deviceName(userAgent) || t("unknownDevice");
      return h("li", {},
        h("span", {}, h("b", { title: userAgent }, name, current && h("span", { class: "badge quiet" }, t("thisDevice"))),
          h("small", {}, `${t("lastUsed", { when: relativeTime(lastUsedAt) })} · ${t("signedInSince", { when: relativeTime(createdAt) })} · ${address}`)),
        !current && h("button", { class: "button", type: "button", "aria-label": t("endSignIn", { name }), on: { click: () => end(() => session.endSignIn(id)) } }, t("end")));
    }
    async function end(work) {
      try {
        await work();
        await load();
        // The button that was pressed is gone.
        list.focus();
      } catch (failure) {
        toast(failureText(failure));
      }
    }
    load();
    return h("div", {}, list, status);
  }, () => foot);
}
