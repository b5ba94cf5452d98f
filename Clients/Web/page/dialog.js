import { h, onceAFrame } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./texts.js";

let count = 0;

/**
 * Opens a modal dialog. The browser keeps the focus in it. Esc and a press beside it close it. If something was written
 * in it, Esc asks first, and a press beside it does nothing: on a phone that is how one puts the keyboard away.
 * `body(close)` returns its content.
 * @returns a promise of the value that was passed to `close`, or of undefined.
 */
export function openDialog(title, body) {
  return new Promise((resolve) => {
    const id = `dialog-${(count += 1)}`;
    const before = document.activeElement;
    let result;
    const close = (value) => {
      result = value;
      dialog.close();
    };
    const dialog = h("dialog", { "aria-labelledby": id, on: {
      close: () => {
        dialog.remove();
        document.removeEventListener("keydown", onKey);
        if (before?.isConnected) before.focus?.({ preventScroll: true });
        resolve(result);
      },
      // This is for other ways to close it, such as the back button of Android. Chromium lets a page prevent it only once
      // after each click or key other than Esc. `onKey` prevents Esc each time.
      cancel: (event) => event.cancelable && askFirst(event),
      mousedown: (event) => {
        if (event.target === dialog && !isWrittenIn()) close();
      },
    } },
      h("div", { class: "dialog-head" },
        h("h2", { id }, title),
        h("button", { class: "icon-button", type: "button", "aria-label": t("close"), on: { click: () => close() } }, icon("close"))),
      h("div", { class: "dialog-body" }, body(close)));
    // What one searches for is quickly typed again.
    const fields = [...dialog.querySelectorAll("textarea, input:not([type=search])")].map((field) => [field, field.value]);
    const isWrittenIn = () => fields.some(([field, value]) => field.value !== value);
    async function askFirst(event) {
      if (!isWrittenIn()) return;
      event.preventDefault();
      if (await ask(t("discardAsk"), t("discardLead"), t("discard"))) close();
    }
    function onKey(event) {
      const open = [...document.querySelectorAll("dialog[open]")];
      // Esc may also end the composition of an input method, see composer.js.
      const isForPage = !event.isComposing && event.keyCode !== 229 && !event.defaultPrevented;
      if (event.key !== "Escape" || !isForPage || open.at(-1) !== dialog) return;
      if (isWrittenIn()) return askFirst(event);
      if (open.length === 1) return;
      // Chromium would close the dialog beneath too, if no click has come before this one was opened.
      event.preventDefault();
      close();
    }
    // On the document, because nothing in the dialog has the focus after a press beside it.
    document.addEventListener("keydown", onKey);
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector("[data-focus]")?.focus();
  });
}

/** Closes all dialogs, because the account or the room that they belong to is no longer shown. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
}

/**
 * Asks for a confirmation of what cannot be undone, so "Cancel" has the focus. Resolves with true if the person confirms,
 * and otherwise with false.
 */
export function ask(title, lead, action) {
  return openDialog(title, (close) => [
    h("p", {}, lead),
    h("div", { class: "dialog-foot" },
      h("button", { class: "button", type: "button", "data-focus": "", on: { click: () => close(false) } }, t("cancel")),
      h("button", { class: "button danger", type: "button", on: { click: () => close(true) } }, action)),
  ]).then((answer) => answer === true);
}

let toastTimer = null;

/**
 * Shows a notice for five seconds, or, if it has a button, for ten.
 * @param action `{ name, run }` of the button.
 * @returns a function that removes the notice.
 */
export function toast(message, action = null) {
  document.querySelector(".toast")?.remove();
  clearTimeout(toastTimer);
  const close = () => element.remove();
  const press = () => {
    close();
    action.run();
  };
  const element = h("div", { class: "toast" }, message, action && h("button", { class: "text-button", type: "button", on: { click: press } }, action.name));
  const host = document.querySelector("dialog[open]") ?? document.body;
  host.append(element);
  document.getElementById("alerts").textContent = message;
  toastTimer = setTimeout(close, action ? 10_000 : 5_000);
  return close;
}

/** The texts that wait to be announced. */
let unsaid = [];

/** Announces a text to screen readers. Texts of one frame are announced together, because the last would replace them. */
export function announce(message) {
  unsaid.push(message);
  document.getElementById("live").textContent = "";
  say();
}

const say = onceAFrame(() => {
  document.getElementById("live").textContent = unsaid.join("\n");
  unsaid = [];
});
