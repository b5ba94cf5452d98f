import { h, svg, fill, text } from "./dom.js";
import { t, failureText } from "./texts.js";
import { icon } from "./icons.js";
import { wordmark } from "./marks.js";
import { themeSegments, languageSegments } from "./menu.js";

let fieldCount = 0;

/** Makes an input with a label. */
export function field(label, props, { hint, isOptional } = {}) {
  const id = `field-${(fieldCount += 1)}`;
  const input = h("input", { class: "input", id, "aria-describedby": hint ? `${id}-hint` : null, ...props });
  const element = h("div", { class: "field" },
    h("label", { for: id }, label, isOptional && h("span", { class: "hint" }, ` · ${t("optional")}`)),
    input,
    hint && h("span", { class: "hint", id: `${id}-hint` }, hint));
  return { element, input };
}

/** The forms for signing in and for creating an account. */
export function signInView(session, redraw) {
  const view = h("main", { class: "porch" });
  const form = h("div", { class: "porch-form" });
  view.append(
    h("div", { class: "porch-view" }, wordmark(), h("p", { class: "lead" }, t("signInLead")), facade()),
    form);
  let isNew = false;

  function draw() {
    const problem = h("p", { class: "problem", role: "alert", hidden: true });
    const name = field(isNew ? t("username") : t("usernameOrEmail"),
      { name: "username", autocomplete: "username", autocapitalize: "none", spellcheck: "false", required: true, ...(isNew ? { minlength: 3, maxlength: 32, pattern: "[A-Za-z0-9_.\\-]{3,32}" } : {}) },
      { hint: isNew ? t("usernameRule") : null });
    const password = field(t("password"),
      { name: "password", type: "password", autocomplete: isNew ? "new-password" : "current-password", required: true, ...(isNew ? { minlength: 8 } : {}) },
      { hint: isNew ? t("passwordRule") : null });
    const reveal = h("button", { class: "icon-button", type: "button", "aria-pressed": "false", "aria-label": t("showPassword"), title: t("showPassword"), on: {
      click: () => {
        const isShown = password.input.type === "password";
        password.input.type = isShown ? "text" : "password";
        reveal.setAttribute("aria-pressed", String(isShown));
      },
    } }, icon("eye"));
    const wrap = h("div", { class: "with-button" });
    password.input.replaceWith(wrap);
    wrap.append(password.input, reveal);
    const first = isNew && field(t("firstName"), { name: "firstName", autocomplete: "given-name", maxlength: 100 }, { isOptional: true });
    const email = isNew && field(t("email"), { name: "email", type: "email", autocomplete: "email" }, { isOptional: true });
    const go = h("button", { class: "button primary", type: "submit" }, isNew ? t("register") : t("signIn"));

    async function submit(event) {
      event.preventDefault();
      problem.hidden = true;
      go.disabled = true;
      text(go, t("signingIn"));
      try {
        if (isNew) {
          const fields = { username: name.input.value.trim(), password: password.input.value };
          if (first.input.value.trim()) fields.firstName = first.input.value.trim();
          if (email.input.value.trim()) fields.email = email.input.value.trim();
          await session.register(fields);
        } else {
          await session.login(name.input.value.trim(), password.input.value);
        }
      } catch (failure) {
        fail(failureText(failure));
      } finally {
        go.disabled = false;
        text(go, isNew ? t("register") : t("signIn"));
      }
    }
    function fail(words) {
      text(problem, words);
      problem.hidden = false;
    }
    const { failure } = session.snapshot;
    if (failure) fail(t("sessionEnded"));
    fill(form, h("form", { on: { submit } },
      h("h1", {}, isNew ? t("register") : t("signIn")),
      problem, name.element, first && first.element, email && email.element, password.element, go,
      h("p", { class: "swap" }, isNew ? t("knownHere") : t("newHere"), " ",
        h("button", { class: "text-button", type: "button", on: {
          click: () => {
            isNew = !isNew;
            draw();
            form.querySelector("input").focus();
          },
        } }, isNew ? t("signIn") : t("register"))),
      h("div", { class: "prefs" }, themeSegments(), languageSegments(redraw))));
  }
  draw();
  return { element: view, begin: () => form.querySelector("input").focus(), end() {} };
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
