import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t, failureText } from "./texts.js";

/**
 * Returns what is shown in place of content that could not be loaded: a title, the reason, and a button to try again.
 */
export function failed(title, failure, retry) {
  return [h("h2", {}, title), h("p", {}, failureText(failure)), h("button", { class: "button", type: "button", on: { click: () => retry() } }, icon("retry", 18), t("tryAgain"))];
}

/** Returns a line that says that what is shown may be old, because it could not be loaded again. */
export function outdated(words, retry) {
  return h("div", { class: "notice" }, words, h("button", { class: "text-button", type: "button", on: { click: () => retry() } }, t("tryAgain")));
}
