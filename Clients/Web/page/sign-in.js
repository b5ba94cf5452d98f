import { h, svg, fill } from "./dom.js";
import { t } from "./texts.js";
import { field, makeForm, NEW_PASSWORD, passwordField } from "./form.js";
import { wordmark } from "./marks.js";
import { themeSegments, languageSegments } from "./menu.js";

/** The forms for signing in and for creating an account. */
export function signInView(session) {
  const lead = h("p", { class: "lead" });
  const place = h("div", { class: "porch-form" });
  const view = h("main", { class: "porch" }, h("div", { class: "porch-view" }, wordmark(), lead, facade()), place);
  let isNew = false;
  /** What is in the fields, by name, so that it stays if the form or the language changes. */
  const typed = {};

  function draw() {
    for (const { name, value } of place.querySelectorAll("input")) typed[name] = value;
    const name = field(isNew ? t("username") : t("usernameOrEmail"),
      { name: "username", autocomplete: "username", autocapitalize: "none", spellcheck: "false", required: true, ...(isNew ? { pattern: "\\s*[A-Za-z0-9_.\\-]{3,32}\\s*" } : {}) },
      { hint: isNew ? t("usernameRule") : null });
    const password = passwordField(t("password"), { name: "password", ...(isNew ? NEW_PASSWORD : { autocomplete: "current-password" }) }, { hint: isNew ? t("passwordRule") : null });
    const first = field(t("firstName"), { name: "firstName", autocomplete: "given-name", maxlength: 100 }, { isOptional: true });
    const email = field(t("email"), { name: "email", type: "email", autocomplete: "email" }, { isOptional: true, rule: t("emailRule") });
    const fields = isNew ? [name, first, email, password] : [name, password];
    const submit = h("button", { class: "button primary", type: "submit" }, isNew ? t("register") : t("signIn"));
    const value = (one) => one.input.value.trim() || undefined;
    const send = () => isNew
      ? session.register({ username: value(name), password: password.input.value, firstName: value(first), email: value(email) })
      : session.login(value(name), password.input.value);
    const about = { username_taken: "username", email_taken: "email", invalid_credentials: "password" };
    const form = makeForm({ fields, about, texts: { forbidden: t("suspended") }, submit, busy: t("signingIn"), send }, fields.map(({ element }) => element), submit);
    const { failure } = session.snapshot;
    if (failure) form.say(t(failure.kind === "not_kept" ? "storageFailed" : "sessionEnded"));
    fill(lead, t("signInLead"));
    fill(place, h("div", { class: "porch-column" },
      h("h1", {}, isNew ? t("register") : t("signIn")),
      form.element,
      h("p", { class: "swap" }, isNew ? t("knownHere") : t("newHere"), " ",
        h("button", { class: "text-button", type: "button", on: { click: swap } }, isNew ? t("signIn") : t("register"))),
      h("div", { class: "prefs" }, themeSegments(), languageSegments(changeLanguage))));
    for (const input of place.querySelectorAll("input")) input.value = typed[input.name] ?? "";
    name.input.focus();
  }
  function changeLanguage() {
    draw();
    place.querySelector(".prefs .segments:last-child [tabindex='0']").focus();
  }
  function swap() {
    isNew = !isNew;
    draw();
  }
  return { element: view, begin: draw, end() {} };
}

/** Returns a picture of a house at night with arched windows, some of which are lit. */
function facade() {
  const front = svg("svg", { class: "facade", viewBox: "0 0 540 330", preserveAspectRatio: "xMidYMin slice", "aria-hidden": "true" });
  const lit = new Set([1, 8, 9, 10, 12]);
  for (let row = 0; row < 3; row += 1) {
    for (let column = 0; column < 5; column += 1) {
      const x = 20 + column * 105, y = 20 + row * 110;
      front.append(svg("path", { class: lit.has(row * 5 + column) ? "lit" : "pane", d: `M${x} ${y + 80}v-42a38 38 0 0 1 36-38v36h4v-36a38 38 0 0 1 36 38v42h-36v-38h-4v38z` }));
    }
  }
  return front;
}
