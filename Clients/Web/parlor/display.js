const BADGE_LIMIT = 99;

/** Returns the first name, or the username. */
export function personName(person) {
  return person.firstName?.trim() || person.username;
}

/** Returns "" for 0, and "99+" over 99. */
export function badgeText(count) {
  if (count <= 0) return "";
  return count > BADGE_LIMIT ? `${BADGE_LIMIT}+` : String(count);
}
