// The calculator of an embed comes in two parts: what a look at it takes, and the rest. The rest is loaded before
// anything that the reader does reaches the calculator; until then there is nothing that could be lost. A job that
// cannot even be shown without it is opened again, with both.
const { search: version } = new URL(import.meta.url);
const page = new URL(location);

// These views show what others only show when asked.
let whole = page.searchParams.has("whole") || ["full", "sweep", "table", "timeline"].includes(page.searchParams.get("view"));

const load = async () => {
  const response = await fetch(new URL(`./megatron-memory-embed_rest.wasm${version}`, import.meta.url));
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.arrayBuffer();
};
// Beside the first part, not after it.
const rest = whole && load();
rest.catch?.(() => {});

// All that the calculator listens to but the end of the page, before which there is nothing to keep.
const kinds = "pointerover pointermove pointerleave focusin focusout click keydown input change submit popstate hashchange".split(" ");

// Keeps from the calculator what happens until `add` has added the rest, and then lets it happen.
const hold = (add, failed) => {
  const root = document.getElementById("app");
  let held = [];
  let adding;
  let passing = false;
  const release = async () => {
    try {
      await add();
    } catch (error) {
      // Somebody who only points somewhere can do so again.
      if (held.some(([, { type }]) => !/^(pointer|focus)/.test(type))) failed(error);
      held = [];
      adding = undefined;
      return;
    }
    whole = true;
    for (const [target, event, value] of held) {
      // What followed from another field may have put back what this one held.
      if (value !== undefined && target.value !== value) target.value = value;
      passing = true;
      target.dispatchEvent(event);
      passing = false;
      // What follows from one is done before the next.
      await undefined;
    }
    for (const kind of kinds) removeEventListener(kind, take, true);
  };
  const take = (event) => {
    const { type, target, pointerType } = event;
    if (passing || (target !== window && !root.contains(target))) return;
    event.stopImmediatePropagation();
    // The calculator takes notice of what has a place in it, and not of fingers that only point.
    if (target !== window && !target.closest("[data-at]")) return;
    if (type.startsWith("pointer") && pointerType !== "mouse") return;
    // The copy of a click does what the click would have done, but for the lists and keyboards that only a reader opens.
    if (type === "submit" || (type === "click" && !target.matches("select, [type=text]"))) event.preventDefault();
    const written = type === "input" || type === "change";
    held.push([target, new event.constructor(type, event), written ? target.value : undefined]);
    adding ??= release();
  };
  for (const kind of kinds) addEventListener(kind, take, true);
};

// Starts the calculator of the script `glue`, whose wasm exports are `first`. `failed` hears that the rest cannot be had.
export const start = async (glue, first, failed) => {
  const add = async (bytes) => WebAssembly.instantiate(await bytes, { "./first": first });
  if (whole) await add(rest);
  else hold(() => add(load()), failed);
  glue.start();
};

// Whether an error only means that the rest is missing. If so, the page is about to be opened again.
export const again = (error) => {
  if (whole || !(error instanceof WebAssembly.RuntimeError)) return false;
  whole = true;
  page.hash = location.hash;
  page.searchParams.set("whole", "");
  location.replace(page);
  return true;
};
