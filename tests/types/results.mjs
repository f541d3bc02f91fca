// Writes results of the built API as TypeScript that claims their types: `node tests/types/results.mjs FILE`.
import { writeFileSync } from "node:fs";

import { api } from "../api/load.mjs";

const literal = (value) => {
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value)) return `[${value.map(literal)}]`;
  if (value === null || typeof value !== "object") return value === undefined ? "undefined" : JSON.stringify(value);
  return `{${Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${literal(inner)}`)}}`;
};

const all = api.presets();
const [dense, huge] = [all.find(({ id }) => id === "llama3-8b"), all.find(({ id }) => id === "deepseek-v3")];
const modules = all.find(({ kind }) => kind === "modules");
const options = { rank: 1, timeline: 5, ledger: true, methods: true, reserved: true };
const script = "TP=${TP:-2}\nif [ $BIG ]; then A=(--num-layers 8); fi\ntorchrun a.py --num-layers 4 --frobnicate ${A[@]} --bf16";
const swift = "megatron sft --model Qwen/Qwen3-8B --num_train_epochs 2 --micro_batch_size 2";
const link = `#v1;m=llama3-8b@1;tp=2;tab=table;stage=1;novel=1;vs;m=gpt2@1`;
const named = (call) => {
  try {
    call();
  } catch ({ message }) {
    return message.split("there are ")[1].split(", ");
  }
};
const formats = named(() => api.exportText(dense.job, "none of them"));
const results = [
  ["Estimate", api.estimate(dense.job, options)],
  ["Estimate", api.estimate(huge.job, options)],
  ["Estimate", api.estimate(modules.job, options)],
  ["Estimate", api.estimate(dense.job)],
  ["Estimate", api.estimate({ ...huge.job, gpu: "h100-80gb" })],
  ["Problem[]", api.validate({ ...dense.job, tensor_model_parallel_size: 3, num_layer: 2 })],
  ["Problem[]", api.validate({ ...modules.job, world_size: 7 })],
  ["RankInfo", api.rankInfo(modules.job, 1)],
  ["ComponentSpec", api.parseComponentSpec("vision=tp=2,dp=4")],
  ["Record<string, ModuleParallelism>", api.buildLayout(["language=tp=2", "vision=tp=1"], 16)],
  ["MegatronLmReport", api.megatronLmReport({}, null)],
  ["Preset[]", all],
  ["ExportFormat[]", formats],
  ["Import", api.importText(script)],
  ["Import", api.importText(swift)],
  ["Import", api.importText(link)],
  ["Link", api.decodeLink(link)],
  ["Layouts", api.search(dense.job, { steps: 40, keep: "legal" })],
  ["Layouts", api.search(dense.job, { vary: ["recompute_granularity"], explain: 0 })],
  ["Fit", api.fit(dense.job)],
  ["Fit", api.fit({ ...dense.job, micro_batch_size: 64, global_batch_size: 512 })],
  ["Limits", api.limits(dense.job)],
  ["Link", api.decodeLink("#v1;m=gpt2@1")],
];
const names = [...new Set(results.map(([type]) => type.match(/[A-Z]\w+(?=\[|>|$)/)[0]))];
const lines = results.map(([type, value], at) => `export const result${at}: ${type} = ${literal(value)};`);
writeFileSync(process.argv[2], `import type { ${names.join(", ")} } from "megatron-memory";\n${lines.join("\n")}\n`);
