// How long calls of the JavaScript API take in Node: `node benches/api.mjs` after `cargo xtask build`.

import { readFileSync } from "node:fs";

const folder = new URL("../dist/api/", import.meta.url);
const api = await import(new URL("megatron_memory.js", folder));
api.initSync({ module: readFileSync(new URL("megatron_memory_bg.wasm", folder)) });

/** Milliseconds of warming up before, and of measuring for, each row. */
const WARM_UP = 500;
const MEASURE = 2000;

/** The times of single calls of `work` in microseconds, in rising order. */
const times = (work) => {
  for (const end = performance.now() + WARM_UP; performance.now() < end; ) work();
  const times = [];
  for (const end = performance.now() + MEASURE; performance.now() < end; ) {
    const start = performance.now();
    work();
    times.push((performance.now() - start) * 1000);
  }
  return times.sort((a, b) => a - b);
};

const job = JSON.parse(readFileSync(new URL("../tests/jobs/deepseek_v3_2048.json", import.meta.url)));
const layouts = { vary: ["tensor_model_parallel_size", "expert_model_parallel_size"] };
const { legal } = api.search(job, layouts);
const rows = {
  "estimate(DeepSeek-V3 on 2048 GPUs)": () => api.estimate(job),
  "validate(DeepSeek-V3 on 2048 GPUs)": () => api.validate(job),
  "search(DeepSeek-V3 on 2048 GPUs), all TP by EP": () => api.search(job, layouts),
};
// Texts that no reader knows, as large as texts may be.
for (const [name, text] of [["one letter", "x".repeat(5e6)], ["open brackets", '{"a":['.repeat(8e5)], ["flags", "--a b ".repeat(8e5)]]) {
  rows[`importText(5 MB of ${name})`] = () => {
    try {
      api.importText(text);
    } catch {
      // Refused.
    }
  };
}

console.log("| call | median µs | 95th percentile µs | calls |\n|---|---:|---:|---:|");
for (const [name, work] of Object.entries(rows)) {
  const sorted = times(work);
  const at = (share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(1);
  console.log(`| ${name} | ${at(0.5)} | ${at(0.95)} | ${sorted.length} |`);
}
console.log(`\nThe search finds ${legal} layouts, so it makes that many estimates, and asks whether Megatron runs the others.`);
