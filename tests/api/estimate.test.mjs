// Estimates, problems and framework reports through the JavaScript API, as built, in Node: `node --test tests/api/` after
// `cargo xtask build`.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { api, folder } from "./load.mjs";

test("it is the version that the manifest names", () => {
  const manifest = readFileSync(new URL("../../Cargo.toml", import.meta.url), "utf8");
  assert.equal(api.version(), manifest.match(/^version = "(.*)"$/m)[1]);
});

test("every export has a type", () => {
  const types = readFileSync(new URL("megatron_memory.d.ts", folder), "utf8");
  for (const name of Object.keys(api).filter((name) => name !== "default")) {
    assert.match(types, new RegExp(`export (function|class) ${name}\\b`), name);
  }
});

const oracle = new URL("../oracle/", import.meta.url);
const json = (path) => JSON.parse(readFileSync(new URL(path, oracle)));

test("parameters are exact on every rank of every case", () => {
  let ranks = 0;
  for (const file of readdirSync(new URL("params/", oracle))) {
    const { config, error, ...expected } = json(`params/${file}`);
    if (error) {
      assert.throws(() => api.estimate(config), { name: "ConfigError" }, file);
      continue;
    }
    const result = api.estimate(config);
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

test("the buffers of Megatron FSDP are exact in every case", () => {
  const files = readdirSync(new URL("fsdp/", oracle));
  assert.ok(files.length > 10, `${files.length}`);
  for (const file of files) {
    const { config, buffers } = json(`fsdp/${file}`);
    const expected = [];
    let layers = 0;
    for (const { units, groups } of buffers) {
      for (let i = 0; i < (units ?? 1); i += 1) {
        const unit = units === null ? null : layers;
        expected.push(...groups.map((group) => ({ unit, fp8: false, trained: true, ...group })));
        layers += units === null ? 0 : 1;
      }
    }
    const [stage] = api.estimate(config).stages;
    assert.deepEqual(stage.fsdp.map(({ name, ...group }) => group), expected, file);
    assert.equal(new Set(stage.fsdp.map(({ name }) => name)).size, expected.length, file);
  }
});

const dense = {
  num_layers: 16, hidden_size: 1024, num_attention_heads: 16, vocab_size: 50257, max_position_embeddings: 4096,
  seq_length: 4096, world_size: 8, pipeline_model_parallel_size: 4, bf16: true,
};

test("the buckets of a stage add up to its total", () => {
  for (const { memory } of api.estimate(dense).stages) {
    const { total, ...buckets } = memory;
    assert.equal(Object.values(buckets).reduce((sum, bytes) => sum + bytes, 0), total);
  }
});

test("only jobs with Megatron FSDP have its buffers", () => {
  for (const stage of api.estimate(dense).stages) assert.ok(!("fsdp" in stage));
});

test("an invalid job throws one error with every problem", () => {
  const job = { ...dense, world_size: 7, num_attention_heads: "many" };
  try {
    api.estimate(job);
    assert.fail("it should throw");
  } catch (error) {
    assert.equal(error.name, "ConfigError");
    assert.ok(error instanceof Error);
    const fields = error.problems.flatMap((problem) => problem.fields);
    assert.ok(fields.includes("world_size") && fields.includes("num_attention_heads"), fields.join());
    assert.deepEqual(api.validate(job), error.problems);
  }
  assert.deepEqual(api.validate(dense), []);
});

test("numbers that JavaScript cannot hold are BigInt", () => {
  const huge = { ...dense, num_layers: 10000, hidden_size: 1000000, num_attention_heads: 1000, ffn_hidden_size: 10000000 };
  const { parameters } = api.estimate(huge);
  assert.equal(typeof parameters.total, "bigint");
  const matrix = 10000n * (4n * 1000000n * 1000000n + 2n * 1000000n * 10000000n);
  assert.ok(parameters.total > matrix && parameters.total < matrix + matrix / 100n);
  assert.equal(typeof api.estimate({ ...dense, hidden_size: 1024n }).parameters.total, "number");
});

test("a BigInt beyond any field is a problem of its field", () => {
  for (const value of [2n ** 64n, 10n ** 30n, -(10n ** 30n), 10n ** 400n]) {
    const problems = api.validate({ ...dense, hidden_size: value });
    assert.deepEqual(problems.map(({ fields, severity }) => [...fields, severity]), [["hidden_size", "error"]], `${value}`);
    assert.throws(() => api.estimate({ ...dense, hidden_size: value }), { name: "ConfigError", message: /^hidden_size/ });
  }
  assert.throws(() => api.rankInfo(dense, 10n ** 400n), /rank must be a whole number/);
  assert.throws(() => api.rankInfo(dense, 10n ** 30n), /rank/);
});

test("unknown keys are a warning that names them", () => {
  const { warnings } = api.estimate({ ...dense, num_layer: 3 });
  assert.ok(warnings.some((warning) => warning.includes("num_layer") && warning.includes("num_layers")));
});

// Of most of Python's exceptions there is the class, and no message.
const bits = (expected, actual, path) => {
  if (path.endsWith(".message") && actual === "") return;
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
    bits(expected, api.megatronLmReport(args, num_microbatches), id);
  }
  assert.ok(records.length > 400);
});

test("an object that contains itself, or is nested without end, is refused", () => {
  const inside = {};
  inside.num_layers = inside;
  assert.throws(() => api.estimate(inside), /nested 32 deep/);
  const twice = {};
  Object.assign(twice, { a: twice, b: twice });
  assert.throws(() => api.validate(twice), /nested|too many/);
  const wide = { modules: new Array(300_000).fill(1) };
  assert.throws(() => api.validate(wide), /too many/);
});

test("Megatron-Bridge's report has every field of every record, or throws its cause", () => {
  const { records } = json("reference/megatron_bridge_estimate.json");
  for (const record of records) {
    const { id, model, train, num_microbatches, include_activation, note, error, ...expected } = record;
    const input = { model, train, num_microbatches, include_activation };
    if (!error) {
      bits(expected, api.megatronBridgeReport(input), id);
      continue;
    }
    assert.throws(() => api.megatronBridgeReport(input), (thrown) => {
      assert.equal(thrown.name, error.type, id);
      bits(error.message, thrown.message, `${id}.message`);
      for (const key of Object.keys(expected)) bits(expected[key], thrown[key], `${id}.${key}`);
      return true;
    });
  }
  assert.ok(records.length > 390);
});

test("an estimate carries both reports and why they differ", () => {
  const { stages, reports } = api.estimate({ ...dense, context_parallel_size: 2, use_distributed_optimizer: true });
  assert.ok(reports.megatron_lm.weight_and_optimizer_bytes > 0);
  assert.ok(reports.megatron_bridge.weight_and_optimizer_bytes > 0);
  const shard = reports.differences.find(({ id }) => id === "optimizer_shard");
  assert.deepEqual(shard.frameworks, ["Megatron-LM"]);
  assert.ok(shard.more_bytes > 0 && shard.more_bytes < stages[0].memory.total);
  assert.equal(shard.less_bytes, null);
});

const sum = (memory) => Object.entries(memory).reduce((all, [key, bytes]) => key === "total" ? all : all + bytes, 0);

test("every stage says when its peak is and what is alive then", () => {
  const { stages } = api.estimate({ ...dense, global_batch_size: 32 });
  assert.deepEqual(stages.map(({ in_flight }) => in_flight), [[4], [3], [2], [1]]);
  for (const stage of stages) {
    assert.equal(stage.peak_bytes, stage.memory.total);
    assert.ok(stage.steady_bytes < stage.peak_bytes);
    assert.ok(stage.peak_moment.description.includes(stage.peak_moment.pass));
    assert.equal(stage.timeline, undefined);
    const { low_bytes, high_bytes, parts } = stage.allowances;
    const of = (key) => parts.reduce((all, part) => all + part[key], stage.peak_bytes);
    assert.deepEqual([low_bytes, high_bytes], [of("low_bytes"), of("high_bytes")]);
    assert.ok(low_bytes < high_bytes && low_bytes > stage.peak_bytes);
  }
});

test("timelines have a point a step, and their highest one is the peak", () => {
  const { stages } = api.estimate({ ...dense, global_batch_size: 32 }, { timeline: true });
  for (const { timeline, peak_moment, peak_bytes } of stages) {
    assert.deepEqual([timeline.steps, timeline.points.length], [32, 32]);
    for (const { memory } of timeline.points) assert.equal(sum(memory), memory.total);
    const highest = timeline.points.reduce((a, b) => (b.memory.total > a.memory.total ? b : a));
    assert.deepEqual([highest.memory.total, highest.moment], [peak_bytes, peak_moment]);
  }
  const few = api.estimate({ ...dense, global_batch_size: 32, timeline: 5 });
  assert.deepEqual(few.warnings, []);
  assert.ok(few.stages.every(({ timeline, peak_bytes }) =>
    timeline.points.length <= 5 && timeline.points.some(({ memory }) => memory.total === peak_bytes)));
});

test("a rank can be asked for", () => {
  const whole = api.estimate(dense);
  assert.equal(whole.rank, null);
  for (const rank of [0, 3, 7]) {
    const { rank: report, stages } = api.estimate(dense, { rank, timeline: true });
    const stage = whole.stages[rank >> 1];
    assert.equal(report.rank, rank);
    assert.deepEqual(report.memory, stage.memory);
    assert.deepEqual([report.steady_bytes, report.peak_bytes], [stage.steady_bytes, stage.peak_bytes]);
    const [{ module, pp_rank, peak_moment, timeline }] = report.stages;
    assert.deepEqual([module, pp_rank, peak_moment], ["language", rank >> 1, stage.peak_moment]);
    assert.ok(timeline.points.length > 0 && stages.every(({ timeline }) => timeline === undefined));
    assert.deepEqual(api.estimate({ ...dense, rank }).rank.memory, report.memory);
  }
  for (const rank of [8, 1e9]) {
    assert.throws(() => api.estimate(dense, { rank }), { name: "RankError", message: /the job has ranks 0 to 7$/ });
  }
});

test("methods of training stand beside each other, and what adapters save adds up", () => {
  const { methods, saved_by_adapters } = api.estimate(dense, { methods: true });
  const current = Object.fromEntries(methods.map(({ name, current }) => [name, current]));
  assert.deepEqual(current, { full: true, adapters: false, fsdp: false });
  // In the order of searches: all weights before adapters alone, and what Megatron refuses last.
  const ranks = methods.map(({ refused, rank }) => (refused ? Infinity : rank));
  assert.deepEqual(ranks, ranks.toSorted((one, other) => one - other));
  const place = (wanted) => methods.findIndex(({ name }) => name === wanted);
  assert.ok(place("full") < place("adapters"));
  assert.deepEqual(saved_by_adapters, []);
  for (const { settings, peak_bytes, refused } of methods) {
    if (refused) assert.throws(() => api.estimate({ ...dense, ...settings }), (error) => error.message.includes(refused));
    else {
      const { stages, worst_stage } = api.estimate({ ...dense, ...settings });
      assert.equal(stages[worst_stage].peak_bytes, peak_bytes);
    }
  }
  const adapted = { ...dense, peft: { type: "dora", dim: 16 } };
  const result = api.estimate(adapted, { methods: true });
  assert.equal(result.methods.find(({ name }) => name === "adapters").settings.peft_type, "dora");
  const saved = result.saved_by_adapters.map(({ full_training_bytes, bytes }) => full_training_bytes - bytes);
  const full = api.estimate(dense).stages[result.worst_stage].peak_bytes;
  assert.equal(saved.reduce((sum, one) => sum + one, 0), full - result.stages[result.worst_stage].peak_bytes);
  assert.equal(api.estimate(dense).methods, null);
});

test("the ledger lists what every choice saves, and its settings make it so", () => {
  const { ledger, stages, worst_stage } = api.estimate({ ...dense, attention_backend: "unfused" }, { ledger: true });
  assert.deepEqual(ledger.filter(({ current }) => current).map(({ choice }) => choice), ["nothing"]);
  const peak = stages[worst_stage].peak_bytes;
  for (const { settings, saves_bytes, peak_bytes, refused, recomputed_flops } of ledger) {
    const job = { ...dense, attention_backend: "unfused", ...settings };
    if (refused) {
      assert.throws(() => api.estimate(job), (error) => error.message.includes(refused));
      continue;
    }
    assert.equal(api.estimate(job).stages[worst_stage].peak_bytes, peak_bytes);
    assert.equal(peak - peak_bytes, saves_bytes);
    assert.equal(recomputed_flops > 0, Boolean(settings.recompute_granularity));
  }
  assert.ok(ledger.find(({ choice }) => choice === "core_attn").saves_bytes > 0);
});

test("what the allocator reserves is what the command line says, where it is asked for", () => {
  const table = JSON.parse(readFileSync(new URL("../reserved.json", import.meta.url), "utf8"));
  const presets = api.presets();
  for (const { preset, reserved } of table) {
    const { job } = presets.find(({ id }) => id === preset);
    const { reserved: found, worst_rank } = api.estimate(job, { reserved: true });
    assert.deepEqual(found, reserved, preset);
    assert.ok(found.low_bytes >= worst_rank.memory.total, preset);
    assert.equal(api.estimate(job).reserved, null);
  }
  assert.ok(table.length >= 3);
  // Nothing is replayed where the job has factors of its own.
  assert.equal(api.estimate({ ...dense, reserved_over_allocated_high: 1.2 }, { reserved: true }).reserved, null);
  assert.deepEqual(api.estimate({ ...dense, reserved: true }), api.estimate(dense, { reserved: true }));
  assert.throws(() => api.estimate(dense, { reserve: true }), { name: "TypeError", message: /did you mean reserved/ });
});

test("the time of a step has its parts, or a reason why there is none", () => {
  const { job } = api.presets().find(({ id }) => id === "llama3-8b");
  const { time, time_reason } = api.estimate({ ...job, gpu: "h100-80gb" });
  assert.equal(time_reason, null);
  assert.ok(time.low_seconds < time.step_seconds && time.step_seconds < time.high_seconds);
  const sum = Object.values(time.parts).reduce((sum, seconds) => sum + seconds, 0);
  assert.ok(Math.abs(sum - time.step_seconds) < 1e-9 * time.step_seconds);
  assert.equal(Object.keys(time.parts).length, 9);
  assert.ok(time.mfu > 0.1 && time.mfu < 1 && time.tflops_per_gpu / 989 - time.mfu < 1e-9);
  assert.ok(time.parts[time.bottleneck] > 0);
  assert.match(time.bottleneck_reason, /^\d+ % of the step is /);
  // A measured time makes the next one that of the machine.
  const run = { job: { ...job, gpu: "h100-80gb" }, step_seconds: 1.25 * time.step_seconds };
  const { step_time_calibration, within_percent, compute } = api.calibrate([run]);
  assert.ok(compute > 1.2 && compute < 1.3);
  const calibrated = api.estimate({ ...run.job, step_time_calibration }).time;
  assert.ok(Math.abs(calibrated.step_seconds / run.step_seconds - 1) < 1e-3);
  assert.ok(Math.abs(calibrated.high_seconds / calibrated.step_seconds - 1 - within_percent / 100) < 1e-9);
  assert.equal(api.calibrate([run, { job: { ...run.job, fp8_format: "hybrid" }, step_seconds: 1 }]), null);
  assert.throws(() => api.calibrate([{ ...run, step_seconds: 0 }]), { name: "TypeError", message: /step_seconds/ });
  const unknown = api.estimate({ ...job, gpu: "mi300x" });
  assert.deepEqual([unknown.time, unknown.time_reason], [null, "the speeds of mi300x are not known"]);
  const first = api.estimate({ ...job, gpu: "h100-80gb" }, { moment: "first_iteration" });
  assert.deepEqual(first.time, time);
});
