import { h, onceAFrame } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./texts.js";

let count = 0;

/**
 * Opens a modal dialog. The browser keeps the focus in it. Esc, Back, its buttons and a press beside it close it. If
 * something was written in it, they ask first, except a press beside it, which does nothing: on a phone that is how one
 * puts the keyboard away. `body(close)` returns its content; `close()` without a value asks first, too. `foot(close)`
 * returns what stays in view below the content while that is scrolled. @param isDraft whether what is in it was written
 * before.
 * @returns a promise of the value that was passed to `close`, or of undefined.
 */
export function openDialog(title, body, foot = () => [], isDraft = false) {
  return new Promise((resolve) => {
    const id = `dialog-${(count += 1)}`;
    const before = document.activeElement;
    let result;
    const close = (value) => {
      result = value;
      dialog.close();
    };
    const leave = async () => {
      if (!isWrittenIn() || (await ask(t("discardAsk"), t("discardLead"), t("discard")))) close();
    };
    const end = (value) => (value === undefined ? leave() : close(value));
    const dialog = h("dialog", { "aria-labelledby": id, on: {
      close: async () => {
        dialog.remove();
        document.removeEventListener("keydown", onKey);
        if (before?.isConnected) before.focus?.({ preventScroll: true });
        await removeEntry();
        resolve(result);
      },
      // This is for other ways to close it, such as the back button of Android. Chromium lets a page prevent it only once
      // after each click or key other than Esc. `onKey` prevents Esc each time.
      cancel: (event) => {
        if (!event.cancelable || !isWrittenIn()) return;
        event.preventDefault();
        leave();
      },
      mousedown: (event) => {
        if (event.target === dialog && !isWrittenIn()) close();
      },
    } },
      h("div", { class: "dialog-head" },
        h("h2", { id }, title),
        h("button", { class: "icon-button", type: "button", "aria-label": t("close"), on: { click: leave } }, icon("close"))),
      h("div", { class: "dialog-body" }, body(end)),
      foot(end));
    dialog.leave = leave;
    // What one searches for is quickly typed again.
    const fields = [...dialog.querySelectorAll("textarea, input:not([type=search])")].map((field) => [field, field.value]);
    const isWrittenIn = () => isDraft || fields.some(([field, value]) => field.value !== value);
    function onKey(event) {
      // Esc may also end the composition of an input method, see composer.js.
      const isForPage = !event.isComposing && event.keyCode !== 229 && !event.defaultPrevented;
      if (event.key !== "Escape" || !isForPage || topmost() !== dialog) return;
      // Else Chromium would close the dialog beneath too, if no click has come before this one was opened.
      event.preventDefault();
      leave();
    }
    // On the document, because nothing in the dialog has the focus after a press beside it.
    document.addEventListener("keydown", onKey);
    if (!topmost()) addEntry();
    document.body.append(dialog);
    dialog.showModal();
    // Else a long title would get the focus, because it can be scrolled.
    (dialog.querySelector("[data-focus]") ?? dialog.querySelector(".dialog-head button")).focus();
  });
}

function topmost() {
  return [...document.querySelectorAll("dialog[open]")].at(-1);
}

// While a dialog is open, the history has an entry for it, so that Back closes the dialog and stays in the room.

const isAtEntry = () => history.state?.isDialog === true;
/** Resolves when the page is no longer at the entry that is being removed. */
let removing = null;

/** Leaves the entry at which the page was reloaded: its dialog is closed, so the next Back would do nothing visible. */
export function leaveOldEntry() {
  addEventListener("popstate", onTraversal);
  removeEntry();
}

function addEntry() {
  addEventListener("popstate", onTraversal);
  // While the page leaves an entry, it may still be at it.
  if (!isAtEntry()) history.pushState({ isDialog: true }, "");
}

/** Goes back past the entry, if the last dialog was closed by other means than Back. */
function removeEntry() {
  if (removing || topmost() || !isAtEntry()) return removing;
  removing = new Promise((resolve) => addEventListener("popstate", resolve, { once: true })).then(() => {
    removing = null;
    // Another dialog was opened meanwhile.
    if (topmost()) addEntry();
  });
  history.back();
  return removing;
}

function onTraversal() {
  if (removing || isAtEntry() === Boolean(topmost())) return;
  // Forward leads to an entry whose dialog was closed.
  if (isAtEntry()) return removeEntry();
  topmost().leave();
  // The entry is still there, one step ahead. One that is added here would be skipped by the next Back, because no click
  // or key has come since this one.
  if (topmost()) history.forward();
}

/** Closes all dialogs, because the account or the room that they belong to is no longer shown. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
}

/**
 * Asks to choose one of several buttons, `{ name, value, look, hasFocus }`. Resolves with the `value` of the one that was
 * pressed, or with undefined.
 */
export function choice(title, content, buttons) {
  return openDialog(title, () => content, (close) => h("div", { class: "dialog-foot" }, buttons.map(({ name, value, look = "", hasFocus = false }) =>
    h("button", { class: `button ${look}`, type: "button", "data-focus": hasFocus, on: { click: () => close(value) } }, name))));
}

/**
 * Asks for a confirmation of what cannot be undone, so "Cancel" has the focus. Resolves with true if the person confirms,
 * and otherwise with false.
 */
export async function ask(title, lead, action) {
  const buttons = [{ name: t("cancel"), value: false, hasFocus: true }, { name: action, value: true, look: "danger" }];
  return (await choice(title, h("p", {}, lead), buttons)) === true;
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
