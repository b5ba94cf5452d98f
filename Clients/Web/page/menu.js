import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t, language, languages, setLanguage } from "./texts.js";
import { theme, setTheme } from "./themes.js";
import { personName } from "../parlor/display.js";
import { personMark } from "./marks.js";
import { ask } from "./dialog.js";
import { changePassword, showSignIns } from "./account.js";

/** Makes a radio group of `buttons`. `choose` gets the index of the button that is selected. */
export function radios(className, label, buttons, chosen, choose) {
  const check = (index) => buttons.forEach((button, other) => {
    button.setAttribute("aria-checked", String(other === index));
    button.tabIndex = other === index ? 0 : -1;
  });
  buttons.forEach((button, index) => {
    button.setAttribute("role", "radio");
    button.addEventListener("click", () => {
      check(index);
      choose(index);
    });
  });
  check(chosen);
  return h("div", { class: className, role: "radiogroup", "aria-label": label, on: { keydown: (event) => rove(event, buttons) } }, buttons);
}

/** Returns a row of buttons for several choices. Each shows its icon, or its name if it has no icon. */
export function segments(label, options, chosen, choose) {
  const buttons = options.map(({ name, sign }) => h("button", { type: "button", title: name, "aria-label": name }, sign ? icon(sign, 18) : name));
  return radios("segments", label, buttons, options.findIndex(({ id }) => id === chosen), (index) => choose(options[index].id));
}

/** Handles arrow keys in a group of buttons: they move the focus and press the button. */
export function rove(event, buttons) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const index = buttons.indexOf(document.activeElement);
  if (!step || index < 0) return;
  event.preventDefault();
  const next = buttons[(index + step + buttons.length) % buttons.length];
  next.focus();
  next.click();
}

export function themeSegments() {
  return segments(t("theme"), [
    { id: "system", name: t("themeSystem"), sign: "system" },
    { id: "light", name: t("themeLight"), sign: "sun" },
    { id: "dark", name: t("themeDark"), sign: "moon" },
  ], theme(), setTheme);
}

export function languageSegments(redraw) {
  return segments(t("language"), languages.map(({ code, name }) => ({ id: code, name })), language(), (code) => {
    setLanguage(code);
    redraw();
  });
}

/** Returns the button with the person's initials, which opens the account menu. */
export function accountMenu(parlor, redraw) {
  const user = parlor.session.snapshot.user;
  const button = h("button", { class: "icon-button", type: "button", "aria-label": t("menu"), title: t("menu"), "aria-haspopup": "dialog", "aria-expanded": "false", on: { click: toggle } }, personMark(user));
  let menu = null;

  function toggle() {
    if (menu) return close();
    menu = h("div", { class: "menu", role: "dialog", "aria-label": t("menu") },
      h("div", { class: "me" }, personMark(user), h("span", {}, h("b", { dir: "auto" }, personName(user)), h("small", { dir: "auto" }, `@${user.username}`))),
      h("div", { class: "group" }, h("span", { "aria-hidden": "true" }, t("theme")), themeSegments()),
      h("div", { class: "group" }, h("span", { "aria-hidden": "true" }, t("language")), languageSegments(() => {
        close();
        redraw();
        document.querySelector(".side-head [aria-haspopup]").focus();
      })),
      h("button", { class: "button", type: "button", on: { click: () => open(changePassword) } }, t("changePassword")),
      h("button", { class: "button", type: "button", on: { click: () => open(showSignIns) } }, t("signIns")),
      h("button", { class: "button", type: "button", on: { click: signOut } }, icon("exit", 18), t("signOut")));
    document.body.append(menu);
    const box = button.getBoundingClientRect();
    menu.style.setProperty("top", `${box.bottom + 6}px`);
    menu.style.setProperty("left", `${Math.max(8, Math.min(box.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8))}px`);
    button.setAttribute("aria-expanded", "true");
    menu.querySelector('[tabindex="0"]')?.focus();
    document.addEventListener("pointerdown", outside, true);
    document.addEventListener("keydown", onKey, true);
    menu.addEventListener("focusout", (event) => {
      if (event.relatedTarget && !menu?.contains(event.relatedTarget) && event.relatedTarget !== button) close();
    });
  }
  function close() {
    if (!menu) return;
    const hadFocus = menu.contains(document.activeElement);
    const closing = menu;
    menu = null;
    closing.remove();
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
    document.removeEventListener("keydown", onKey, true);
    if (hadFocus) button.focus();
  }
  function outside(event) {
    if (!menu.contains(event.target) && !button.contains(event.target)) close();
  }
  function onKey(event) {
    if (event.key !== "Escape") return;
    event.preventDefault();
    close();
  }
  function open(dialog) {
    close();
    void dialog(parlor.session);
  }
  async function signOut() {
    close();
    const { waiting, failed } = parlor.unsent.snapshot;
    const count = waiting + failed;
    if (count > 0 && !(await ask(t("signOut"), t("signOutAsk", { count }), t("signOut")))) return;
    await parlor.session.logout();
  }
  return { element: button, close };
}
