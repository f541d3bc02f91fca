// The JavaScript API, as built, in Node: `node --test tests/engine.test.mjs` after `cargo xtask build`.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const api = new URL("../dist/api/", import.meta.url);
const engine = await import(new URL("megatron_memory.js", api));
engine.initSync({ module: readFileSync(new URL("megatron_memory_bg.wasm", api)) });

test("it is the version that the manifest names", () => {
  const manifest = readFileSync(new URL("../Cargo.toml", import.meta.url), "utf8");
  assert.equal(engine.version(), manifest.match(/^version = "(.*)"$/m)[1]);
});

test("every export has a type", () => {
  const types = readFileSync(new URL("megatron_memory.d.ts", api), "utf8");
  for (const name of Object.keys(engine).filter((name) => name !== "default")) {
    assert.match(types, new RegExp(`export (function|class) ${name}\\b`), name);
  }
});

const oracle = new URL("oracle/", import.meta.url);
const json = (path) => JSON.parse(readFileSync(new URL(path, oracle)));

test("parameters are exact on every rank of every case", () => {
  let ranks = 0;
  for (const file of readdirSync(new URL("params/", oracle))) {
    const { config, error, ...expected } = json(`params/${file}`);
    if (error) {
      assert.throws(() => engine.estimate(config), { name: "ConfigError" }, file);
      continue;
    }
    const result = engine.estimate(config);
    for (const rank of expected.ranks) {
      const chunk = result.stages[rank.pp_rank].chunks[rank.vpp ?? 0];
      const { total, tp_sharded, replicated, expert, components } = chunk.parameters;
      assert.deepEqual(components, rank.counts, file);
      assert.equal(total, rank.total, file);
      assert.deepEqual({ tp_sharded, replicated, expert }, { tp_sharded: 0, replicated: 0, expert: 0, ...rank.by_sharding }, file);
      assert.deepEqual(chunk.layers, rank.layers, file);
      ranks += 1;
    }
    assert.equal(result.parameters.total, expected.global_total_parameters, file);
    assert.equal(result.derived.data_parallel_size, config.data_parallel_size, file);
    assert.equal(result.derived.padded_vocab_size, config.padded_vocab_size, file);
  }
  assert.ok(ranks > 300, `${ranks}`);
});

const dense = {
  num_layers: 16, hidden_size: 1024, num_attention_heads: 16, vocab_size: 50257, max_position_embeddings: 4096,
  seq_length: 4096, world_size: 8, pipeline_model_parallel_size: 4, bf16: true,
};

test("the buckets of a stage add up to its total", () => {
  for (const { memory } of engine.estimate(dense).stages) {
    const { total, ...buckets } = memory;
    assert.equal(Object.values(buckets).reduce((sum, bytes) => sum + bytes, 0), total);
  }
});

test("an invalid job throws one error with every problem", () => {
  const job = { ...dense, world_size: 7, num_attention_heads: "many" };
  try {
    engine.estimate(job);
    assert.fail("it should throw");
  } catch (error) {
    assert.equal(error.name, "ConfigError");
    assert.ok(error instanceof Error);
    const fields = error.problems.flatMap((problem) => problem.fields);
    assert.ok(fields.includes("world_size") && fields.includes("num_attention_heads"), fields.join());
    assert.deepEqual(engine.validate(job), error.problems);
  }
  assert.deepEqual(engine.validate(dense), []);
});

test("numbers that JavaScript cannot hold are BigInt", () => {
  const huge = { ...dense, num_layers: 10000, hidden_size: 1000000, num_attention_heads: 1000, ffn_hidden_size: 10000000 };
  const { parameters } = engine.estimate(huge);
  assert.equal(typeof parameters.total, "bigint");
  const matrix = 10000n * (4n * 1000000n * 1000000n + 2n * 1000000n * 10000000n);
  assert.ok(parameters.total > matrix && parameters.total < matrix + matrix / 100n);
  assert.equal(typeof engine.estimate({ ...dense, hidden_size: 1024n }).parameters.total, "number");
});

test("unknown keys are a warning that names them", () => {
  const { warnings } = engine.estimate({ ...dense, num_layer: 3 });
  assert.ok(warnings.some((warning) => warning.includes("num_layer") && warning.includes("num_layers")));
});

const bits = (expected, actual, path) => {
  if (typeof expected === "number" || expected === null || typeof expected !== "object") {
    assert.ok(Object.is(expected, actual), `${path}: expected ${expected}, got ${actual}`);
    return;
  }
  assert.deepEqual(Object.keys(actual).sort(), Object.keys(expected).sort(), path);
  for (const key of Object.keys(expected)) bits(expected[key], actual[key], `${path}.${key}`);
};

test("Megatron-LM's report has every field of every record", () => {
  const { records } = json("reference/megatron_lm_theoretical_memory.json");
  for (const { id, args, num_microbatches, note, ...expected } of records) {
    bits(expected, engine.megatronLmReport(args, num_microbatches), id);
  }
  assert.ok(records.length > 400);
});

test("an object that contains itself, or is nested without end, is refused", () => {
  const inside = {};
  inside.num_layers = inside;
  assert.throws(() => engine.estimate(inside), /nested 32 deep/);
  const twice = {};
  Object.assign(twice, { a: twice, b: twice });
  assert.throws(() => engine.validate(twice), /nested|too many/);
  const wide = { modules: new Array(300_000).fill(1) };
  assert.throws(() => engine.validate(wide), /too many/);
});

test("Megatron-Bridge's report has every field of every record, or throws its cause", () => {
  const { records } = json("reference/megatron_bridge_estimate.json");
  for (const record of records) {
    const { id, model, train, num_microbatches, include_activation, note, error, ...expected } = record;
    const input = { model, train, num_microbatches, include_activation };
    if (!error) {
      bits(expected, engine.megatronBridgeReport(input), id);
      continue;
    }
    const thrown = { name: error.type, message: error.message, ...expected };
    assert.throws(() => engine.megatronBridgeReport(input), thrown, id);
  }
  assert.ok(records.length > 390);
});

test("an estimate carries both reports and why they differ", () => {
  const { stages, reports } = engine.estimate({ ...dense, context_parallel_size: 2, use_distributed_optimizer: true });
  assert.ok(reports.megatron_lm.weight_and_optimizer_bytes > 0);
  assert.ok(reports.megatron_bridge.weight_and_optimizer_bytes > 0);
  const shard = reports.differences.find(({ id }) => id === "optimizer_shard");
  assert.deepEqual(shard.frameworks, ["Megatron-LM"]);
  assert.ok(shard.more_bytes > 0 && shard.more_bytes < stages[0].memory.total);
  assert.equal(shard.less_bytes, null);
});
