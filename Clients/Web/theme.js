// Sets the chosen theme before the first paint, so that the page does not flash. That is why it is a classic script.
try {
  const theme = localStorage.getItem("parlor.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // The storage is blocked, so the system's theme is used.
}
