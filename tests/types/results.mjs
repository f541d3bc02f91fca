// Writes results of the built API as TypeScript that claims their types: `node tests/types/results.mjs FILE`.
import { readFileSync, writeFileSync } from "node:fs";

const api = new URL("../../dist/api/", import.meta.url);
const engine = await import(new URL("megatron_memory.js", api));
engine.initSync({ module: readFileSync(new URL("megatron_memory_bg.wasm", api)) });

const literal = (value) => {
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value)) return `[${value.map(literal)}]`;
  if (value === null || typeof value !== "object") return value === undefined ? "undefined" : JSON.stringify(value);
  return `{${Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${literal(inner)}`)}}`;
};

const all = await engine.presets();
const [dense, huge] = [all.find(({ id }) => id === "llama3-8b"), all.find(({ id }) => id === "deepseek-v3")];
const modules = all.find(({ kind }) => kind === "modules");
const options = { rank: 1, timeline: 5, ledger: true };
const script = "TP=${TP:-2}\nif [ $BIG ]; then A=(--num-layers 8); fi\ntorchrun a.py --num-layers 4 --frobnicate ${A[@]} --bf16";
const swift = "megatron sft --model Qwen/Qwen3-8B --num_train_epochs 2 --micro_batch_size 2";
const link = `#v1;m=llama3-8b@1;tp=2;tab=table;stage=1;novel=1;vs;m=gpt2@1`;
const formats = await engine.exportText(dense.job, "none of them").catch(({ message }) => message.split("there are ")[1].split(", "));
const results = [
  ["Estimate", engine.estimate(dense.job, options)],
  ["Estimate", engine.estimate(huge.job, options)],
  ["Estimate", engine.estimate(modules.job, options)],
  ["Estimate", engine.estimate(dense.job)],
  ["Problem[]", engine.validate({ ...dense.job, tensor_model_parallel_size: 3, num_layer: 2 })],
  ["Problem[]", engine.validate({ ...modules.job, world_size: 7 })],
  ["RankInfo", engine.rankInfo(modules.job, 1)],
  ["ComponentSpec", engine.parseComponentSpec("vision=tp=2,dp=4")],
  ["Record<string, ModuleParallelism>", engine.buildLayout(["language=tp=2", "vision=tp=1"], 16)],
  ["MegatronLmReport", engine.megatronLmReport({}, null)],
  ["Preset[]", all],
  ["ExportFormat[]", formats],
  ["Import", await engine.importText(script)],
  ["Import", await engine.importText(swift)],
  ["Import", await engine.importText(link)],
  ["Link", await engine.decodeLink(link)],
  ["Layouts", await engine.search(dense.job, { steps: 40, keep: "legal" })],
  ["Layouts", await engine.search(dense.job, { vary: ["recompute_granularity"], explain: 0 })],
  ["Link", await engine.decodeLink("#v1;m=gpt2@1")],
];
const names = [...new Set(results.map(([type]) => type.match(/[A-Z]\w+(?=\[|>|$)/)[0]))];
const lines = results.map(([type, value], at) => `export const result${at}: ${type} = ${literal(value)};`);
writeFileSync(process.argv[2], `import type { ${names.join(", ")} } from "megatron-memory";\n${lines.join("\n")}\n`);
