// A person's choices in this browser: the theme, the language, and how rooms are listed.

export function chosen(key, otherwise) {
  try {
    return localStorage.getItem(`parlor.${key}`) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function keepChoice(key, value) {
  try {
    localStorage.setItem(`parlor.${key}`, value);
  } catch {
    // The storage is blocked, so the choice lasts until the page is closed.
  }
}
