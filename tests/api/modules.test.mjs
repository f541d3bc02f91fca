// Modules and ranks in the JavaScript API, as built: `node --test tests/api/` after `cargo xtask build`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { api } from "./load.mjs";

const json = (path) => JSON.parse(readFileSync(new URL(`../oracle/reference/${path}`, import.meta.url)));

/** The outcome of a call in the form of the reference data. */
const outcome = (call) => {
  try {
    return { result: call() };
  } catch ({ name, message }) {
    return { error: { type: name, message } };
  }
};

test("component specs are read as upstream reads them", () => {
  const { parse_component_spec: records } = json("mimo_component_spec.json");
  for (const { spec, name, result, error } of records) {
    const got = outcome(() => api.parseComponentSpec(spec));
    assert.deepEqual(got, error ? { error } : { result: { name, result } }, spec);
  }
  assert.ok(records.length > 10);
});

test("layouts are built as upstream builds them", () => {
  const { build_parallelism_config: records } = json("mimo_component_spec.json");
  for (const { specs, world_size, result, error } of records) {
    const got = outcome(() => api.buildLayout(specs, world_size ?? undefined));
    assert.deepEqual(got, error ? { error } : { result }, specs.join(" "));
  }
  assert.ok(records.length > 5);
});

/** A small language model that every layout of the reference data can split. */
const tiny = {
  num_layers: 24, hidden_size: 1536, num_attention_heads: 24, seq_length: 1024, vocab_size: 32000, bf16: true,
  max_position_embeddings: 1024, num_experts: 48, micro_batch_size: 24, add_bias_linear: false, sequence_parallel: true,
  moe_token_dispatcher_type: "alltoall",
};

const job = ({ input, world_size }) => {
  // A list of one module is a plain job, whose ETP is TP where none is given; MegatronMIMO's is 1.
  const etp = { expert_tensor_parallel_size: 1 };
  const modules = Object.entries(input).map(([name, module]) => ({ ...etp, ...module, name, ...(name === "language" ? {} : { num_experts: null }) }));
  return { ...tiny, world_size, modules };
};

test("rank groups are Megatron's, in both views", () => {
  let groups = 0;
  for (const record of json("mimo_config.json").mimo_parallelism.filter(({ error }) => !error)) {
    for (const [name, views] of Object.entries(record.rank_groups)) {
      for (const [view, expected] of Object.entries(views)) {
        for (const [dims, ranks] of Object.entries(expected)) {
          assert.deepEqual(api.rankGroups(job(record), name, view, dims), ranks, `${name} ${view} ${dims}`);
          assert.deepEqual(api.rankGroups(job(record), name, view, dims.split("-")), ranks);
          groups += 1;
        }
      }
    }
  }
  assert.ok(groups > 100, `${groups}`);
});

test("sets of modules are refused with upstream's reason", () => {
  for (const record of json("mimo_config.json").mimo_parallelism.filter(({ error }) => error)) {
    // One module in a list is a plain job, which MegatronMIMO has no say in.
    if (Object.keys(record.input).length < 2) continue;
    const messages = api.validate(job(record)).map(({ message }) => message);
    const cause = record.error.message.split(";")[0].split(" Found")[0];
    assert.ok(messages.some((message) => message.startsWith(cause)), `${cause}\n${messages.join("\n")}`);
  }
});

test("a rank knows its module, coordinates, groups, seeds and memory", () => {
  for (const record of json("mimo_config.json").mimo_parallelism.filter(({ error }) => !error)) {
    const estimate = api.estimate(job(record));
    for (let rank = 0; rank < record.world_size; rank += 1) {
      const info = api.rankInfo(job(record), rank);
      const { name, stages } = estimate.modules.find((m) => rank >= m.rank_offset && rank < m.rank_offset + m.ranks);
      const { dense, expert } = info.coordinates;
      assert.equal(info.module, name);
      assert.deepEqual(info.memory, stages[dense.pp].memory);
      assert.equal(info.modules.length, 1);
      assert.deepEqual(info.seeds, {
        base: 1234 + 100 * dense.pp,
        tensor_parallel: 1234 + 100 * dense.pp + 2718 + dense.tp,
        expert_parallel: 1234 + 100 * dense.pp + 1024 + 100 * expert.ep + expert.expt_tp,
      });
      for (const [group, ranks] of Object.entries(info.groups)) assert.ok(ranks.includes(rank), group);
      const tp = record.rank_groups[name].dense.tp.find((ranks) => ranks.includes(rank));
      assert.equal(tp[dense.tp], rank);
      const ep = record.rank_groups[name].expert.ep.find((ranks) => ranks.includes(rank));
      assert.equal(ep[expert.ep], rank);
    }
    for (const rank of [record.world_size, -1, 2 ** 70, 10n ** 18n]) {
      assert.throws(() => api.rankInfo(job(record), rank), { name: "RankError", message: /no module has this rank/ });
    }
  }
});

