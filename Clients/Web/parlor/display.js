const BADGE_LIMIT = 99;
/** The number of people whose names stand for a room. */
const NAMED_PEOPLE = 3;

/** Returns the first name, or the username. */
export function personName(person) {
  return person.firstName?.trim() || person.username;
}

/** Returns the names of the first people of a room, as the server joins them for one without a name. */
export function peopleNames({ participants, participantCount }) {
  const names = participants.slice(0, NAMED_PEOPLE).map(personName).join(" & ");
  const others = participantCount - NAMED_PEOPLE;
  return others > 0 ? `${names} +${others}` : names;
}

/** Returns "" for 0, and "99+" over 99. */
export function badgeText(count) {
  if (count <= 0) return "";
  return count > BADGE_LIMIT ? `${BADGE_LIMIT}+` : String(count);
}
