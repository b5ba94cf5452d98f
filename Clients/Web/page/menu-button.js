import { h } from "./dom.js";
import { icon } from "./icons.js";

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
  const menu = h("div", { class: "menu", role: "menu", "aria-label": label, popover: "auto", tabindex: "-1", on: {
    beforetoggle: ({ newState }) => {
      button.setAttribute("aria-expanded", String(newState === "open"));
      actions.forEach(({ isPossible }, index) => (items[index].disabled = !isPossible()));
      const { right, bottom } = button.getBoundingClientRect();
      menu.style.setProperty("top", `${bottom + 6}px`);
      menu.style.setProperty("right", `${document.documentElement.clientWidth - right}px`);
      // On the document, because Esc must not reach what is behind the menu, wherever the focus is.
      if (newState === "open") document.addEventListener("keydown", onKey, true);
      else document.removeEventListener("keydown", onKey, true);
    },
    toggle: ({ newState }) => newState === "open" && (possible()[0] ?? menu).focus(),
  } }, items);
  function onKey(event) {
    if (event.key !== "Escape") return stepFocus(event, possible(), "ArrowUp", "ArrowDown");
    event.preventDefault();
    event.stopPropagation();
    menu.hidePopover();
    button.focus();
  }
  const button = h("button", { class: className, type: "button", title: label, "aria-label": label, "aria-haspopup": "menu", "aria-expanded": "false" }, icon("more", 19));
  button.popoverTargetElement = menu;
  return [button, menu];
}

/** Moves the focus among `buttons`, if the key of the event is one of the two. */
export function stepFocus(event, buttons, back, forward) {
  const step = event.key === back ? -1 : event.key === forward ? 1 : 0;
  const index = buttons.indexOf(document.activeElement);
  if (step === 0 || index < 0) return;
  event.preventDefault();
  buttons[(index + step + buttons.length) % buttons.length].focus();
}
