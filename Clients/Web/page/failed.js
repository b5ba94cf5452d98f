import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t, failureText } from "./texts.js";

/**
 * Returns what is shown in place of content that could not be loaded: a title, the reason, and a button to try again.
 * While the banner says that there is no connection, a failure for that reason is only a title.
 */
export function failed(title, failure, retry) {
  const kind = failure.kind === "offline" ? "said-by-banner" : "";
  return [h("h2", {}, title), h("p", { class: kind }, failureText(failure)), h("button", { class: `button ${kind}`, type: "button", on: { click: () => retry() } }, icon("retry", 18), t("tryAgain"))];
}

/** Returns a line that says that what is shown may be old, because it could not be loaded again. */
export function outdated(words, retry) {
  return h("div", { class: "notice" }, words, h("button", { class: "text-button", type: "button", on: { click: () => retry() } }, t("tryAgain")));
}
