import { h, fill, text, onceAFrame } from "./dom.js";
import { icon } from "./icons.js";
import { t, failureText } from "./texts.js";
import { WindowedList } from "./windowed-list.js";
import { makeMessage, updateMessage } from "./message.js";
import { explainTimes, spoken, untilMidnight } from "./format.js";
import { composerView } from "./composer.js";
import { announce, ask, toast } from "./dialog.js";
import { failed, outdated } from "./failed.js";

/**
 * A room opens at its first unread message if that is among this many, and otherwise at the newest. They are loaded in
 * pages of the server's largest size.
 */
const SEARCHED = 3_000;
const LARGE_PAGE = 200;

const newestSeq = (items) => items.findLast((item) => item.message)?.message.seq ?? 0;

/**
 * A room's conversation: its messages in a windowed list, who is typing, and the composer.
 * @param unread returns the number of unread messages. @param isEmpty returns whether the room is known to have none.
 */
export function chatView(parlor, conversation, { nameOf, unread, isEmpty }) {
  const start = h("div", { class: "start" });
  const lines = h("div", { class: "lines" });
  const scroller = h("div", { class: "scroller", role: "feed", tabindex: "0", "aria-label": t("messages"), on: {
    keydown: onKey, wheel: () => (isSettled = true), touchmove: () => (isSettled = true), pointerdown: () => (isSettled = true),
  } }, start, lines);
  explainTimes(scroller);
  const empty = h("div");
  const notice = h("div", { role: "status" });
  const typing = h("div", { class: "typing-line" });
  const jump = h("button", { class: "button jump", type: "button", hidden: true, on: { click: toLatest } });
  const composer = composerView(parlor.drafts, conversation.roomId, {
    send(words) {
      isSettled = true;
      isMarked = false;
      if (conversation.send(words) != null) showEnd();
    },
    typed: () => conversation.typed(),
    stopped: () => conversation.stoppedTyping(),
    goUp: () => focusRow(list.items.length - 1),
    // From here, keys scroll the messages.
    leave: () => (scroller.hidden ? document.activeElement.blur() : scroller.focus({ preventScroll: true })),
  });
  const element = h("section", { class: "chat", "aria-label": t("chat") }, notice, scroller, empty, typing, h("div", { class: "composer" }, jump, composer.element));

  let isSettled = false;
  /** Whether a line marks the first unread message: unless that is too far back, and until the person writes here. */
  let isMarked = true;
  /** The `seq` of the last message that was announced; null until the server has confirmed what is shown. */
  let lastAnnounced = null;
  let seenTo = 0;
  /**
   * The `seq` of the newest message when the server last confirmed what is drawn, or of what was drawn first. Messages
   * after it may have come before others that belong above them.
   */
  let completeTo = 0;
  let lastOwn = -1, lastRead = -1;
  /** The ids of long messages that the person has asked to see whole. */
  const unfolded = new Set();
  const actions = {
    retry: (item) => conversation.retry(item.id),
    discard: (item) => conversation.discard(item.id),
    /** Moves the text of a failed message to the field. It stays here if it is just being sent. */
    edit(item) {
      if (!conversation.discard(item.id)) return;
      composer.takeBack(item.text);
      void parlor.drafts.flush();
    },
    isUnfolded: (item) => unfolded.has(item.id),
    unfold(item) {
      unfolded.add(item.id);
      list.refresh();
    },
    async remove(item) {
      if (!(await ask(t("deleteMessage"), t("deleteMessageAsk"), t("delete")))) return;
      conversation.delete(item.id).catch((failure) => toast(failureText(failure)));
    },
  };
  const list = new WindowedList(scroller, lines, {
    key: (item) => item.id,
    make: (item) => makeMessage(item, actions),
    update(row, index) {
      const { items } = list;
      updateMessage(row, items[index], items[index - 1], {
        isFresh: isMarked && items[index].id === conversation.snapshot.firstUnreadId,
        showsState: index === lastOwn || index === lastRead, isOnline: parlor.connection.snapshot.state === "connected",
        position: index + 1, count: conversation.snapshot.hasOlder ? -1 : items.length, nameOf,
      });
    },
    onView: onceAFrame(viewed),
  });

  function draw() {
    const shot = conversation.snapshot;
    const { items } = shot;
    lastOwn = items.findLastIndex((item) => item.isOwn);
    lastRead = items.findLastIndex((item) => item.isOwn && item.state === "read");
    const held = heldRow();
    if (!isSettled && isFartherBack(shot) && Math.max(unread(), items.length) > SEARCHED) isMarked = false;
    list.setItems(items);
    if (shot.isVerified || completeTo === 0) completeTo = newestSeq(items);
    if (held && !list.has(held.id)) holdInstead(held);
    // Before the view moves, because without messages the scroller is hidden.
    drawState(shot);
    settle(shot);
    holdUnseen(shot);
    // The view may have left the end. What it shows now counts as read only once it has been drawn.
    noteVisible([]);
    arrivals(items);
    drawNotice(shot);
    drawTyping(shot);
  }

  /**
   * Keeps the view at the first unread message, or at the end, until the person scrolls or the server has confirmed
   * what is shown. If the first unread message is farther back, older pages are fetched, unless it is too far.
   */
  function settle(shot) {
    if (isSettled || shot.items.length === 0) return;
    const { firstUnreadId, isVerified, isLoadingOlder, failure } = shot;
    if (isMarked && firstUnreadId && list.has(firstUnreadId)) list.scrollToKey(firstUnreadId, gapAbove());
    else list.scrollToEnd();
    if (!isVerified) return;
    if (isMarked && isFartherBack(shot) && !failure) {
      if (!isLoadingOlder) void conversation.loadOlder(LARGE_PAGE);
    } else {
      requestAnimationFrame(() => {
        isSettled = true;
        viewed();
      });
    }
  }

  /** Returns whether all messages of others that were fetched were unread, so that earlier ones may be, too. */
  function isFartherBack({ items, firstUnreadId, hasOlder }) {
    return firstUnreadId !== null && hasOlder && items.find((item) => !item.isOwn)?.id === firstUnreadId;
  }

  /**
   * Moves the view from the end back to the first message that arrived since the person looked, if that is above the
   * view: many messages came at once, or while the page was hidden. Else nobody would ever read it. This waits until
   * all have come, because the first may come last.
   */
  function holdUnseen({ isVerified, firstUnreadId }) {
    // Before the view has settled, `settle` goes to an unread message that was there before.
    const isReading = isVerified && (isSettled ? seenTo > 0 : !firstUnreadId);
    if (!isReading || !list.isAtEnd || scroller.clientHeight === 0) return;
    const first = unseen().find((item) => item.isUnread);
    if (first && !list.visible().includes(first)) list.scrollToKey(first.id, gapAbove());
  }

  /** Returns the messages of others after the last one that was in view. */
  function unseen() {
    const { items } = list;
    return items.slice(items.findLastIndex((item) => item.message && item.message.seq <= seenTo) + 1).filter((item) => item.message && !item.isOwn);
  }

  /** Returns the distance, in pixels, between the upper edge and a message that the view goes to. */
  function gapAbove() {
    return Math.min(96, scroller.clientHeight / 4);
  }

  function arrivals(items) {
    const newest = newestSeq(items);
    if (lastAnnounced === null) {
      if (conversation.snapshot.isVerified) lastAnnounced = newest;
      return;
    }
    for (const item of items.slice(-20)) {
      const seq = item.message?.seq ?? 0;
      if (seq > lastAnnounced && !item.isOwn) {
        announce(t("saidNew", { name: nameOf(item.senderId) ?? item.message.sender.username, text: spoken(item.text) }));
        arrive(list.row(item.id));
      }
    }
    lastAnnounced = Math.max(lastAnnounced, newest);
  }

  function arrive(row) {
    if (!row) return;
    row.classList.add("arriving");
    // Else a row that leaves the document and returns would appear anew.
    row.addEventListener("animationend", () => row.classList.remove("arriving"), { once: true });
  }

  let drawn = "";
  function drawState({ items, isLoading, isLoadingOlder, hasOlder, failure, isVerified }) {
    const state = items.length > 0 ? (isLoadingOlder ? "older" : failure && hasOlder ? "failed-older" : hasOlder ? "more" : "beginning")
      : isEmpty() && (!failure || failure.kind === "offline") ? "empty"
      : isLoading || (!isVerified && !failure) ? "loading" : failure ? `failed/${failure.code}` : "empty";
    scroller.setAttribute("aria-busy", String(isLoading || isLoadingOlder));
    if (state === drawn) return;
    drawn = state;
    text(start, state === "older" ? t("loading") : state === "beginning" ? t("beginning") : "\u00a0");
    if (state === "failed-older") fill(start, h("button", { class: "text-button", type: "button", on: { click: loadMore } }, t("tryAgain")));
    scroller.hidden = items.length === 0;
    empty.className = items.length ? "" : "chat-empty";
    if (items.length > 0) fill(empty);
    else if (state === "loading") fill(empty, h("span", { class: "visually-hidden" }, t("loading")), [62, 40, 74, 30, 55, 48].map((width, index) => h("div", { class: `bone bubble-bone${index % 3 === 1 ? " end" : ""}`, "aria-hidden": "true", style: { "inline-size": `${width}%` } })));
    else if (state === "empty") fill(empty, h("div", { class: "empty" }, h("h2", {}, t("emptyChat")), h("p", {}, t("emptyChatLead"))));
    else fill(empty, h("div", { class: "empty" }, failed(t("chatFailed"), failure, () => conversation.refresh())));
    if (items.length > 0) list.refresh();
  }

  /** Loads what failed: older messages, or those that are shown, without which older ones cannot be loaded. */
  async function loadMore() {
    if (!(await conversation.loadOlder())) await conversation.refresh();
  }

  let isNoticed = false;
  function drawNotice({ items, isVerified, failure }) {
    // Without a connection, the page says so for all that it shows.
    const isOutdated = items.length > 0 && !isVerified && failure !== null && parlor.connection.snapshot.state === "connected";
    if (isOutdated === isNoticed) return;
    isNoticed = isOutdated;
    fill(notice, isOutdated && outdated(t("chatOutdated"), () => conversation.refresh()));
  }

  /** Returns whether there is no message yet, so that the first one will be in view. */
  function isBeginning() {
    return drawn === "empty" && empty.clientHeight > 0;
  }

  let typed = "";
  function drawTyping({ typing: typists }) {
    const line = typists.length === 0 ? "" : typists.length > 1 ? t("typingMany") : t("typingOne", { name: nameOf(typists[0]) ?? "…" });
    if (line === typed) return;
    typed = line;
    fill(typing, line && [h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")), h("span", { dir: "auto" }, line)]);
  }

  /**
   * Marks visible messages as read, and at the end all messages; loads older ones before they are needed; and shows the
   * button that jumps to the end.
   */
  function viewed() {
    const { hasOlder, isLoadingOlder, failure } = conversation.snapshot;
    if (isSettled && hasOlder && !isLoadingOlder && !failure && scroller.scrollTop < 1200 && scroller.clientHeight > 0) void conversation.loadOlder();
    // Before the view has settled, it may have been elsewhere for a moment, which does not count.
    const seen = isSettled && !document.hidden && scroller.clientHeight > 0 ? list.visible() : [];
    seenTo = Math.max(seenTo, Math.min(newestSeq(seen), completeTo));
    noteVisible(seen);
    if (isAtEnd() && seen.length > 0) conversation.markReadUpTo(seenTo);
    const fresh = seenTo > 0 ? unseen().length : 0;
    jump.hidden = list.isAtEnd;
    jump.classList.toggle("has-new", fresh > 0);
    const label = fresh > 0 ? t("jumpToNew", { count: fresh }) : t("jumpToLatest");
    if (jump.title !== label) {
      jump.title = label;
      fill(jump, icon("down", 18), label);
    }
  }

  function noteVisible(seen) {
    conversation.noteVisible(seen.map((item) => item.id), isAtEnd());
  }

  function toLatest() {
    isSettled = true;
    showEnd();
    focus();
  }

  /** On a touch screen, the focus in the field would open the keyboard over half of the messages. */
  function focus() {
    if (matchMedia("(pointer: coarse)").matches) scroller.focus({ preventScroll: true });
    else composer.focus();
  }

  function isAtEnd() {
    return !document.hidden && (scroller.hidden ? isBeginning() : isSettled && list.isAtEnd && scroller.clientHeight > 0);
  }

  /** Goes to the end because the person asks for it, so messages above the view do not hold it. */
  function showEnd() {
    seenTo = Math.max(seenTo, newestSeq(list.items));
    list.scrollToEnd();
  }

  function focusRow(index) {
    const item = list.items[index];
    if (!item) return;
    if (!list.row(item.id)) list.scrollToKey(item.id, 80);
    const row = list.row(item.id);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  }

  /** Returns the id and the index of the message that has the focus, and whether it is visible; or null. */
  function heldRow() {
    const id = document.activeElement?.closest(".line")?.dataset.id;
    return id ? { id, index: indexOf(id), isVisible: list.visible().some((item) => item.id === id) } : null;
  }

  /** Focuses what is now at a deleted message's place. If the person has scrolled away from it, the view stays. */
  function holdInstead({ index, isVisible }) {
    const next = Math.min(index, list.items.length - 1);
    if (next < 0) focus();
    else if (isVisible) focusRow(next);
    else list.row(list.items[next].id)?.focus({ preventScroll: true });
  }

  function indexOf(id) {
    return list.items.findIndex((item) => item.id === id);
  }

  function onKey(event) {
    isSettled = true;
    const row = event.target.closest?.(".line");
    const index = row ? indexOf(row.dataset.id) : -1;
    const item = list.items[index];
    if (event.key === "Escape" && row) {
      event.preventDefault();
      composer.focus();
    } else if (isTyped(event)) {
      // The browser puts the character into the field, which has the focus now.
      composer.focus();
    } else if (event.key === "End" && !row) {
      event.preventDefault();
      toLatest();
    } else if (!item || event.target !== row) {
      return;
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      if (event.key === "ArrowDown" && index === list.items.length - 1) composer.focus();
      else focusRow(index + (event.key === "ArrowUp" ? -1 : 1));
    } else if (event.key === "Delete" && item.isOwn) {
      event.preventDefault();
      if (item.message) void actions.remove(item);
      else actions.discard(item);
    } else if (event.key === "Enter" && item.state === "failed") {
      event.preventDefault();
      actions.retry(item);
    }
  }

  const later = onceAFrame(draw);
  // "Today" is "Yesterday" after midnight.
  let midnight = null;
  function awaitMidnight() {
    midnight = setTimeout(() => {
      later();
      awaitMidnight();
    }, untilMidnight());
  }
  awaitMidnight();
  const onVisible = () => (document.hidden ? noteVisible([]) : viewed());
  const ends = [conversation.subscribe(later), parlor.connection.subscribe(later)];
  document.addEventListener("visibilitychange", onVisible);
  return {
    element,
    begin() {
      composer.begin();
      draw();
    },
    shown() {
      list.refresh();
      settle(conversation.snapshot);
      holdUnseen(conversation.snapshot);
    },
    focus: composer.focus,
    end() {
      ends.forEach((end) => end());
      clearTimeout(midnight);
      document.removeEventListener("visibilitychange", onVisible);
      conversation.stoppedTyping();
      composer.end();
      list.end();
    },
  };
}

/** Returns whether a key writes a character. The space bar scrolls, and presses a button. AltGr counts as Ctrl and Alt. */
function isTyped(event) {
  const isCommand = (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState("AltGraph");
  return [...event.key].length === 1 && event.key !== " " && !isCommand && !event.target.closest("button, a");
}
