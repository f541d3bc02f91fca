// What is not modelled, and jobs that Megatron refuses, through the JavaScript API, as built, in Node: `node --test tests/api/`
// after `cargo xtask build`.

import assert from "node:assert/strict";
import { test } from "node:test";

import { api } from "./load.mjs";

const llama = { ...api.presets().find(({ id }) => id === "llama3-8b").job, world_size: 8 };

const marks = {
  lora_rank: 16,
  gtp_weight_remat_size: 2,
  tensor_parallel_num_weight_shards: 16,
  perform_rl_step: true,
  use_checkpoint_args: true,
};

const keys = (result) => result.not_modelled.map(({ key }) => key);

test("a job of the calculator's own settings has a verdict of its numbers", () => {
  const fits = api.estimate({ ...llama, gpu_memory_mib: 1_000_000 });
  assert.equal(fits.verdict, "fits");
  assert.deepEqual(fits.not_modelled, []);
  assert.equal(api.estimate({ ...llama, gpu_memory_mib: 100 }).verdict, "does_not_fit");
  assert.equal(api.estimate({ ...llama, gpu_memory_mib: null, gpu: null }).verdict, null);
});

test("what is not modelled makes the number another job's, also after links and JSON", () => {
  for (const [key, value] of Object.entries(marks)) {
    const job = { ...llama, [key]: value };
    const link = api.encodeLink(job);
    const document = api.exportText(job, "json");
    for (const same of [job, api.decodeLink(link).job, api.importText(link).job, api.importText(document).job]) {
      const result = api.estimate(same);
      assert.deepEqual(keys(result), [key]);
      assert.equal(result.verdict, "not_this_job", key);
      assert.match(result.verdict_reason, new RegExp(`^${key} is not modelled: `));
      assert.ok(result.not_modelled[0].reason, key);
    }
    for (const format of ["megatron_args", "model_args", "bridge", "bridge_recipe", "one_gpu", "csv", "link", "link_markdown",
      "link_summary", "embed", "element", "json"]) {
      assert.ok(api.exportText(job, format).includes(key), `${format} of ${key}`);
    }
    assert.match(api.svg(job, "stage_bars"), /Estimate of another job/);
  }
});

test("what is off or modelled marks nothing, and marks can be removed", () => {
  for (const job of [
    { ...llama, perform_rl_step: false },
    { ...llama, lora_rank: 0 },
    { ...llama, peft: "lora" },
    { ...llama, not_modelled: [] },
  ]) {
    assert.deepEqual(api.estimate(job).not_modelled, []);
  }
  const { job } = api.decodeLink(api.encodeLink({ ...llama, perform_rl_step: true }));
  assert.deepEqual(api.estimate({ ...job, not_modelled: [] }).not_modelled, []);
});

test("an import says how much each key changes that it does not follow", () => {
  const { report, job } = api.importText("torchrun pretrain_gpt.py --num-layers 2 --perform-rl-step --reset-position-ids");
  const effect = (key) => report.find((row) => row.key === key).effect;
  assert.equal(effect("--perform-rl-step"), "more");
  assert.equal(effect("--reset-position-ids"), "nothing");
  assert.deepEqual(job.not_modelled.map(({ key }) => key), ["perform-rl-step"]);
});

test("an illegal job has no number, and ways out", () => {
  for (const settings of ["gpus=64", "tp=abc", "tp=0", "ep=7", "pp=17", "seq=0", "mbs=none", "layout=Ex"]) {
    const link = `#v1;m=qwen3-235b-a22b@2;${settings}`;
    const { job } = api.decodeLink(link);
    for (const same of [job, api.importText(link).job]) {
      assert.throws(() => api.estimate(same), (error) => error.name === "ConfigError" && error.problems.length > 0, link);
    }
    assert.throws(() => api.exportText(link, "csv"), { name: "ConfigError" });
    assert.throws(() => api.svg(link, "stage_bars"), { name: "ConfigError" });
    assert.match(api.exportText(link, "json"), /cannot_run/);
  }
  let fixes;
  try {
    api.estimate(api.decodeLink("#v1;m=qwen3-235b-a22b@2;gpus=64").job);
  } catch (error) {
    fixes = error.problems.flatMap((problem) => problem.fixes).map(({ field, value }) => `${field} ${value}`);
  }
  for (const fix of ["world_size 128", "pipeline_model_parallel_size 8", "tensor_model_parallel_size 2", "context_parallel_size 1"]) {
    assert.ok(fixes.includes(fix), `${fix} is not in ${fixes}`);
  }
});

test("a link with an unknown preset is an error that names the one that was meant", () => {
  assert.throws(() => api.decodeLink("#v1;m=deepseekv3;tp=2"), { name: "LinkError", message: /did you mean deepseek-v3\?/ });
});
