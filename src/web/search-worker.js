// A worker of the layout search: asks about a range of combinations, and tells what it found in parts.
const version = new URL(import.meta.url).search;

const load = async () => {
  const module = await import(`./api/megatron_memory.js${version}`);
  await module.default({ module_or_path: new URL(`./api/megatron_memory_bg.wasm${version}`, import.meta.url) });
  return module;
};
const loaded = load();

/** Milliseconds that a part is to take: the progress is told that often. */
const PART = 100;
let steps = 16;

onmessage = async ({ data: [job, options] }) => {
  try {
    const { search } = await loaded;
    let { from } = options;
    do {
      const began = performance.now();
      const report = search(job, { ...options, from, steps });
      steps = Math.max(1, Math.min(4096, Math.round((steps * PART) / (performance.now() - began + 1))));
      from = report.next;
      // The page makes the settings of a layout from its number.
      for (const layout of report.candidates) delete layout.settings;
      postMessage([report]);
    } while (from !== null);
  } catch (error) {
    postMessage([undefined, error.message]);
  }
};
