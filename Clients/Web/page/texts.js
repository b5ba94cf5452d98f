import { chosen, keepChoice } from "./choices.js";
import en from "./texts/en.js";
import de from "./texts/de.js";

const TABLES = { en, de };

export const languages = Object.keys(TABLES).map((code) => ({ code, name: TABLES[code].languageName }));

let current = initialLanguage();
let plurals = new Intl.PluralRules(current);
let numbers = new Intl.NumberFormat(current);
document.documentElement.lang = current;

/** The language in use: chosen, else the browser's first that there is, else English. */
export function language() {
  return current;
}

function initialLanguage() {
  const code = chosen("language", "");
  if (code in TABLES) return code;
  return (navigator.languages ?? [navigator.language]).map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => tag in TABLES) ?? "en";
}

/** Changes the language for this browser. The caller draws everything again. */
export function setLanguage(code) {
  current = code in TABLES ? code : "en";
  plurals = new Intl.PluralRules(current);
  numbers = new Intl.NumberFormat(current);
  document.documentElement.lang = current;
  keepChoice("language", current);
}

/** The text of `key` with `values` filled in. */
export function t(key, values = {}) {
  let entry = TABLES[current][key] ?? en[key] ?? key;
  if (typeof entry === "object") entry = entry[plurals.select(values.count)] ?? entry.other;
  return entry.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    return value == null ? whole : typeof value === "number" ? numbers.format(value) : value;
  });
}

/** What a person reads about a failure: the table's text if there is one, else the server's own. */
export function failureText(failure) {
  const known = TABLES[current][`error.${failure?.code}`];
  return known ?? (failure?.kind === "refused" || !failure?.kind ? failure?.message : null) ?? t("error.unknown");
}
