// The theme is set before the first paint: this script blocks, the others wait for the document.
try {
  const theme = localStorage.getItem("indextables.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is switched off: the theme is the one of the system.
}
