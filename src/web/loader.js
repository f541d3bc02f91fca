// Starts the calculator, and tells the reader what to do when it cannot start or stops later.
//
// A file of its own, because the content security policy allows no inline script, and a classic script, because a frame
// without an origin may always run those: a module would need the server's permission, and nobody could say that it is
// missing.
(() => {
  const own = new URL(document.currentScript.src);
  // The same version on every file: a cache can then never mix two releases.
  const beside = (file) => new URL(file + own.search, own).href;

  /** Milliseconds after which a reader who still waits is told so. */
  const PATIENCE = 20_000;
  /** Milliseconds after the start before the browser fetches all files for visits without a network. */
  const QUIET = 5_000;

  /** Milliseconds that the first view's paint is waited for. */
  const FIRST_PAINT = 1_000;

  const recover = (reason) => {
    clearTimeout(waiting);
    document.getElementById("loading")?.remove();
    const panel = document.getElementById("recover");
    document.getElementById("recover-reason").textContent = reason;
    // An empty `href` is the page itself without its fragment, and the fragment holds the settings.
    document.getElementById("recover-reload").onclick = (event) => {
      event.preventDefault();
      location.reload();
    };
    // An open dialog would lie above the panel, and nothing in it works any more.
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
    panel.hidden = false;
  };
  const waiting = setTimeout(() => {
    const status = document.getElementById("loading");
    if (status) status.textContent = "The calculator is still loading. If this takes much longer, reload the page.";
  }, PATIENCE);

  // A panic ends as a trap in whichever event handler it happened. Its message is in the console.
  const stopped = (error) =>
    error instanceof WebAssembly.RuntimeError && recover("This is a mistake in the calculator, not in your settings.");
  addEventListener("error", (event) => stopped(event.error));
  addEventListener("unhandledrejection", (event) => stopped(event.reason));

  /** The compiled module; its address where the server or the browser has no stream to compile. */
  const compiled = async (address) => {
    try {
      return await WebAssembly.compileStreaming(fetch(address));
    } catch {
      return address;
    }
  };

  /**
   * Waits until the browser has reported the paint of the first view: an element that is replaced before its paint is
   * reported counts as never painted, and the largest paint would be whatever comes last.
   */
  const painted = () =>
    new Promise((done) => {
      const kind = "largest-contentful-paint";
      const isReported = globalThis.PerformanceObserver?.supportedEntryTypes?.includes(kind);
      if (!isReported || document.visibilityState === "hidden") return done();
      new PerformanceObserver((_, observer) => {
        observer.disconnect();
        done();
      }).observe({ type: kind, buffered: true });
      setTimeout(done, FIRST_PAINT);
    });

  /** The program to start: the page, unless `frame.js` has chosen another for an embed. */
  const program = document.documentElement.dataset.program ?? "page";

  const start = async () => {
    const [{ default: init }, module] = await Promise.all([
      import(beside(`${program}.js`)),
      compiled(beside(`${program}_bg.wasm`)),
      painted(),
    ]);
    await init({ module_or_path: module });
    clearTimeout(waiting);
    const update = document.getElementById("update");
    // Builds that reload themselves while somebody edits keep nothing.
    if (update && !document.querySelector("script[src*='reload.js']")) setTimeout(() => keep(update), QUIET);
  };

  /** Lets the service worker keep this version, and asks the reader before a newer one takes over. */
  const keep = async (notice) => {
    try {
      const { serviceWorker } = navigator;
      const registration = await serviceWorker.register(new URL("service-worker.js", own));
      const ask = () => {
        // Without a controller this is the first visit, and nothing is replaced.
        if (!registration.waiting || !serviceWorker.controller) return;
        notice.querySelector("[name=update]").onclick = () => registration.waiting?.postMessage("activate");
        notice.querySelector("[name=later]").onclick = () => (notice.hidden = true);
        notice.hidden = false;
      };
      ask();
      registration.addEventListener("updatefound", () => registration.installing?.addEventListener("statechange", ask));
      // Every tab goes along: what it fetches from now on is of the new version. The address holds its settings.
      let controlled = serviceWorker.controller !== null;
      serviceWorker.addEventListener("controllerchange", () => {
        if (controlled) location.reload();
        controlled = true;
      });
    } catch {
      // Storage may be denied, or the host insecure: then the page needs its host at every visit.
    }
  };
  if (typeof WebAssembly === "undefined") {
    recover("It needs WebAssembly, which this browser lacks or has switched off.");
  } else {
    start().catch((error) => {
      console.error(error);
      const denied =
        origin === "null"
          ? " This frame has no origin, so the calculator's server must send Access-Control-Allow-Origin: *."
          : "";
      recover(`It could not be started (${error}).${denied}`);
    });
  }
})();
