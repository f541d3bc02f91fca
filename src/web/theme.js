// What must be known before the first paint; the calculator itself arrives later.
// Without a link, the job of the last visit comes back. An embed shows what its page asks for.
try {
  const last = localStorage.getItem("last");
  const opened = location.hash.length < 2 && !/embed\.html$/.test(location.pathname);
  if (opened && last?.startsWith("#")) history.replaceState(history.state, "", last);
} catch {
  // Without storage, there is no last visit.
}
// A link to a job: the example that the page brings is not what the reader asked for.
if (location.hash.length > 1) document.documentElement.dataset.linked = "";
// Colors as the reader chose them.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage, the system decides.
}
