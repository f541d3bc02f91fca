// The dialogs for import, export and the layout search, loaded with the first use. What they show and what follows from an input is decided
// in the module that also reads and writes the formats; here is what only a browser can do. The calculator itself knows
// nothing of them: a dialog starts from the page's address and ends by changing its fragment, which the page follows.
const version = new URL(import.meta.url).search;
const { search } = await import(`./search.js${version}`);
const { default: start, Dialog } = await import(`./api/megatron_memory.js${version}`);
await start({ module_or_path: new URL(`./api/megatron_memory_bg.wasm${version}`, import.meta.url) });

/** Longer texts are read as files: an input that shows them would hold up the page. */
const LONG = 200_000;
/** More of a file is not read. */
const MOST = 5_000_001;

// Elements are [tag, [name, value, …], text, children]. Only what differs from before is changed, so that the focus and
// what was typed stay.
const NOTHING = ["", [], "", []];
const named = (attributes) => new Map(Array.from({ length: attributes.length / 2 }, (_, i) => attributes.slice(2 * i, 2 * i + 2)));
const valueOf = ([, attributes], name) => attributes[attributes.indexOf(name) + 1 || attributes.length];
const alike = (old, now) => old[0] === now[0] && ["data-at", "data-key"].every((name) => valueOf(old, name) === valueOf(now, name));
const equal = (a, b) => a === b || (Array.isArray(a) && a.length === b.length && a.every((part, i) => equal(part, b[i])));

const change = (element, old, now) => {
  if (equal(old, now)) return;
  const [before, after] = [named(old[1]), named(now[1])];
  for (const name of before.keys()) if (!after.has(name)) element.removeAttribute(name);
  for (const [name, value] of after) if (before.get(name) !== value) element.setAttribute(name, value);
  if (now[3].length === 0) {
    if (old[3].length > 0 || old[2] !== now[2]) element.textContent = now[2];
  } else {
    if (old[3].length === 0) element.textContent = "";
    fill(element, old[3], now[3]);
  }
  if (now[0] === "option") element.selected = after.has("selected");
};

// Of children with a key, those that stay keep their elements, wherever they stand then.
const keyOf = (markup) => markup && valueOf(markup, "data-key");
const fill = (parent, old, now) => {
  const was = [...old];
  const keys = (children) => new Set(children.map(keyOf).filter((key) => key !== undefined));
  const [known, kept] = [keys(old), keys(now)];
  now.forEach((child, i) => {
    if (known.has(keyOf(child))) {
      while (keyOf(was[i]) !== undefined && !kept.has(keyOf(was[i]))) {
        parent.children[i].remove();
        was.splice(i, 1);
      }
    }
    const there = parent.children[i];
    if (there && was[i] && alike(was[i], child)) return change(there, was[i], child);
    const element = document.createElement(child[0]);
    change(element, NOTHING, child);
    if (!there) {
      parent.append(element);
    } else if (kept.has(keyOf(was[i]))) {
      there.before(element);
      was.splice(i, 0, child);
    } else {
      there.replaceWith(element);
    }
  });
  while (parent.children.length > now.length) parent.lastElementChild.remove();
};

const element = document.createElement("dialog");
element.className = "exchange";
element.setAttribute("aria-labelledby", "exchange-title");
document.body.append(element);

let kind;
let dialog;
let shown = [];
const draw = () => {
  const now = dialog.draw();
  fill(element, shown, now);
  shown = now;
};

// What a search finds is shown ten times a second at most.
let waiting;
const found = (report) => {
  follow(dialog.take(report));
  waiting ??= setTimeout(() => {
    waiting = undefined;
    if (dialog) draw();
  }, 100);
};

const save = (blob, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

// Twice the size, for screens with small pixels.
const pixels = async (svg) => {
  const picture = new Image();
  picture.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  await picture.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * picture.naturalWidth, 2 * picture.naturalHeight];
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(picture.src);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
};

const say = (text) => {
  const line = element.querySelector("#exchange-said");
  if (line) line.textContent = text;
};

const effects = {
  copy: async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      say("It is on the clipboard.");
    } catch {
      // Where the browser does not allow that, the reader can.
      getSelection().selectAllChildren(element.querySelector("pre, img"));
      say("The browser does not let the page use the clipboard. The text is selected.");
    }
  },
  download: (text, name) => save(new Blob([text]), name),
  picture: async (svg, name) => save(await pixels(svg), name),
  // The only request that leaves the page, and the reader has seen its address. No cookie goes with it.
  fetch: async (address) => {
    const asking = dialog;
    const [fate, text] = await fetch(address, { credentials: "omit", referrerPolicy: "no-referrer", signal: AbortSignal.timeout(30_000) })
      .then(async (got) => (got.ok ? ["fetched", await (await got.blob()).slice(0, MOST).text()] : ["refused", `${got.status}`]))
      .catch(({ message }) => ["refused", message]);
    if (dialog === asking) act(`${fate}:${address}`, text);
  },
  open: (link) => {
    element.close();
    location.hash = link;
  },
  search: (task, total) => search.start(task, total, found, (why) => act("failed", why)),
  explain: (index) => search.explain(index),
  stop: () => search.stop(),
  close: () => element.close(),
};

const follow = (effect) => effect && effects[effect[0]](effect[1], effect[2]);
const act = (place, value) => {
  const effect = dialog.act(place, value);
  draw();
  follow(effect);
};

const take = async (file) => act(`file:${file.name}`, await file.slice(0, MOST).text());

const place = (event) => event.target.closest("[data-at]")?.dataset.at;
element.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-at]");
  if (button) act(button.dataset.at, "");
  // What it waits for.
  if (button?.ariaDisabled) element.querySelector("[aria-invalid]")?.focus();
});
element.addEventListener("input", (event) => {
  if (event.target.type === "file") {
    if (event.target.files[0]) take(event.target.files[0]);
  } else if (place(event)) {
    act(place(event), event.target.value);
  }
});
// Of a long table only what is in sight is there, and some rows around it: others are needed a few hundred pixels later.
let seen;
element.addEventListener(
  "scroll",
  ({ target }) => {
    const place = Math.floor(target.scrollTop / 400);
    if (target.dataset.at !== "scroll" || place === seen) return;
    seen = place;
    act("scroll", String(target.scrollTop));
  },
  true,
);
element.addEventListener("paste", (event) => {
  const text = event.clipboardData?.getData("text") ?? "";
  if (text.length > LONG && place(event) === "text") {
    event.preventDefault();
    act("file:the clipboard", text);
  }
});
// What is not on the screen needs no memory, but for a text to import and the answers to its questions.
let kept;
const leave = () => {
  search.stop();
  if (kind === "import") kept = dialog;
  else dialog?.free();
  dialog = undefined;
  fill(element, shown, []);
  shown = [];
};
// It comes late: another one may be open by then.
element.addEventListener("close", () => element.open || leave());

/** Opens a dialog, `import`, `export` or `search`; a file is read at once. */
export const open = (wanted, file) => {
  if (!dialog || kind !== wanted) {
    if (dialog) leave();
    // The page writes its address when typing ends: now.
    dispatchEvent(new Event("focusout"));
    kind = wanted;
    dialog = (kind === "import" && kept) || new Dialog(kind, location.href);
    dialog.act("page", location.href);
    draw();
    if (!element.open) element.showModal();
    // What is pasted replaces it.
    element.querySelector("[data-at=text]")?.select();
  }
  if (file) take(file);
};
