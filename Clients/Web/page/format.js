import { language, t } from "./texts.js";

const formats = new Map();

function format(name, make) {
  const key = `${language()}/${name}`;
  let value = formats.get(key);
  if (!value) formats.set(key, (value = make()));
  return value;
}

const MINUTE = 60_000, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

/** Formats a time relative to now, such as "5 min. ago". A time at least seven calendar days ago becomes a date. */
export function relativeTime(time) {
  const date = new Date(time);
  const age = Date.now() - date.getTime();
  if (age < MINUTE) return t("justNow");
  const relative = format("relative", () => new Intl.RelativeTimeFormat(language(), { numeric: "auto", style: t("relativeStyle") }));
  if (age < HOUR) return relative.format(-Math.floor(age / MINUTE), "minute");
  const days = daysSince(date);
  // The day on which summer time ends has 25 hours.
  if (age < DAY || days === 0) return relative.format(-Math.floor(age / HOUR), "hour");
  if (days < 7) return relative.format(-days, "day");
  return shortDate(date);
}

export function shortDate(time) {
  const date = new Date(time);
  const isThisYear = date.getFullYear() === new Date().getFullYear();
  return isThisYear
    ? format("day", () => new Intl.DateTimeFormat(language(), { day: "numeric", month: "short" })).format(date)
    : format("day-year", () => new Intl.DateTimeFormat(language(), { day: "numeric", month: "short", year: "numeric" })).format(date);
}

export function exactTime(time) {
  return format("exact", () => new Intl.DateTimeFormat(language(), { dateStyle: "full", timeStyle: "medium" })).format(new Date(time));
}

/**
 * Shows the exact time when the pointer is over a `time` in `element`. It is formatted only then, because a page
 * has many timestamps.
 */
export function explainTimes(element) {
  element.addEventListener("pointerover", (event) => {
    const time = event.target.closest?.("time, [data-time]");
    const at = time?.dateTime || time?.dataset.time;
    if (at) time.title = exactTime(at);
  });
}

/** Returns as much of a message as is read aloud before somebody can go on. */
export function spoken(text) {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

export function clockTime(time) {
  return format("clock", () => new Intl.DateTimeFormat(language(), { hour: "numeric", minute: "2-digit" })).format(new Date(time));
}

/** Formats a day as "Today", "Yesterday", or as a date in words. */
export function dayName(time) {
  const date = new Date(time);
  const days = daysSince(date);
  if (days === 0) return t("today");
  if (days === 1) return t("yesterday");
  const isThisYear = date.getFullYear() === new Date().getFullYear();
  return format(isThisYear ? "words" : "words-year", () => new Intl.DateTimeFormat(language(), {
    weekday: "long", day: "numeric", month: "long", ...(isThisYear ? {} : { year: "numeric" }),
  })).format(date);
}

/** Returns a key that is the same for all times of one day in local time. */
export function dayKey(time) {
  const date = new Date(time);
  return date.getFullYear() * 512 + date.getMonth() * 32 + date.getDate();
}

/** Returns the time, in milliseconds, until the next day begins in local time. */
export function untilMidnight() {
  const now = new Date();
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1).getTime() - now.getTime();
}

/** Returns how many calendar days ago, in local time, `date` is. Days have 23 to 25 hours, so the quotient is rounded. */
function daysSince(date) {
  return Math.round((startOfDay(new Date()) - startOfDay(date)) / DAY);
}

function startOfDay(date) {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}

/** Letters that are no accented form of another one, and how they are typed without a keyboard for them. */
const SPELLED = { ø: "o", đ: "d", ł: "l", ı: "i", ß: "ss", æ: "ae", œ: "oe" };

/** Returns a text as searches compare it: in lower case, without accents. */
export function folded(text) {
  return text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "").replace(/[øđłıßæœ]/g, (letter) => SPELLED[letter]);
}

/** The names of browsers and systems, with what they call themselves. Those that name others too come first. */
const BROWSERS = [[/\bEdg/, "Edge"], [/\bOPR\//, "Opera"], [/\bFirefox\/|\bFxiOS\//, "Firefox"], [/Chrome\/|\bCriOS\//, "Chrome"], [/\bSafari\//, "Safari"]];
const SYSTEMS = [[/\biPhone\b/, "iPhone"], [/\biPad\b/, "iPad"], [/\bAndroid\b/, "Android"], [/\bWindows\b/, "Windows"], [/\bMac OS X\b/, "macOS"], [/\bLinux\b/, "Linux"]];

/** Returns a short name for what a browser or an app calls itself, such as "Firefox · Linux". */
export function deviceName(userAgent) {
  const known = [BROWSERS, SYSTEMS].map((names) => names.find(([pattern]) => pattern.test(userAgent))?.[1]).filter(Boolean);
  return known.join(" · ") || userAgent.slice(0, 60);
}

/** Returns a person's initials: one or two characters. */
export function initials(person) {
  const words = (person.firstName || person.username || "?").trim().split(/[\s._-]+/).filter(Boolean);
  const first = (word) => [...word][0] ?? "";
  return ((words.length > 1 ? first(words[0]) + first(words[1]) : first(words[0] ?? "?"))).toLocaleUpperCase(language());
}
