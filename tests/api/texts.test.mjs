// Import, export, links, presets, charts and the layout search through the JavaScript API, as built, in Node:
// `node --test tests/api/` after `cargo xtask build`.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { api, folder } from "./load.mjs";

const models = api.presets().filter(({ kind }) => kind === "model");

// Equal jobs have equal links, whatever is spelled out in one and left to a default in the other.
const same = (a, b, message) => assert.equal(api.encodeLink(a), api.encodeLink(b), message);

test("a BigInt beyond any field is a problem of its field", () => {
  const { job } = models[0];
  for (const value of [10n ** 30n, 10n ** 400n]) {
    assert.throws(() => api.exportText({ ...job, hidden_size: value }, "csv"), { name: "ConfigError", message: /^hidden_size/ });
  }
});

test("the folder is a package", () => {
  const { version, exports, types } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"));
  assert.equal(version, api.version());
  const files = readdirSync(folder);
  const targets = Object.values(exports).flatMap((target) => (typeof target === "string" ? [target] : Object.values(target)));
  for (const target of [types, ...targets]) assert.ok(files.includes(target.slice(2)), target);
});

test("every preset's config.json is the preset's model", () => {
  const folder = new URL("../../src/presets/models/", import.meta.url);
  assert.ok(models.length >= 40);
  for (const { id, job } of models) {
    let source;
    try {
      source = JSON.parse(readFileSync(new URL(`${id}.json`, folder)));
    } catch {
      continue;
    }
    if (!source.config) continue;
    const text = JSON.stringify(source.config);
    const { format, job: model, report, questions } = api.importText(text);
    assert.equal(format, "hf_config", id);
    assert.deepEqual(questions.map(({ kind, field }) => field ?? kind), ["gpus", "seq_length"], id);
    assert.ok(report.every(({ fate }) => fate !== "unknown"), `${id}: ${JSON.stringify(report.filter(({ fate }) => fate === "unknown"))}`);
    same({ ...model, ...source.job.settings }, job, id);
    // The same model over the preset's own job changes nothing.
    same(api.importText(text, { onto: job }).job, job, id);
  }
});

