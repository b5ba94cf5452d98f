import { keepChoice } from "./choices.js";

/** Returns the chosen theme: "system", "light" or "dark". */
export function theme() {
  return document.documentElement.dataset.theme ?? "system";
}

export function setTheme(choice) {
  if (choice === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
  keepChoice("theme", choice);
}
