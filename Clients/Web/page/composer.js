import { messageText } from "../parlor/message-text.js";
import { h, onceAFrame, text } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./texts.js";
import { announce } from "./dialog.js";

/** A character that can be seen. The server refuses a name without one; see VisibleText.swift. */
const VISIBLE = /[^\s\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\uFFFC\u{16FE4}\u{1D159}]/u;

/** The control characters that the server refuses. Nobody sees them in a text that was pasted. */
const UNSENDABLE = /(?![\t\n\r])\p{Cc}/gu;

/**
 * The input for a message. Enter sends, Shift+Enter starts a new line, Esc leaves the input. Unsent text is kept for
 * the next visit to the room.
 */
export function composerView(drafts, roomId, { send, typed, stopped, goUp, leave }) {
  const left = h("span", { class: "left", "aria-live": "polite" });
  const button = h("button", { class: "icon-button primary", type: "submit", "aria-label": t("send"), title: t("send") }, icon("send"));
  const area = h("textarea", {
    rows: 1, dir: "auto", placeholder: t("writeMessage"), "aria-label": t("writeMessage"), title: t("sendHint"), enterkeyhint: "send", autocomplete: "off",
    on: {
      input: () => {
        changed();
        if (VISIBLE.test(area.value)) typed();
        else stopped();
      },
      keydown: (event) => {
        // When a key accepts an input method's candidate, Safari ends the composition before this event. Then only the
        // code 229 shows that the key was for the input method.
        const isComposing = event.isComposing || event.keyCode === 229;
        if (event.key === "Enter" && !event.shiftKey && !isComposing) {
          event.preventDefault();
          submit();
        } else if (event.key === "Escape" && !isComposing) {
          event.preventDefault();
          leave();
          stopped();
        } else if (event.key === "ArrowUp" && area.value === "") {
          event.preventDefault();
          goUp();
        }
      },
      blur: () => stopped(),
    },
  });
  const form = h("form", { class: "composer-box", on: {
    submit: (event) => {
      event.preventDefault();
      submit();
    },
  } }, area, left, button);

  function submit() {
    const isTooLong = messageText.count(area.value) > messageText.limit;
    if (isTooLong) announce(left.textContent);
    if (!VISIBLE.test(area.value) || isTooLong) return;
    send(area.value.replace(UNSENDABLE, ""));
    area.value = "";
    changed();
    area.focus();
  }
  function written() {
    return area.value.trim() ? area.value : "";
  }
  function changed() {
    drafts.keep(roomId, written());
    draw();
  }
  /** Shows the draft from an earlier visit, or what has become of it in another tab, such as that it was sent. */
  function takeDraft() {
    const text = drafts.snapshot[roomId] ?? "";
    if (written() === text) return;
    area.value = text;
    draw();
  }
  function draw() {
    const remaining = messageText.limit - messageText.count(area.value);
    text(left, remaining < 400 ? t(remaining < 0 ? "charactersOver" : "charactersLeft", { count: Math.abs(remaining) }) : "");
    left.classList.toggle("over", remaining < 0);
    button.disabled = !VISIBLE.test(area.value) || remaining < 0;
    fit();
  }
  /** Gives the field the height of its text. */
  function fit() {
    // Its box stays as high as it is while the field has one row. Else the messages above would get more room for a
    // moment, and the browser would scroll them.
    form.style.height = `${form.offsetHeight}px`;
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight}px`;
    form.style.height = "";
  }
  // A text has another height in another width, and none while it is hidden.
  let width = 0;
  const fitLater = onceAFrame(() => width > 0 && fit());
  const resizing = new ResizeObserver(() => {
    if (form.offsetWidth === width) return;
    width = form.offsetWidth;
    fitLater();
  });
  resizing.observe(form);
  const unsubscribe = drafts.subscribe(takeDraft);
  return {
    element: form,
    begin() {
      draw();
      takeDraft();
    },
    focus: () => area.focus({ preventScroll: true }),
    /** Puts a text before what is in the field. */
    takeBack(text) {
      area.value = written() ? `${text}\n${area.value}` : text;
      changed();
      area.focus({ preventScroll: true });
      area.setSelectionRange(text.length, text.length);
    },
    end() {
      resizing.disconnect();
      unsubscribe();
    },
  };
}
