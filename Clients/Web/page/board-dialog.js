import { h, outsideLink, text, webAddress } from "./dom.js";
import { t } from "./texts.js";
import { choice, openDialog } from "./dialog.js";
import { cardOf, isUnencrypted } from "./board-item.js";
import { field } from "./form.js";
import { radios } from "./menu.js";

const COLOURS = { tint: ["yellow", "green", "blue", "pink", "white"], pen: ["black", "blue", "red", "green", "ochre"] };

/** Returns buttons for five colours. `kind` is "tint", for paper, or "pen". */
export function swatches(kind, chosen, choose) {
  const buttons = COLOURS[kind].map((name, index) => h("button", { class: "swatch", type: "button", title: t(name), "aria-label": t(name), [`data-${kind}`]: index }));
  return radios("swatches", t("colour"), buttons, chosen, choose);
}

/**
 * Asks for the content of an element. Resolves with all fields of the dialog, or with undefined if it was cancelled.
 * @param isSaved runs with the fields before the dialog closes. If it resolves with false, the dialog stays open.
 * @param isDraft whether `content` has what was written before, and not saved. @param keep runs with the fields, as they are
 * typed, at each change.
 */
export function itemDialog(type, content, { isNew, isDraft, isSaved, keep }) {
  const action = isNew ? t("add") : t("save");
  return openDialog(t(type), (close) => {
    const problem = h("p", { class: "problem", role: "alert", hidden: true });
    const foot = h("div", { class: "dialog-foot" },
      h("button", { class: "button", type: "button", on: { click: () => close() } }, t("cancel")),
      h("button", { class: "button primary", type: "submit" }, action));
    const changed = () => keep(body.typed());
    const body = type === "note" ? noteFields(content, changed) : addressFields(type, content);
    const form = h("form", { class: "field form", novalidate: true, on: {
      input: changed,
      submit: async (event) => {
        event.preventDefault();
        const fields = body.read();
        if (typeof fields === "object") return (await isSaved(fields)) && close(fields);
        text(problem, fields);
        problem.hidden = false;
      },
      keydown: (event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        // Without this, the key would also press the button that gets the focus when the dialog closes.
        event.preventDefault();
        form.requestSubmit();
      },
    } }, isDraft && h("p", { class: "hint" }, t("restoredDraft")), body.elements, problem, foot);
    return form;
  }, undefined, isDraft);
}

/**
 * Asks what becomes of an edit, because somebody else has changed the same, or has deleted the element.
 * @param theirs the content that the element has now; undefined if it was deleted.
 * @returns a promise of "mine", "theirs" or "both", or of undefined.
 */
export function conflictDialog(type, mine, theirs) {
  const shown = (content) => cardOf(type === "image" ? { type: "link", content: { title: content.alt, url: content.url } } : { type, content });
  const version = (name, content) => h("figure", {}, h("figcaption", {}, name), shown(content));
  if (!theirs) {
    return choice(t("deletedMeanwhile"), version(t("yourVersion"), mine), [
      { name: t("discard"), value: "theirs", look: "danger" },
      { name: t(type === "note" ? "saveAsNote" : "saveAsNew"), value: "both", look: "primary", hasFocus: true },
    ]);
  }
  return choice(t("changedMeanwhile"), [version(t("theirVersion"), theirs), version(t("yourVersion"), mine)], [
    { name: t("keepTheirs"), value: "theirs" }, { name: t("replace"), value: "mine", look: "danger" },
    { name: t("keepBoth"), value: "both", look: "primary", hasFocus: true },
  ]);
}

/** Shows an image as large as the window. */
export function imageDialog({ url, alt }) {
  const src = webAddress(url);
  return openDialog(alt || t("image"), () => outsideLink(src, h("img", { class: "whole", alt: alt || t("image"), referrerpolicy: "no-referrer", src })));
}

function noteFields(content, changed) {
  let tint = Number.isInteger(content.tint) ? content.tint : 0;
  const area = h("textarea", { class: "input", rows: 5, maxlength: 20000, dir: "auto", "aria-label": t("noteText"), "data-focus": "" });
  area.value = typeof content.text === "string" ? content.text : "";
  const typed = () => ({ text: area.value, tint });
  const choose = (chosen) => {
    tint = chosen;
    changed();
  };
  return { elements: [area, swatches("tint", tint, choose)], typed, read: typed };
}

function addressFields(type, content) {
  const url = field(t("address"), { type: "url", inputmode: "url", autocomplete: "off", spellcheck: "false", placeholder: "https://", "data-focus": "", value: typeof content.url === "string" ? content.url : "" });
  const key = type === "image" ? "alt" : "title";
  const name = field(type === "image" ? t("description") : t("titleField"), { autocomplete: "off", maxlength: 300, dir: "auto", value: typeof content[key] === "string" ? content[key] : "" }, { isOptional: true });
  return {
    elements: [url.element, name.element],
    typed: () => ({ url: url.input.value, [key]: name.input.value }),
    read() {
      const typed = url.input.value.trim();
      const href = webAddress(typed) ?? (/^[^\s:/]+\.[^\s:]+/.test(typed) ? webAddress(`https://${typed}`) : null);
      if (href && type === "image" && isUnencrypted(href)) return t("imageUnencrypted");
      return href ? { url: href, [key]: name.input.value.trim() } : t("addressRule");
    },
  };
}
