import { h, text } from "./dom.js";
import { icon } from "./icons.js";
import { t, failureText } from "./texts.js";

/** The time, in milliseconds, after which a form says that the answer takes longer than usual. */
const SLOW_AFTER = 4_000;

let fieldCount = 0;

/**
 * Makes an input with a label. `hint` says what may be in it, and `rule`, which is the hint unless it is given, what is
 * wrong with a value that is refused. `fail(words)` shows that, until the value changes.
 */
export function field(label, props, { hint, rule = hint, isOptional } = {}) {
  const id = `field-${(fieldCount += 1)}`;
  const problem = h("span", { class: "problem", id: `${id}-problem`, hidden: true });
  const say = (words) => {
    text(problem, words);
    problem.hidden = words === "";
    input.setAttribute("aria-invalid", String(words !== ""));
  };
  const input = h("input", { class: "input", id, "aria-describedby": `${hint ? `${id}-hint ` : ""}${id}-problem`, ...props, on: { input: () => say(""), ...props.on } });
  const element = h("div", { class: "field" },
    h("label", { for: id }, label, isOptional && h("span", { class: "hint" }, ` · ${t("optional")}`)),
    input,
    hint && h("span", { class: "hint", id: `${id}-hint` }, hint),
    problem);
  return {
    element, input, rule,
    fail: say,
    /** Checks the value by the attributes of the input. @returns whether it may be sent. */
    check() {
      if (!input.validity.valid) say(input.validity.valueMissing ? t("required") : rule ?? failureText({ code: "invalid_field" }));
      return input.validity.valid;
    },
  };
}

/** Makes an input for a password, with a button that shows it. */
export function passwordField(label, props, options) {
  const made = field(label, { type: "password", required: true, ...props }, options);
  const reveal = h("button", { class: "icon-button", type: "button", "aria-pressed": "false", "aria-label": t("showPassword"), title: t("showPassword"), on: {
    click: () => {
      const isShown = made.input.type === "password";
      made.input.type = isShown ? "text" : "password";
      reveal.setAttribute("aria-pressed", String(isShown));
    },
  } }, icon("eye"));
  const wrap = h("div", { class: "with-button" });
  made.input.replaceWith(wrap);
  wrap.append(made.input, reveal);
  return made;
}

/** The attributes of an input for a new password, as the server checks it. */
export const NEW_PASSWORD = { autocomplete: "new-password", minlength: 8, maxlength: 128 };

/**
 * Makes a form around `content`. `send()` is called if all `fields` may be sent. Its failure is shown next to the field
 * that it is about, or above all.
 * @param fields their inputs have the names of the request's fields.
 * @param about the name of the field that a failure is about, by the failure's code.
 * @param texts the texts of failures that mean something else here than elsewhere, by code.
 * @param submit the button; `busy` is its text during `send`.
 */
export function makeForm({ fields, about = {}, texts = {}, submit, busy, send }, ...content) {
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const patience = h("p", { class: "hint", role: "status", hidden: true }, t("slow"));
  const label = submit.textContent;
  let slow = null;
  let isSending = false;
  const say = (words) => {
    text(problem, words);
    problem.hidden = words === "";
  };
  function fail(failure) {
    const name = failure.field ?? about[failure.code];
    const named = fields.find(({ input }) => input.name === name);
    const words = texts[failure.code] ?? failureText(failure);
    if (!named) return say(words);
    named.fail((failure.field && named.rule) || words);
    named.input.focus();
    named.input.select();
  }
  // Not `disabled`, which would take the focus from the button.
  const setSending = (is) => {
    isSending = is;
    submit.setAttribute("aria-disabled", String(is));
    text(submit, is ? busy ?? label : label);
    clearTimeout(slow);
    patience.hidden = true;
    if (is) slow = setTimeout(() => (patience.hidden = false), SLOW_AFTER);
  };
  const element = h("form", { class: "field form", novalidate: true, on: {
    submit: async (event) => {
      event.preventDefault();
      if (isSending) return;
      say("");
      const wrong = fields.filter((one) => !one.check());
      if (wrong.length > 0) return wrong[0].input.focus();
      setSending(true);
      try {
        await send();
      } catch (failure) {
        fail(failure);
      } finally {
        setSending(false);
      }
    },
  } }, problem, patience, content);
  return { element, say };
}
