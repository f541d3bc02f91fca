// What must be known before the first paint; the calculator itself arrives later.
// A link to a job: the example that the page brings is not what the reader asked for.
if (location.hash.length > 1) document.documentElement.dataset.linked = "";
// Colors as the reader chose them.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage, the system decides.
}
