import { badgeText } from "../parlor/display.js";
import { chosen, keepChoice } from "./choices.js";

let shown = null;
let wanted = null;
let isDue = false;
/**
 * The number of elements on each board that are new to the person, by person and room. It is kept here, because the server
 * counts them as seen once the room is opened, even while only the conversation is shown.
 */
let news = storedNews({});
addEventListener("storage", ({ key }) => key === "parlor.news" && (news = storedNews({})));
/** Runs work that is not urgent when the page is idle. */
const whenIdle = globalThis.requestIdleCallback ?? ((work) => setTimeout(work, 200));

export function boardNews(person, roomId) {
  return news[`${person}/${roomId}`] ?? 0;
}

/** Runs `listener` when another tab has changed the news. Returns a function that ends this. */
export function followBoardNews(listener) {
  const onStorage = ({ key }) => key === "parlor.news" && listener();
  addEventListener("storage", onStorage);
  return () => removeEventListener("storage", onStorage);
}

export function keepBoardNews(person, roomId, count) {
  // Another tab may have kept the news of other rooms meanwhile.
  news = { ...storedNews(news), [`${person}/${roomId}`]: count || undefined };
  keepChoice("news", JSON.stringify(news));
}

function storedNews(otherwise) {
  const stored = chosen("news", null);
  return stored === null ? otherwise : JSON.parse(stored);
}

export function forgetBoardNews() {
  news = {};
  keepChoice("news", "{}");
}

/**
 * Returns a room's badges as they are shown to the person. What is new on a board counts until the person has looked at
 * the board.
 */
export function shownBadges({ id, badges }, person) {
  return { ...badges, elements: badges.elements + boardNews(person, id) };
}

/**
 * Shows the count in the title of the tab, and a dot on its icon if the count is above zero. If the page is visible,
 * the icon changes when the page is idle.
 */
export function showUnread(count, roomName) {
  const title = `${count > 0 ? `(${badgeText(count)}) ` : ""}${roomName ? `${roomName} · ` : ""}Parlor`;
  if (document.title !== title) document.title = title;
  wanted = count > 0;
  if (isDue || shown === wanted) return;
  // A hidden page is rarely idle, and its icon is what people see of it.
  if (document.hidden) return showIcon(wanted);
  isDue = true;
  whenIdle(() => {
    isDue = false;
    showIcon(wanted);
  });
}

function showIcon(isUnread) {
  if (shown === isUnread) return;
  shown = isUnread;
  const link = document.querySelector('link[rel="icon"]');
  if (isUnread) {
    link.type = "image/png";
    link.href = drawn();
  } else {
    link.type = "image/svg+xml";
    link.href = new URL("../icon.svg", import.meta.url).href;
  }
}

/** Returns the icon with a dot in its corner, as a data URL. */
function drawn() {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#1d5f4e";
  pen.beginPath();
  pen.roundRect(0, 0, 64, 64, 16);
  pen.fill();
  pen.fillStyle = "#e9f3ee";
  pen.beginPath();
  pen.arc(32, 28, 16, Math.PI, 0);
  pen.lineTo(48, 52);
  pen.lineTo(16, 52);
  pen.fill();
  pen.fillStyle = "#1d5f4e";
  pen.fillRect(30, 12, 4, 40);
  pen.fillRect(16, 31, 32, 4);
  pen.fillStyle = "#f4bb4a";
  pen.strokeStyle = "#1d5f4e";
  pen.lineWidth = 4;
  pen.beginPath();
  pen.arc(48, 16, 14, 0, 7);
  pen.fill();
  pen.stroke();
  return canvas.toDataURL("image/png");
}
