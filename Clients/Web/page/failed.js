import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t, failureText } from "./texts.js";

/**
 * Returns what is shown in place of content that could not be loaded: a title, the reason, and a button to try again.
 */
export function failed(title, failure, retry) {
  return [h("h2", {}, title), h("p", {}, failureText(failure)), h("button", { class: "button", type: "button", on: { click: () => retry() } }, icon("retry", 18), t("tryAgain"))];
}
