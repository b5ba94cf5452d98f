import { h } from "./dom.js";
import { icon } from "./icons.js";

/**
 * Makes `button` open `popup` below it. A press outside, Esc, and the focus that leaves it close it.
 * @param prepare runs before it opens. @param start returns what gets the focus. @param keys handles the other keys while
 * it is open.
 */
export function popupBelow(button, popup, { prepare, start, keys }) {
  const isOutside = (node) => node && !popup.contains(node) && !button.contains(node);
  function onKey(event) {
    // One that is removed from the page while it is open has no event.
    if (!popup.isConnected) return document.removeEventListener("keydown", onKey, true);
    if (event.key !== "Escape") return keys?.(event);
    event.preventDefault();
    event.stopPropagation();
    popup.hidePopover();
    button.focus();
  }
  popup.popover = "auto";
  popup.addEventListener("focusout", ({ relatedTarget }) => isOutside(relatedTarget) && popup.hidePopover());
  popup.addEventListener("beforetoggle", ({ newState }) => {
    button.setAttribute("aria-expanded", String(newState === "open"));
    // On the document, because Esc must not reach what is behind it, wherever the focus is.
    if (newState !== "open") return document.removeEventListener("keydown", onKey, true);
    document.addEventListener("keydown", onKey, true);
    prepare();
    const { right, bottom } = button.getBoundingClientRect();
    popup.style.setProperty("top", `${bottom + 6}px`);
    popup.style.setProperty("right", `${document.documentElement.clientWidth - right}px`);
    popup.style.setProperty("max-width", `${right - 8}px`);
  });
  popup.addEventListener("toggle", ({ newState }) => newState === "open" && start()?.focus());
  button.setAttribute("aria-expanded", "false");
  button.popoverTargetElement = popup;
}

/**
 * Returns a button, and the menu of actions that it opens.
 * @param actions `{ name, sign, run, isPossible() }` of each. What is not possible when the menu opens is greyed out.
 */
export function menuButton(className, label, actions) {
  const items = actions.map(({ name, sign, run }) => h("button", { class: "menu-item", type: "button", role: "menuitem", tabindex: "-1", on: {
    click: () => {
      menu.hidePopover();
      run();
    },
  } }, icon(sign, 18), name));
  const possible = () => items.filter((item) => !item.disabled);
  const menu = h("div", { class: "menu", role: "menu", "aria-label": label, tabindex: "-1" }, items);
  const button = h("button", { class: className, type: "button", title: label, "aria-label": label, "aria-haspopup": "menu" }, icon("more", 19));
  popupBelow(button, menu, {
    prepare: () => actions.forEach(({ isPossible }, index) => (items[index].disabled = !isPossible())),
    start: () => possible()[0] ?? menu,
    keys: (event) => stepFocus(event, possible(), "ArrowUp", "ArrowDown"),
  });
  return [button, menu];
}

/** Moves the focus among `buttons`, if the key of the event is one of the two. @returns the button that gets it. */
export function stepFocus(event, buttons, back, forward) {
  const step = event.key === back ? -1 : event.key === forward ? 1 : 0;
  const index = buttons.indexOf(document.activeElement);
  if (step === 0 || index < 0) return null;
  event.preventDefault();
  const next = buttons[(index + step + buttons.length) % buttons.length];
  next.focus();
  return next;
}