const pair = {
  world_size: 8, bf16: true, micro_batch_size: 2, global_batch_size: 16, num_attention_heads: 16, position_embedding_type: "rope",
  modules: [
    { name: "language", num_layers: 4, hidden_size: 1024, vocab_size: 32000, seq_length: 2048, data_parallel_size: 8 },
    { name: "images", front_end: "patches", num_layers: 2, hidden_size: 512, img_h: 224, projector: "mlp", data_parallel_size: 8 },
  ],
};

test("modules that share ranks add up", () => {
  const shared = { ...pair, colocate_modules: true };
  const { modules, worst_rank } = api.estimate(shared);
  // A process has its cuBLAS workspace of Transformer Engine once: 32 MiB and 1 KiB, whole blocks.
  const twice = 32 * 2 ** 20 + 1024;
  const total = modules.reduce((sum, { stages }) => sum + stages[0].memory.total, -twice);
  assert.deepEqual(worst_rank.modules, ["language", "images"]);
  assert.equal(worst_rank.memory.total, total);
  const { memory, modules: parts } = api.rankInfo(shared, 5);
  assert.equal(memory.total, total);
  assert.deepEqual(parts.map(({ module }) => module), ["language", "images"]);
});

test("a problem of a module names the module", () => {
  const problem = api.validate(pair).find(({ module }) => module === 1);
  assert.deepEqual(api.validate({ ...pair, modules: pair.modules.map((m, i) => ({ ...m, data_parallel_size: 4, rank_offset: 4 * i })) }), []);
  assert.match(problem.message, /overlap/);
});

test("one module in a list is the plain job", () => {
  const { world_size, ...settings } = { ...tiny, world_size: 8, tensor_model_parallel_size: 2, expert_model_parallel_size: 2 };
  const listed = api.estimate({ world_size, modules: [{ name: "language", ...settings }] });
  assert.deepEqual(listed, api.estimate({ world_size, ...settings }));
});

test("arguments of the wrong kind are refused by name", () => {
  const alone = { ...tiny, world_size: 8 };
  for (const wrong of [undefined, null, 5, {}, Symbol("spec")]) {
    assert.throws(() => api.parseComponentSpec(wrong), /spec must be a string/);
    assert.throws(() => api.rankGroups(alone, wrong, "dense", "tp"), /moduleName must be a string/);
    assert.throws(() => api.rankGroups(alone, "language", wrong, "tp"), /view must be a string/);
  }
  assert.throws(() => api.rankGroups(alone, "language", "dense", [1]), /dims must hold nothing but strings/);
  assert.throws(() => api.buildLayout("language=tp=1", 8), /specs must be an array of strings/);
  assert.throws(() => api.buildLayout([{}], 8), /specs must hold nothing but strings/);
  for (const wrong of ["8", 1.5, NaN, {}]) {
    assert.throws(() => api.buildLayout(["language=tp=1"], wrong), /worldSize must be a whole number/);
    assert.throws(() => api.rankInfo(alone, wrong), /rank must be a whole number/);
  }
  assert.equal(api.parseComponentSpec("a=tp=999999999999999999999").result.tensor_model_parallel_size, 999999999999999999999n);
});

test("a mistake comes with the changes that mend it", () => {
  const broken = {
    ...tiny, world_size: 8,
    modules: [
      { name: "language", tensor_model_parallel_size: 4, data_parallel_size: 1, expert_tensor_parallel_size: 1 },
      { name: "images", num_experts: null, data_parallel_size: 4, rank_offset: 6 },
    ],
  };
  const problem = api.validate(broken).find(({ repair }) => repair);
  assert.equal(problem.module, 1);
  for (const { module, field, value } of problem.repair.changes) {
    if (module === null) broken[field] = value;
    else broken.modules[module][field] = value;
  }
  assert.ok(!api.validate(broken).some(({ message }) => message === problem.message));
  // Fixes of a single field need no such list.
  assert.equal(api.validate({ ...tiny, num_layers: 0 })[0].repair, null);
});
