// Starts the calculator. When it cannot start, or stops later, shows what the reader can do.
// A file of its own because the content security policy of the page allows no inline script.

// The same version on every file: a cache can then never mix two releases.
const version = new URL(import.meta.url).search;

const recover = (reason) => {
  document.getElementById("loading")?.remove();
  const panel = document.getElementById("recover");
  document.getElementById("recover-reason").textContent = reason;
  // An empty `href` is the page itself without its fragment, and the fragment is what must survive.
  document.getElementById("recover-reload").onclick = (event) => {
    event.preventDefault();
    location.reload();
  };
  panel.hidden = false;
};

// A panic ends as a trap, whichever event handler it happened in. The message is in the console.
let parts;
const stopped = (error) =>
  error instanceof WebAssembly.RuntimeError &&
  !parts?.again(error) &&
  recover("This is a mistake in the calculator, not in your settings.");
addEventListener("error", (event) => stopped(event.error));
addEventListener("unhandledrejection", (event) => stopped(event.reason));

// Import, export and the layout search are loaded with the first use: by a button, a dropped file or a pasted text.
const exchange = async (kind, file) => {
  try {
    (await import(`./exchange.js${version}`)).open(kind, file);
  } catch (error) {
    console.error(error);
    const dialog = document.createElement("dialog");
    dialog.textContent = `This part of the calculator could not be loaded (${error}). Reload the page.`;
    document.body.append(dialog);
    dialog.showModal();
  }
};
const embedded = document.documentElement.classList.contains("embed");
if (!embedded) {
  addEventListener("click", ({ target }) => {
    const kind = target.closest?.("[data-exchange]")?.dataset.exchange;
    if (kind) exchange(kind);
  });
  addEventListener("dragover", (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
  addEventListener("drop", (event) => {
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    exchange("import", file);
  });
  addEventListener("paste", ({ target, clipboardData }) => {
    const text = clipboardData?.getData("text");
    if (text && !target.closest("input, textarea, dialog")) exchange("import", new File([text], "the clipboard"));
  });
}

if (typeof WebAssembly === "undefined") {
  recover("It needs WebAssembly, which this browser lacks or has switched off.");
} else {
  try {
    const name = embedded ? "megatron-memory-embed" : "megatron-memory";
    const glue = import(`./${name}.js${version}`);
    if (embedded) parts = await import(`./parts.js${version}`);
    const wasm = await (await glue).default({ module_or_path: new URL(`./${name}_bg.wasm${version}`, import.meta.url) });
    await parts?.start(await glue, wasm, (error) => recover(`A part of it could not be loaded (${error}).`));
  } catch (error) {
    if (!parts?.again(error)) {
      console.error(error);
      recover(`It could not be started (${error}).`);
    }
  }
}
