const ENDED = { en: "Your session has ended. Please sign in again.", de: "Die Sitzung ist beendet. Bitte neu anmelden." };
const NOT_ACCEPTED = { en: "This is not accepted. Please change it.", de: "Das wird nicht angenommen. Bitte ändern." };
const NO_ROUTE = { en: "This server cannot do this.", de: "Dieser Server kann das nicht." };
const GENERAL = { en: "This did not work. Please try again.", de: "Das hat nicht geklappt. Bitte erneut versuchen." };
const WAIT = { en: "Too many attempts. Please try again {when}.", de: "Zu viele Versuche. Bitte {when} erneut versuchen." };

/** By code: those of the contract, and the library's own. */
const TEXTS = {
  blocked: { en: "This is not possible with this person.", de: "Das ist mit dieser Person nicht möglich." },
  element_not_found: { en: "This was deleted meanwhile.", de: "Das wurde inzwischen gelöscht." },
  email_taken: { en: "This e-mail belongs to another account.", de: "Diese E-Mail gehört zu einem anderen Konto." },
  forbidden: { en: "You are not allowed to do this.", de: "Das ist nicht erlaubt." },
  invalid_credentials: { en: "The username or password is wrong.", de: "Benutzername oder Passwort ist falsch." },
  invalid_field: NOT_ACCEPTED,
  invalid_token: ENDED,
  malformed_request: NOT_ACCEPTED,
  message_not_found: { en: "This message was deleted meanwhile.", de: "Diese Nachricht wurde inzwischen gelöscht." },
  method_not_allowed: NO_ROUTE,
  not_kept: { en: "This device could not store it.", de: "Dieses Gerät konnte es nicht speichern." },
  offline: { en: "The server cannot be reached.", de: "Der Server ist nicht erreichbar." },
  payload_too_large: { en: "This is too large.", de: "Das ist zu groß." },
  rate_limited: { en: "Too many attempts. Please wait a moment.", de: "Zu viele Versuche. Bitte kurz warten." },
  room_not_found: { en: "The room is not available.", de: "Der Raum ist nicht verfügbar." },
  route_not_found: NO_ROUTE,
  service_unavailable: { en: "The server is busy. Please try again.", de: "Der Server ist ausgelastet. Bitte erneut versuchen." },
  signed_out: ENDED,
  too_old: { en: "It has waited for more than a day.", de: "Das hat mehr als einen Tag gewartet." },
  unauthenticated: ENDED,
  user_not_found: { en: "This person was not found.", de: "Diese Person wurde nicht gefunden." },
  username_taken: { en: "This username is taken.", de: "Dieser Benutzername ist vergeben." },
  version_conflict: { en: "Somebody else changed this meanwhile.", de: "Jemand hat das inzwischen geändert." },
};

/** Returns a sentence for a person. See parlor.d.ts. */
export function failureSentence(failure, language = "en") {
  const known = /^de\b/i.test(language.replace("_", "-")) ? "de" : "en";
  const isLong = failure?.code === "rate_limited" && failure.retryAfter > 1_000;
  const texts = isLong ? WAIT : Object.hasOwn(TEXTS, failure?.code) ? TEXTS[failure.code] : GENERAL;
  return texts[known].replace("{when}", () => inTime(failure.retryAfter, known));
}

/** Formats a time from now, such as "in 5 minutes". */
function inTime(milliseconds, language) {
  const seconds = Math.ceil(milliseconds / 1_000);
  return new Intl.RelativeTimeFormat(language).format(...(seconds < 90 ? [seconds, "second"] : [Math.ceil(seconds / 60), "minute"]));
}
