const BADGE_LIMIT = 99;

/** First name, or username. */
export function personName(person) {
  return person.firstName?.trim() || person.username;
}

/** "" for 0, "99+" over 99. */
export function badgeText(count) {
  if (count <= 0) return "";
  return count > BADGE_LIMIT ? `${BADGE_LIMIT}+` : String(count);
}
