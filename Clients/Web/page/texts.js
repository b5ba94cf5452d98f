import { failureSentence } from "../parlor/failure-sentence.js";
import { chosen, keepChoice } from "./choices.js";
import en from "./texts/en.js";
import de from "./texts/de.js";

const TABLES = { en, de };

export const languages = Object.keys(TABLES).map((code) => ({ code, name: TABLES[code].languageName }));

let current, plurals, numbers;
use(initialLanguage());

function use(code) {
  current = code;
  plurals = new Intl.PluralRules(code);
  numbers = new Intl.NumberFormat(code);
  document.documentElement.lang = code;
}

/** Returns the language in use: the chosen one, the first of the browser's languages that is available, or English. */
export function language() {
  return current;
}

function initialLanguage() {
  const code = chosen("language", "");
  const asked = [code, ...(navigator.languages ?? [navigator.language]).map((tag) => tag.slice(0, 2).toLowerCase())];
  return asked.find((tag) => Object.hasOwn(TABLES, tag)) ?? "en";
}

/** Changes the language in this browser to one of `languages`. The caller has to draw everything again. */
export function setLanguage(code) {
  use(code);
  keepChoice("language", code);
}

/** Returns the text for `key`, with `values` filled in. */
export function t(key, values = {}) {
  let entry = TABLES[current][key] ?? en[key] ?? key;
  if (typeof entry === "object") entry = entry[plurals.select(values.count)] ?? entry.other;
  return entry.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    return value == null ? whole : typeof value === "number" ? numbers.format(value) : value;
  });
}

/** Returns the library's sentence for a failure: the server's own messages are in English and for developers. */
export function failureText(failure) {
  return failureSentence(failure, current);
}
