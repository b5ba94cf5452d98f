import { h } from "./dom.js";
import { icon } from "./icons.js";

/** How far, in pixels, a button may move without closing its popup, such as at the end of an animation. */
const MAX_DRIFT = 16;

/**
 * Makes `button` open `popup` below it, or above it in the lower part of the window. The popup closes on Esc, on a press
 * outside, when the focus leaves it, and when the button moves, such as a row of a list that is scrolled or sorted.
 * @param prepare runs before it opens. @param start returns what gets the focus. @param keys handles the other keys while
 * it is open.
 */
export function popupBelow(button, popup, { prepare, start, keys }) {
  const isOutside = (node) => node && !popup.contains(node) && !button.contains(node);
  const onPress = ({ target }) => !popup.contains(target) && popup.hidePopover();
  function onKey(event) {
    if (event.key !== "Escape") return keys?.(event);
    event.preventDefault();
    event.stopPropagation();
    popup.hidePopover();
    button.focus();
  }
  /** Aborted when the popup closes; null while it is closed. */
  let closing = null;
  function setOpen(is) {
    button.setAttribute("aria-expanded", String(is));
    closing?.abort();
    closing = is ? new AbortController() : null;
    if (!is) return;
    const options = { capture: true, signal: closing.signal };
    // On the document, because Esc must not reach what is behind it, wherever the focus is.
    document.addEventListener("keydown", onKey, options);
    if (popup.popover === "manual") document.addEventListener("pointerdown", onPress, options);
  }
  function place() {
    const { top, right, bottom } = button.getBoundingClientRect();
    const isLow = bottom > innerHeight * 0.7;
    popup.style.setProperty("top", isLow ? "auto" : `${bottom + 6}px`);
    popup.style.setProperty("bottom", isLow ? `${innerHeight - top + 6}px` : "auto");
    popup.style.setProperty("right", `${document.documentElement.clientWidth - right}px`);
    popup.style.setProperty("max-width", `${right - 8}px`);
    // It stays within the window also while it arrives, 10 pixels lower.
    popup.style.setProperty("max-height", `${(isLow ? top : innerHeight - bottom) - 18}px`);
    const size = `${innerWidth} ${innerHeight}`;
    requestAnimationFrame(() => stay(top, right, size));
  }
  /**
   * Closes the popup when its button moves. If the window has changed its size, the popup follows instead. If it is moved
   * within the document together with its button, the browser has closed it without an event.
   */
  function stay(top, right, size) {
    if (!closing) return;
    const isShown = popup.matches(":popover-open");
    if (isShown && size !== `${innerWidth} ${innerHeight}`) return place();
    const now = button.getBoundingClientRect();
    if (isShown && Math.hypot(now.top - top, now.right - right) <= MAX_DRIFT) return requestAnimationFrame(() => stay(top, right, size));
    const hadFocus = !isShown || popup.contains(document.activeElement);
    if (isShown) popup.hidePopover();
    setOpen(false);
    if (hadFocus) button.focus({ preventScroll: true });
  }
  // The browser may close an "auto" popup at the end of the press that has opened it, such as a right click or a long press.
  popup.popover = button.type === "button" ? "auto" : "manual";
  popup.addEventListener("focusout", ({ relatedTarget }) => isOutside(relatedTarget) && popup.hidePopover());
  popup.addEventListener("beforetoggle", ({ newState }) => {
    setOpen(newState === "open");
    if (newState !== "open") return;
    prepare();
    place();
  });
  popup.addEventListener("toggle", ({ newState }) => newState === "open" && start()?.focus());
  button.setAttribute("aria-expanded", "false");
  button.popoverTargetElement = popup;
}

/**
 * Returns a menu of actions. It belongs to `opener`, which opens it if it is a button, and which has the focus afterwards.
 * @param actions `{ name, sign, run, isPossible() }` of each. What is not possible when the menu opens is greyed out.
 */
export function actionMenu(opener, label, actions) {
  const items = actions.map(({ name, sign, run }) => h("button", { class: "menu-item", type: "button", role: "menuitem", tabindex: "-1", on: {
    click: () => {
      menu.hidePopover();
      opener.focus();
      run();
    },
  } }, icon(sign, 18), name));
  const possible = () => items.filter((item) => !item.disabled);
  const menu = h("div", { class: "menu", role: "menu", "aria-label": label, tabindex: "-1" }, items);
  popupBelow(opener, menu, {
    prepare: () => actions.forEach(({ isPossible }, index) => (items[index].disabled = !isPossible())),
    start: () => possible()[0] ?? menu,
    keys: (event) => stepFocus(event, possible(), "ArrowUp", "ArrowDown"),
  });
  return menu;
}

/** Returns a button, and the menu of actions that it opens. */
export function menuButton(className, label, actions) {
  const button = h("button", { class: className, type: "button", title: label, "aria-label": label, "aria-haspopup": "menu" }, icon("more", 19));
  return [button, actionMenu(button, label, actions)];
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
