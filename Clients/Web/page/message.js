import { h, fill, linked } from "./dom.js";
import { icon } from "./icons.js";
import { t, failureText, language } from "./texts.js";
import { personMark } from "./marks.js";
import { clockTime, dayKey, dayName } from "./format.js";

/** Messages of one sender that follow each other within this time, in milliseconds, are one group. */
const GROUP = 5 * 60_000;
/** A message with more characters or lines is folded: nobody should have to scroll past several screens of text. */
const LONG = 1_200, LONG_LINES = 18;

const isLong = (text) => text.length > LONG || text.split("\n", LONG_LINES + 1).length > LONG_LINES;

export function makeMessage(item, actions) {
  const row = h("div", { class: "line", role: "article", tabindex: "-1", "data-id": item.id });
  row.actions = actions;
  return row;
}

/** Updates a row. It is drawn again only if something in it has changed. */
export function updateMessage(row, item, previous, { isFresh, showsState, isOnline, position, count, nameOf }) {
  const isNewDay = !previous || dayKey(previous.createdAt) !== dayKey(item.createdAt);
  const isFirst = isNewDay || isFresh || previous.senderId !== item.senderId || Date.parse(item.createdAt) - Date.parse(previous.createdAt) > GROUP;
  const name = nameOf(item.senderId) ?? item.message?.sender.firstName ?? item.message?.sender.username ?? "";
  row.setAttribute("aria-posinset", position);
  row.setAttribute("aria-setsize", count);
  const isFolded = isLong(item.text) && !row.actions.isUnfolded(item);
  const sign = `${isFolded}${isNewDay}${isFirst}${isFresh}${showsState}${item.state === "sending" && isOnline}${name}${language()}${dayKey(Date.now())}`;
  if (row.item === item && row.sign === sign) return;
  const isHeld = row.contains(document.activeElement) && document.activeElement !== row;
  row.item = item;
  row.sign = sign;
  const time = clockTime(item.createdAt);
  const status = stateOf(item, showsState, isOnline, row.actions);
  row.setAttribute("aria-label", `${item.isOwn ? t("you") : name}, ${time}: ${item.text}${status ? `, ${status.label}` : ""}`);
  fill(row,
    isNewDay && h("div", { class: "day", role: "separator", "aria-label": dayName(item.createdAt) }, h("span", {}, dayName(item.createdAt))),
    isFresh && h("div", { class: "fresh", role: "separator", "aria-label": t("newMessages") }, h("span", {}, t("newMessages"))),
    h("div", { class: `message${item.isOwn ? ` own is-${item.state}` : ""}${isFirst ? " first" : ""}` },
      !item.isOwn && isFirst && personMark({ id: item.senderId, username: name || "?" }, "small"),
      isFirst && h("div", { class: "who" }, !item.isOwn && h("b", { dir: "auto" }, name), !item.isOwn && " · ", h("time", { datetime: item.createdAt }, time)),
      h("div", { class: "said" },
        h("div", { class: `bubble${isFolded ? " is-folded" : ""}`, dir: "auto" }, linked(item.text),
          isFolded && h("button", { class: "text-button", type: "button", on: { click: () => row.actions.unfold(item) } }, t("showMore"))),
        item.isOwn && item.message && h("button", { class: "icon-button act", type: "button", tabIndex: -1, "aria-label": t("deleteMessage"), title: t("deleteMessage"), on: { click: () => row.actions.remove(item) } }, icon("trash", 16)),
        h("time", { class: "clock", datetime: item.createdAt }, time)),
      status?.element));
  if (isHeld) row.focus({ preventScroll: true });
}

function stateOf(item, showsState, isOnline, actions) {
  if (!item.isOwn) return null;
  if (item.state === "failed") {
    const label = item.failure ? t("failedBecause", { reason: failureText(item.failure) }) : t("failed");
    return { label, element: h("div", { class: "state is-failed" }, h("span", { class: "reason" }, icon("alert", 14), h("span", {}, label)),
      h("span", {},
        h("button", { class: "text-button", type: "button", on: { click: () => actions.retry(item) } }, t("retry")),
        h("button", { class: "text-button", type: "button", on: { click: () => actions.edit(item) } }, t("edit")),
        h("button", { class: "text-button", type: "button", on: { click: () => actions.discard(item) } }, t("discard")))) };
  }
  if (item.state === "sending") {
    const label = isOnline ? t("sending") : t("waiting");
    return { label, element: h("div", { class: "state" }, icon("clock", 14), label) };
  }
  if (!showsState) return null;
  const label = item.state === "read" ? t("read") : t("sent");
  return { label, element: h("div", { class: `state is-${item.state}` }, icon(item.state === "read" ? "checks" : "check", 14), label) };
}
