// Runs before the first paint, so that a chosen theme does not flash. A classic script for that reason.
try {
  const theme = localStorage.getItem("parlor.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is blocked: the system's theme stands.
}
