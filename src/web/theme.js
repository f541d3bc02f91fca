// Colors as the reader chose them, before the first paint; the calculator itself arrives later.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage, the system decides.
}
