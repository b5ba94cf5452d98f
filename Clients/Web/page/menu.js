import { h, fill } from "./dom.js";
import { icon } from "./icons.js";
import { t, language, languages, setLanguage } from "./texts.js";
import { theme, setTheme } from "./themes.js";
import { personName } from "../parlor/display.js";
import { personMark } from "./marks.js";
import { popupBelow, stepFocus } from "./menu-button.js";
import { ask } from "./dialog.js";
import { changePassword, showSignIns } from "./account.js";
import { isNotifying, mayNotify, setNotifying } from "./notices.js";

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
  const next = stepFocus(event, buttons, "ArrowLeft", "ArrowRight") ?? stepFocus(event, buttons, "ArrowUp", "ArrowDown");
  next?.click();
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

/** Returns a group that turns notifications on and off. It goes back to off if the browser does not allow them. */
function notices() {
  const group = h("div", { class: "group" });
  const choose = async (is) => {
    await setNotifying(is);
    if (is === isNotifying()) return;
    draw();
    group.querySelector("[aria-checked=true]").focus();
  };
  const draw = () => fill(group, h("span", { "aria-hidden": "true" }, t("notices")),
    segments(t("notices"), [{ id: true, name: t("on") }, { id: false, name: t("off") }], isNotifying(), choose));
  draw();
  return group;
}

/** Returns the button with the person's initials, and the account menu that it opens. */
export function accountMenu(parlor, redraw) {
  const user = parlor.session.snapshot.user;
  const button = h("button", { class: "icon-button", type: "button", "aria-label": t("menu"), title: t("menu"), "aria-haspopup": "dialog" }, personMark(user));
  const menu = h("div", { class: "menu", role: "dialog", "aria-label": t("menu") });
  popupBelow(button, menu, { prepare: draw, start: () => menu.querySelector('[tabindex="0"]') });

  function draw() {
    fill(menu,
      h("div", { class: "me" }, personMark(user), h("span", {}, h("b", { dir: "auto" }, personName(user)), h("small", { dir: "auto" }, `@${user.username}`))),
      h("div", { class: "group" }, h("span", { "aria-hidden": "true" }, t("theme")), themeSegments()),
      h("div", { class: "group" }, h("span", { "aria-hidden": "true" }, t("language")), languageSegments(() => {
        redraw();
        document.querySelector(".side-head [aria-haspopup]").focus();
      })),
      mayNotify() && notices(),
      h("button", { class: "button", type: "button", on: { click: () => open(changePassword) } }, t("changePassword")),
      h("button", { class: "button", type: "button", on: { click: () => open(showSignIns) } }, t("signIns")),
      h("button", { class: "button", type: "button", on: { click: signOut } }, icon("exit", 18), t("signOut")));
  }
  function open(dialog) {
    menu.hidePopover();
    void dialog(parlor.session);
  }
  async function signOut() {
    menu.hidePopover();
    const { waiting, failed } = parlor.unsent.snapshot;
    const count = waiting + failed;
    if (count > 0 && !(await ask(t("signOut"), t("signOutAsk", { count }), t("signOut")))) return;
    await parlor.session.logout();
  }
  return [button, menu];
}
