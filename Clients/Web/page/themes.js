/** "system", "light" or "dark". */
export function theme() {
  return document.documentElement.dataset.theme ?? "system";
}

export function setTheme(choice) {
  if (choice === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
  try {
    localStorage.setItem("parlor.theme", choice);
  } catch {
    // Storage is blocked: the choice lasts until the page is closed.
  }
}
