// What an embed (embed.html) says to the page around it, and what it takes from it. The messages are {mm: 1, type, …}:
//
//   to the host    ready, resize {height}, change {hash, totals}, error {message}
//   from the host  init {hash, theme, locale}, setConfig {hash}, setTheme {theme}, getResult
//
// The list is closed: anything else is ignored, and nothing in a message is ever read as markup. The calculator itself
// knows none of this: it follows the address's fragment, and writes its result to the root element's data-result.
(() => {
  const root = document.documentElement;
  const setTheme = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  const query = new URLSearchParams(location.search);
  setTheme(query.get("theme"));

  // The program that draws the view, its style sheet, and its files, which are fetched while the document is still read.
  const isFull = query.get("view") === "full";
  root.dataset.program = isFull ? "page" : "light-embed";
  const { src } = document.currentScript;
  const link = (file, attributes) => {
    const element = document.createElement("link");
    document.head.append(Object.assign(element, { href: new URL(file + new URL(src).search, src).href, ...attributes }));
  };
  link(isFull ? "style.css" : "light-embed.css", { rel: "stylesheet", blocking: "render" });
  link(`${root.dataset.program}.js`, { rel: "modulepreload" });
  link(`${root.dataset.program}_bg.wasm`, { rel: "preload", as: "fetch", type: "application/wasm", crossOrigin: "" });

  // Opened on its own, there is nobody to talk to.
  if (parent === window) return;

  // The origin that the first init came from; from then on nobody else is listened to or answered.
  let host;
  let height = 0;
  let sent = 0;
  let waiting;
  const post = (type, content) => {
    // A sandboxed host has no origin that could be named.
    if (host !== undefined) parent.postMessage({ mm: 1, type, ...content }, host === "null" ? "*" : host);
  };

  const result = () => {
    try {
      return JSON.parse(root.dataset.result);
    } catch {
      return undefined;
    }
  };
  const measure = () => {
    waiting = undefined;
    const now = Math.ceil(document.body.getBoundingClientRect().height);
    if (now === height) return;
    height = now;
    sent = performance.now();
    post("resize", { height: Math.min(Math.max(now, 120), 4000) });
  };
  // Ten times a second at most: a host that answers a height with another width must not run in circles.
  const grown = () => {
    waiting ??= setTimeout(measure, Math.max(0, 100 - (performance.now() - sent)));
  };
  const ready = () => {
    if (host === undefined || !result()) return;
    post("ready");
    height = 0;
    measure();
    post("change", result());
  };

  const setConfig = ({ hash }) => {
    // Printable characters after a number sign: it can never lead anywhere but to another fragment.
    if (typeof hash === "string" && /^#[!-~]{1,8191}$/.test(hash) && hash !== location.hash) location.replace(hash);
  };
  const known = {
    __proto__: null,
    init: (message) => {
      setTheme(message.theme);
      setConfig(message);
      ready();
    },
    setConfig,
    setTheme: ({ theme }) => setTheme(theme),
    getResult: () => post("change", result()),
  };
  addEventListener("message", ({ source, origin, data }) => {
    if (source !== parent || typeof data !== "object" || data?.mm !== 1 || typeof data.type !== "string") return;
    if (host === undefined ? data.type !== "init" : origin !== host) return;
    host = origin;
    known[data.type]?.(data);
  });

  let started = false;
  new MutationObserver(() => {
    if (started) post("change", result());
    else ready();
    started = true;
  }).observe(root, { attributeFilter: ["data-result"] });
  addEventListener("DOMContentLoaded", () => {
    new ResizeObserver(grown).observe(document.body);
    const recover = document.getElementById("recover");
    new MutationObserver(() => {
      if (!recover.hidden) post("error", { message: recover.querySelector("#recover-reason").textContent });
    }).observe(recover, { attributeFilter: ["hidden"] });
  });
})();
