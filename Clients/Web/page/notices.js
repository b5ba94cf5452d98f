import { chosen, keepChoice } from "./choices.js";
import { t } from "./texts.js";
import { spoken } from "./format.js";
import { personName } from "../parlor/display.js";
import { goTo } from "./route.js";

/** The time, in milliseconds, before a message is shown. One that is read in another tab or on another device is not. */
const PAUSE = 2_000;

/** Returns whether the browser has notifications, and the person has not forbidden them. */
export function mayNotify() {
  return "Notification" in globalThis && Notification.permission !== "denied";
}

export function isNotifying() {
  return mayNotify() && Notification.permission === "granted" && chosen("notices", "") === "on";
}

/** Turns notifications on or off in this browser. If the person has not been asked yet, the browser asks. */
export async function setNotifying(is) {
  if (is && (await Notification.requestPermission()) !== "granted") return;
  keepChoice("notices", is ? "on" : "");
}

/** Shows a notification for a room whose unread messages become more while the page is hidden. Returns what ends this. */
export function notify(parlor) {
  /** The unread messages of each room when the page was hidden, or when a notification was last due. */
  let known = new Map();
  const shown = new Map();
  /** The rooms whose notification is due, and what waits to show it. */
  const due = new Map();
  const unread = (room) => room?.badges.messages ?? 0;

  /** Whether `known` has the server's list. What was unread before is no news. */
  let isBegun = false;
  function begin() {
    const { rooms = [], isLoaded = false } = parlor.rooms?.snapshot ?? {};
    isBegun = isLoaded;
    known = new Map(rooms.map((room) => [room.id, unread(room)]));
  }

  function look() {
    if (!document.hidden || !isNotifying()) return;
    if (!isBegun) return begin();
    for (const room of parlor.rooms?.snapshot.rooms ?? []) {
      const more = unread(room) > (known.get(room.id) ?? 0);
      known.set(room.id, unread(room));
      if (more) later(room.id);
      else if (unread(room) === 0) remove(room.id);
    }
  }
  function later(roomId) {
    if (due.has(roomId)) return;
    due.set(roomId, setTimeout(() => {
      due.delete(roomId);
      const room = parlor.rooms?.get(roomId);
      if (document.hidden && unread(room) > 0) show(room);
    }, PAUSE));
  }
  function show({ id, kind, name, displayName, participants, lastMessage, badges }) {
    const sender = participants.find(({ userId }) => userId === lastMessage?.senderId);
    // Of a large group, the sender may be unknown here.
    const names = [sender && personName(sender), kind === "group" ? displayName : name].filter(Boolean);
    if (!lastMessage || names.length === 0 || lastMessage.senderId === parlor.rooms.userId) return;
    try {
      // It replaces an earlier one of the room, also one of another tab.
      const notice = new Notification(names.join(" · "), {
        tag: `parlor/${id}`, icon: new URL("../icon.svg", import.meta.url).href,
        body: badges.messages > 1 ? `${t("unreadMessages", { count: badges.messages })}\n${spoken(lastMessage.text)}` : spoken(lastMessage.text),
      });
      notice.onclick = () => {
        window.focus();
        goTo(id);
      };
      shown.set(id, notice);
    } catch {
      // Chrome on Android has notifications for service workers alone.
    }
  }
  function remove(roomId) {
    shown.get(roomId)?.close();
    shown.delete(roomId);
  }
  function removeAll() {
    for (const timer of due.values()) clearTimeout(timer);
    due.clear();
    [...shown.keys()].forEach(remove);
  }
  function turned() {
    if (!document.hidden) return removeAll();
    begin();
  }
  turned();
  // On the window, so that it comes after the listeners of the chat, whose messages are no longer in view.
  addEventListener("visibilitychange", turned);
  const unsubscribe = parlor.rooms.subscribe(look);
  return () => {
    removeEventListener("visibilitychange", turned);
    unsubscribe();
    removeAll();
  };
}
