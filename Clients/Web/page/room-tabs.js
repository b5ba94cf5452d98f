import { h, text } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./texts.js";
import { badgeText } from "../parlor/display.js";
import { rove } from "./menu.js";
import { roomAddress, route } from "./route.js";
import { boardNews, followBoardNews, keepBoardNews } from "./unread.js";

const TABS = ["chat", "board"];
/** The tab that was chosen last in each room, until a reload. */
const lastTab = new Map();

/**
 * The tabs of a room, where the screen is too narrow for both parts. Each shows how much is new in the part that is not
 * shown.
 * @param person the id of the person. @param unseen returns how many elements of others were unseen when the room was
 * opened: that marked them as seen, also while only the conversation is shown. @param isTabbed returns whether there are tabs. @param unread returns the number of unread messages.
 * @param onNews runs when what is new on the board has changed. @param isOver returns whether the session has ended.
 */
export function roomTabs(board, { person, unseen, isTabbed, unread, onChoose, onNews, isOver }) {
  const { roomId } = board;
  let kept = boardNews(person, roomId);
  const news = newsCounter(kept);
  let chosen = route().tab ?? lastTab.get(roomId) ?? "chat";
  const badges = TABS.map(() => h("span", { class: "badge", "aria-hidden": "true" }));
  const tabs = TABS.map((id, index) => h("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `pane-${id}`, on: { click: () => choose(id) } }, icon(id, 18), t(id), badges[index]));
  const element = h("div", { class: "tabs" }, h("div", { class: "segments", role: "tablist", "aria-label": t("roomParts"), on: { keydown: (event) => rove(event, tabs) } }, tabs));

  function choose(id) {
    chosen = id ?? chosen;
    lastTab.set(roomId, chosen);
    history.replaceState(history.state, "", roomAddress(roomId, chosen));
    tabs.forEach((tab, index) => {
      tab.setAttribute("aria-selected", String(TABS[index] === chosen));
      tab.tabIndex = TABS[index] === chosen ? 0 : -1;
    });
    onChoose(chosen);
    draw();
  }

  function draw() {
    // The end of a session empties the board, and what was new there stays new.
    if (isOver()) return;
    news.note(board.snapshot, unseen());
    if (!isTabbed() || chosen === "board") news.clear();
    const counts = [isTabbed() && chosen === "board" ? unread() : 0, news.count];
    // Only what has changed here, because another tab that has the room open keeps its own count.
    if (kept !== news.count) {
      kept = news.count;
      keepBoardNews(person, roomId, kept);
      onNews();
    }
    tabs.forEach((tab, index) => {
      const count = counts[index];
      text(badges[index], badgeText(count));
      tab.setAttribute("aria-label", count ? `${t(TABS[index])}, ${t(["unreadMessages", "newElements"][index], { count })}` : t(TABS[index]));
    });
  }

  /** Takes the count that another tab has stored: 0 if the board was looked at there. If it is in view here, all is seen. */
  function onOtherTab() {
    const stored = boardNews(person, roomId);
    if (stored > 0 && (document.hidden || (isTabbed() && chosen !== "board"))) return;
    kept = stored;
    if (stored === 0) news.clear();
    draw();
  }

  const ends = [board.subscribe(draw), followBoardNews(onOtherTab)];
  return { element, choose, draw, end: () => ends.forEach((end) => end()) };
}

/**
 * Counts the elements of others that are new on a board. The first elements that it shows are those that this device had
 * seen before. What the server adds to them was created since, so it may be what `unseen` counts. Once the board is
 * complete, its newest elements of others are the unseen ones, so that one that is deleted counts no more.
 * @param kept how many were new when the room was closed the last time.
 */
export function newsCounter(kept) {
  let base = kept;
  let counted = 0;
  let isSeen = false;
  let known = null;
  let isComplete = false;
  let fresh = new Set();
  return {
    get count() {
      return Math.max(base, fresh.size);
    },
    note({ elements, isVerified }, unseen) {
      if (!isSeen && unseen > counted) {
        base = Math.max(this.count, kept + unseen);
        counted = unseen;
        isComplete = false;
      }
      const ids = new Set(elements.map(({ id }) => id));
      for (const id of fresh) if (!ids.has(id)) fresh.delete(id);
      for (const { id, isOwn } of known ? elements : []) if (!isOwn && !known.has(id)) fresh.add(id);
      if (ids.size > 0 || isVerified) known = ids;
      if (!isVerified || isComplete) return;
      const others = elements.filter(({ isOwn }) => !isOwn);
      fresh = new Set(others.slice(Math.max(0, others.length - this.count)).map(({ id }) => id));
      base = 0;
      isComplete = true;
    },
    clear() {
      isSeen = true;
      base = 0;
      fresh.clear();
    },
  };
}
