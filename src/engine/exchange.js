
// Importing and exporting is a module of its own, which is loaded when it is first needed.
let exchange;

function loadExchange() {
  exchange ??= (async () => {
    const module = await import("./megatron_memory_exchange.js");
    const wasm = new URL("megatron_memory_exchange_bg.wasm", import.meta.url);
    // Node fetches no files.
    const source = wasm.protocol === "file:" ? (await import(/* @vite-ignore */ "node:fs/promises")).readFile(wasm) : wasm;
    await module.default({ module_or_path: await source });
    return module;
  })().catch((error) => {
    exchange = undefined;
    throw error;
  });
  return exchange;
}

export async function importText(text, options) {
  return (await loadExchange()).importText(text, options);
}

export async function exportText(job, format, options) {
  return (await loadExchange()).exportText(job, format, options);
}

export async function encodeLink(job, options) {
  return (await loadExchange()).encodeLink(job, options);
}

export async function decodeLink(link) {
  return (await loadExchange()).decodeLink(link);
}

export async function presets() {
  return (await loadExchange()).presets();
}

export async function svg(job, chart, options) {
  return (await loadExchange()).svg(job, chart, options);
}

export async function search(job, options) {
  return (await loadExchange()).search(job, options);
}