// The job of a text, with what a comment in it says that no flag can say, and what is the cluster's to say.
const back = (text, job, gpus) => {
  const { job: again } = api.importText(text, { gpus });
  const named = Array.from(text.matchAll(/^# Megatron-\w+ has no (?:flag|key) for (\w+)\.$/gm), ([, key]) => key);
  for (const key of ["gpu", "gpu_memory_mib", "gpus_per_node", "expandable_segments", ...named]) if (key in job) again[key] = job[key];
  return again;
};

// The job that an export is of, where Megatron-LM's own launcher cannot train the job as it is: a comment lists what was
// changed.
const SWITCHES = { on: true, off: false };
const launched = (text, job) => {
  const changed = Array.from(text.matchAll(/^# - (\w+) is (.+?), not .+\.$/gm), ([, key, value]) => {
    if (value in SWITCHES) return [key, SWITCHES[value]];
    try {
      return [key, JSON.parse(value)];
    } catch {
      return [key, value];
    }
  });
  return { ...job, ...Object.fromEntries(changed) };
};

test("every structured export comes back", () => {
  for (const { id, version, job } of api.presets()) {
    const preset = job.modules ? null : `${id}@${version}`;
    const read = api.importText(api.exportText(job, "json", { preset }));
    same(read.job, job, id);
    assert.equal(read.preset, preset, id);
    const link = api.exportText(job, "link", { page: "https://calculator.example/", preset }).trim();
    const said = api.decodeLink(link);
    same(said.job, job, id);
    assert.equal(api.encodeLink(said.job, said), link.slice(link.indexOf("#")), id);
    if (job.modules) continue;
    const stages = (job) => api.estimate(job).stages.map(({ memory }) => memory);
    for (const format of ["megatron_args", "model_args", "bridge", "bridge_recipe"]) {
      const text = api.exportText(job, format);
      const again = back(text, job, job.world_size);
      assert.deepEqual(stages(again), stages(launched(text, job)), `${id} as ${format}`);
    }
  }
});

test("every measured case's arguments import to the same job from flags and from YAML", () => {
  let cases = 0;
  const folder = new URL("../oracle/params/", import.meta.url);
  for (const file of readdirSync(folder)) {
    const { config, error } = JSON.parse(readFileSync(new URL(file, folder)));
    if (error) continue;
    for (const format of ["json", "megatron_args", "model_args"]) {
      const text = api.exportText(config, format);
      const job = back(text, config, config.world_size);
      const [expected, actual] = [launched(text, config), job].map((job) => api.estimate(job).stages.map(({ chunks }) => chunks));
      assert.deepEqual(actual, expected, `${file} as ${format}`);
    }
    cases += 1;
  }
  assert.ok(cases > 60, `${cases}`);
});

test("a check on one GPU has what the engine says of every stage", () => {
  const { job } = models.find(({ id }) => id === "llama3-70b");
  const script = api.exportText(job, "one_gpu", { page: "https://calculator.example/" });
  const rows = Array.from(script.matchAll(/^# +(\d+) +(\d+) +([\d.]+) +([\d.]+)$/gm), (row) => row.slice(1).map(Number));
  // Megatron-LM refuses Transformer Engine's cross entropy, so that the script has its own.
  const { stages } = api.estimate({ ...job, cross_entropy_fusion_impl: "native" });
  const mib = (bytes) => Number((Number(bytes) / 2 ** 20).toFixed(2));
  assert.deepEqual(
    rows.map(([, stage, ...amounts]) => [stage, ...amounts]),
    stages.map(({ steady_bytes, peak_bytes }, stage) => [stage, mib(steady_bytes), mib(peak_bytes)]),
  );
  const again = api.importText(script).job;
  assert.equal(again.world_size, job.world_size);
});

test("a measured run becomes a record with its job and prediction", () => {
  const { job } = models.find(({ id }) => id === "llama3-8b");
  const measured = { steady_allocated: 20_000_000_000, peak_allocated: 57_312_500_000 };
  const fields = { source: "https://example.com/log", pp_rank: 0, software: { pytorch: "2.8.0" }, note: "with a \"quote\"" };
  const record = JSON.parse(api.evidenceRecord(job, measured, fields));
  assert.deepEqual(record.measured, measured);
  assert.equal(record.gpus, job.world_size);
  const { source, pp_rank, software, note } = record;
  assert.deepEqual({ source, pp_rank, software, note }, fields);
  const [stage] = api.estimate(record.job).stages;
  assert.equal(record.predicted.peak_allocated, Number(stage.peak_bytes));
  assert.equal(JSON.parse(api.evidenceRecord(job, measured)).source, "");
  for (const [wrong, message] of [
    [{ peak: 1 }, /^measured\.peak cannot be read: unknown field `peak`/],
    [{ peak_allocated: 1.5 }, /^measured\.peak_allocated cannot be read/],
  ]) {
    assert.throws(() => api.evidenceRecord(job, wrong), { name: "TypeError", message });
  }
  assert.throws(() => api.evidenceRecord(job, measured, { confidence: "D" }), { name: "TypeError", message: /^confidence cannot be read: unknown variant `D`/ });
});

test("an import says what became of every key, and what is left open", () => {
  const script = "TP=${TP:-2}\ntorchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size $HIDDEN \\\n --tensor-model-parallel-size $TP --log-interval 5 --frob\n";
  const { format, dialect, reason, report, questions, link } = api.importText(script);
  assert.equal(format, "script");
  assert.equal(dialect, "Megatron-LM");
  assert.equal(typeof reason, "string");
  assert.ok(link.startsWith("#v1;"));
  const fate = (key) => report.find((row) => row.key === key)?.fate;
  assert.equal(fate("--num-layers"), "mapped");
  assert.equal(fate("--log-interval"), "ignored");
  assert.equal(fate("--frob"), "unknown");
  const layers = report.find(({ key }) => key === "--num-layers");
  assert.deepEqual([layers.line, layers.field, layers.value], [2, "num_layers", "4"]);
  assert.ok(questions.some(({ kind, name }) => kind === "variable" && name === "HIDDEN"));
  const { job } = api.importText(script, { variables: { HIDDEN: "512" } });
  assert.equal(job.hidden_size, 512);
  assert.equal(job.world_size, 8);
});

test("what cannot be done throws errors that can be told apart", () => {
  assert.throws(() => api.importText("garbage"), { name: "ImportError" });
  assert.throws(() => api.decodeLink("garbage"), { name: "LinkError" });
  assert.throws(() => api.exportText(models[0].job, "poem"), { name: "ExportError" });
  const job = { ...models[0].job, tensor_model_parallel_size: 7 };
  assert.throws(() => api.exportText(job, "csv"), ({ name, problems }) => name === "ConfigError" && problems.length > 0);
  assert.throws(() => api.svg(job, "buckets"), { name: "ConfigError" });
  for (const wrong of [undefined, null, 3, [], () => 1]) {
    assert.throws(() => api.importText(wrong), TypeError);
  }
  const takesJob = {
    compareLog: (job) => api.compareLog(job, ""),
    encodeLink: api.encodeLink,
    estimate: api.estimate,
    exportText: (job) => api.exportText(job, "json"),
    rankGroups: (job) => api.rankGroups(job, "language", "dense", "tp"),
    rankInfo: (job) => api.rankInfo(job, 0),
    search: api.search,
    svg: (job) => api.svg(job, "buckets"),
    validate: api.validate,
  };
  const notJobs = [
    [undefined, "undefined"], [null, "null"], [3, "a number"], [3n, "a bigint"], [true, "a boolean"], [[], "an array"],
    [() => 1, "a function"], [new Date(), "a Date"], [Promise.resolve({}), "a Promise"], [/x/, "a RegExp"],
  ];
  const settings = models[0].job;
  const same = [settings, JSON.stringify(settings), new Map(Object.entries(settings)), api.encodeLink(settings), api.exportText(settings, "json")];
  for (const [name, call] of Object.entries(takesJob)) {
    for (const [wrong, came] of notJobs) {
      const message = `the job must be an object, JSON text or a link, not ${came}`;
      assert.throws(() => call(wrong), { name: "TypeError", message }, `${name} of ${came}`);
    }
    assert.throws(() => call("{"), { name: "ImportError" }, name);
    assert.throws(() => call("hello"), { name: "LinkError" }, name);
    for (const job of same) call(job);
  }
  for (const job of same) assert.deepEqual(api.estimate(job), api.estimate(settings));
  const loop = {};
  loop.loop = loop;
  assert.throws(() => api.encodeLink(loop), TypeError);
});

test("options of the wrong kind are named", () => {
  const { job } = models[0];
  const script = "--num-layers 4";
  for (const [options, message] of [
    [{ format: "poem" }, /poem/], [{ gpus: -1 }, /^gpus/], [{ gpus: 1.5 }, /^gpus/], [{ variables: 3 }, /^variables/],
    [{ branches: { x: 1 } }, /^branches/], [{ onto: 3 }, /link/], ["gpus", /./],
  ]) {
    assert.throws(() => api.importText(script, options), { name: "TypeError", message }, JSON.stringify(options));
  }
  for (const [options, message] of [
    [{ vary: "tp" }, /^vary/], [{ vary: ["hidden_size"] }, /hidden_size/], [{ at_most: { tensor_model_parallel_size: -1 } }, /^at_most/],
    [{ at_most: 3 }, /^at_most/], [{ keep: "most" }, /keep/], [{ split: "oddly" }, /split/], [{ steps: "all" }, /^steps/],
  ]) {
    assert.throws(() => api.search(job, options), { name: "TypeError", message }, JSON.stringify(options));
  }
  for (const [options, message] of [[{ preset: 3 }, /^preset/], [{ compare: 3 }, /^compare/], [{ compare: {} }, /job/]]) {
    assert.throws(() => api.encodeLink(job, options), { name: "TypeError", message }, JSON.stringify(options));
  }
  assert.throws(() => api.encodeLink(job, { preset: "nothing@1" }), { name: "LinkError", message: /nothing@1/ });
  for (const [options, message] of [[{ width: "wide" }, /^width/], [{ width: 10 }, /width/], [{ unit: "bits" }, /unit/], [{ color: "red" }, /color/]]) {
    assert.throws(() => api.svg(job, "buckets", options), { name: "TypeError", message }, JSON.stringify(options));
  }
  for (const [options, message] of [[{ rank: "first" }, /^rank/], [{ timeline: "yes" }, /^timeline/], [{ ledger: 1 }, /^ledger/]]) {
    assert.throws(() => api.estimate(job, options), { name: "TypeError", message }, JSON.stringify(options));
  }
  for (const [call, option, message] of [
    [(options) => api.estimate(job, options), "ranks", "there is no option ranks; did you mean rank?"],
    [(options) => api.estimate(job, options), "frobnicate", /^there is no option frobnicate; the options are rank, timeline, ledger/],
    [(options) => api.search(job, options), "atMost", "there is no option atMost; did you mean at_most?"],
    [(options) => api.importText(script, options), "gpu", "there is no option gpu; did you mean gpus?"],
    [(options) => api.exportText(job, "json", options), "modul", "there is no option modul; did you mean module?"],
    [(options) => api.encodeLink(job, options), "comparison", "there is no option comparison; did you mean compare?"],
    [(options) => api.svg(job, "buckets", options), "colour", "there is no option colour; did you mean color?"],
  ]) {
    assert.throws(() => call({ [option]: 1 }), { name: "TypeError", message }, option);
  }
  // What is not there is as if it were not said.
  for (const options of [undefined, null, {}, { rank: null, timeline: undefined }]) {
    assert.deepEqual(api.estimate(job, options), api.estimate(job));
  }
});

test("links say what is shown and compared", () => {
  const link = "#v1;m=llama3-8b@1;tp=4;tab=table;stage=1;vs;tp=2";
  const said = api.decodeLink(`https://calculator.example/${link}`);
  assert.equal(said.preset, "llama3-8b@1");
  assert.deepEqual([said.job.num_layers, said.job.tensor_model_parallel_size], [32, 4]);
  assert.deepEqual(said.view, { tab: "table", stage: { module: 0, pp_rank: 1 } });
  assert.equal(said.compare.job.tensor_model_parallel_size, 2);
  assert.equal(api.encodeLink(said.job, said), link);
  const several = api.decodeLink(`${link};vs;m=qwen3-8b@1;vs`);
  assert.deepEqual(several.also_compare.map(({ preset }) => preset), ["qwen3-8b@1", "llama3-8b@1"]);
  assert.equal(api.encodeLink(several.job, several), `${link};vs;m=qwen3-8b@1;vs`);
  assert.equal(api.encodeLink(said.job, { preset: said.preset }), "#v1;m=llama3-8b@1;tp=4");
  for (const wrong of ["", "hello", "#v2;x", "https://host/#top"]) {
    assert.throws(() => api.decodeLink(wrong), { name: "LinkError" }, wrong);
  }
  assert.equal(api.decodeLink("#v1;m=llama3-8b@1;tp=none;color=red").notices.length, 2);
  // A damaged link gives what can be read of it, and says what cannot.
  assert.equal(api.decodeLink("#v1;%%%").notices.length, 1);
  const damaged = "#v1;m=llama3-8b@1;tp=2;%%%";
  const { job, notices } = api.decodeLink(damaged);
  assert.deepEqual([job.tensor_model_parallel_size, notices.length], [2, 1]);
  assert.deepEqual(api.estimate(damaged).warnings[0], notices[0]);
  assert.deepEqual(api.validate(damaged)[0].message, notices[0]);
});

test("presets have their published sizes", () => {
  const all = api.presets();
  const of = (wanted) => all.find(({ id }) => id === wanted);
  const { parameters, active_parameters, job } = of("llama3-8b");
  assert.deepEqual([parameters, active_parameters, job.num_layers], [8_030_261_248, null, 32]);
  const llava = of("llava-7b");
  assert.equal(llava.kind, "modules");
  assert.ok(llava.job.modules.length > 1);
});

test("what has nothing to search says why", () => {
  assert.throws(() => api.search({ modules: [{ name: "images" }, { name: "sounds" }] }), { name: "SearchError" });
  assert.throws(() => api.search({ num_layers: 4, world_size: 8 }), ({ name, problems }) => name === "ConfigError" && problems.length > 0);
});

test("keys from outside are nothing but keys", () => {
  const { job } = api.decodeLink(api.encodeLink(JSON.parse('{"num_layers": 2, "__proto__": {"polluted": true}, "constructor": "x"}')));
  assert.equal({}.polluted, undefined);
  assert.equal(Object.getPrototypeOf(job), Object.prototype);
});

// How long each takes is a matter for benches/api.mjs; here a reader that takes quadratic time would take minutes.
test("five megabytes of garbage are refused without hanging", () => {
  const texts = ["x".repeat(5e6), "a: b\n".repeat(1e6), '{"a":['.repeat(8e5), "--a b ".repeat(8e5), "$(".repeat(2.5e6), "\u{1f980}".repeat(1.2e6)];
  for (const text of texts) {
    // The best of three: other programs are running too.
    const times = [1, 2, 3].map(() => {
      const start = performance.now();
      assert.throws(() => api.importText(text), { name: "ImportError" }, text.slice(0, 9));
      return performance.now() - start;
    });
    const spent = Math.min(...times);
    assert.ok(spent < 2000, `${text.slice(0, 9)}: ${spent} ms`);
  }
});

test("every chart is a picture that needs nothing else", () => {
  const { job } = models.find(({ id }) => id === "llama3-8b");
  for (const chart of ["bucket_bar", "stage_bars", "buckets", "components", "timeline", "rank_map"]) {
    const picture = api.svg(job, chart, { width: 640 });
    assert.match(picture, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" [^>]*width="640"/);
    assert.equal(picture.match(/http/g).length, 1);
  }
});

test("layouts are searched in parts, and each is the job that it says", () => {
  const job = { ...models.find(({ id }) => id === "llama3-8b").job, world_size: 16, global_batch_size: 64 };
  const sizes = ["tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"];
  const options = { vary: sizes, at_most: { tensor_model_parallel_size: 4 } };
  const layouts = [];
  let [from, looked] = [0, 0];
  while (from !== null) {
    const part = api.search(job, { ...options, from, steps: 5 });
    layouts.push(...part.candidates);
    looked += part.looked_at;
    from = part.next;
  }
  const whole = api.search(job, options);
  assert.equal(looked, whole.total);
  // A rank is one among the candidates of a call.
  const unranked = (candidates) => candidates.map(({ rank, is_tie, ...layout }) => layout);
  assert.deepEqual(unranked(layouts), unranked(whole.candidates));
  const ranked = whole.candidates.toSorted((one, other) => one.rank - other.rank);
  assert.equal(ranked[0].rank, 1);
  for (const [place, { rank, is_tie, step_seconds, verdict }] of ranked.entries()) {
    const first = ranked[rank - 1];
    assert.ok(rank <= place + 1 && step_seconds < 1.05 * first.step_seconds && verdict === first.verdict);
    assert.equal(is_tie, ranked.filter((other) => other.rank === rank).length > 1);
  }
  assert.ok(ranked.some(({ is_tie }) => is_tie) && ranked.some(({ is_tie }) => !is_tie));
  assert.ok(layouts.length > 4);
  for (const { settings, peak_bytes, worst_stage } of layouts) {
    const { stages, worst_stage: worst } = api.estimate({ ...job, ...settings });
    assert.deepEqual([peak_bytes, worst_stage], [stages[worst].peak_bytes, worst]);
  }
  assert.deepEqual(whole.own, whole.candidates.find(({ settings }) => sizes.every((size) => !settings[size])));
  for (const { gains, index } of layouts) assert.equal(gains.length === 0 && index !== whole.own.index, false, index);
});

test("layouts of a job that is not modelled as a whole say so", () => {
  const { job } = models.find(({ id }) => id === "llama3-8b");
  const modelled = api.search(job);
  const marked = api.search({ ...job, perform_rl_step: true });
  assert.deepEqual(modelled.not_modelled, []);
  assert.deepEqual(marked.not_modelled.map(({ key }) => key), ["perform_rl_step"]);
  assert.ok(marked.candidates.every(({ verdict }) => verdict === "not_this_job"));
  const verdicts = new Set(modelled.candidates.map(({ verdict }) => verdict));
  assert.ok(verdicts.has("fits") && !verdicts.has("not_this_job"));
});

test("the language model of several modules is searched", () => {
  const { job } = api.decodeLink("#v1;m=llava-7b@1");
  const { candidates, own } = api.search(job, { keep: "legal" });
  assert.ok(candidates.length > 2 && candidates.some(({ index }) => index === own.index));
});

test("every change that is offered makes the job fit, and limits are jobs that fit", () => {
  const { job } = api.presets().find(({ id }) => id === "llama3-70b");
  const large = { ...job, micro_batch_size: 8 };
  const { verdict, offers, peak_bytes } = api.fit(large);
  assert.equal(verdict, "does_not_fit");
  assert.ok(offers.length > 2);
  for (const { settings, link, peak_bytes: peak, saves_bytes, change, cost } of offers) {
    const estimate = api.estimate({ ...large, ...settings });
    assert.equal(estimate.verdict, "fits", change);
    assert.equal(saves_bytes, peak_bytes - peak);
    assert.equal(api.estimate(api.decodeLink(link).job).verdict, "fits", change);
    assert.ok(cost.length > 0);
  }
  const limits = api.limits(job);
  assert.ok(limits.longest_sequence.value >= job.seq_length);
  for (const { link } of Object.values(limits)) assert.equal(api.estimate(api.decodeLink(link).job).verdict, "fits");
  assert.throws(() => api.fit({ ...job, gpu: null, gpu_memory_mib: null }), { name: "SearchError", message: /gpu/ });
  assert.throws(() => api.limits({ ...job, tensor_model_parallel_size: 3 }), { name: "ConfigError" });
});

test("the package initializes itself in Node, and says what it is", async () => {
  const read = (file) => readFileSync(new URL(file, folder), "utf8");
  const { exports, keywords, license, version } = JSON.parse(read("package.json"));
  const node = await import(new URL(exports["."].node, folder));
  assert.equal(node.version(), version);
  assert.equal(typeof node.default, "function");
  assert.ok(keywords.includes("megatron-lm") && license === "MIT OR Apache-2.0");
  for (const [file, words] of [["README.md", "npm install"], ["LICENSE-MIT", "Permission is hereby granted"], ["LICENSE-APACHE", "Apache License"]]) {
    assert.ok(read(file).includes(words), file);
  }
  assert.ok(!read("package.json").includes("REPOSITORY"));
});
