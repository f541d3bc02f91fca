// What the JavaScript API says of the jobs of the table of standings, which the library, the command line and the page are
// held to as well: `node --test tests/api/` after `cargo xtask build`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { api } from "./load.mjs";

const table = readFileSync(new URL("../standings.jsonl", import.meta.url), "utf8");
const rows = table.trim().split("\n").map((line) => JSON.parse(line));

/** The verdict of an estimate; that of a job that breaks a rule where there is none. */
function verdict(job) {
  try {
    return api.estimate(job).verdict;
  } catch (error) {
    assert.equal(error.name, "ConfigError");
    return "cannot_run";
  }
}

test("estimates have the verdicts of the table", () => {
  for (const row of rows) {
    assert.equal(verdict(row.job), row.verdict, JSON.stringify(row));
  }
});

test("searches say of each layout what its estimate says, or leave it open", () => {
  const isSame = (found, estimated) => {
    if (found === "tight") {
      // A replay may settle it.
      assert.ok(["fits", "tight", "does_not_fit"].includes(estimated), estimated);
    } else {
      assert.equal(found, estimated);
    }
  };
  let layouts = 0;
  for (const { job, refused_by } of rows.filter((_, at) => at % 6 === 0)) {
    let found;
    try {
      found = api.search(job, { vary: ["tensor_model_parallel_size", "pipeline_model_parallel_size"] });
    } catch {
      assert.equal(refused_by, "rules");
      continue;
    }
    if (found.own) {
      isSame(found.own.verdict, verdict(job));
    }
    for (const layout of found.candidates) {
      isSame(layout.verdict, verdict({ ...job, ...layout.settings }));
      layouts += 1;
    }
  }
  assert.ok(layouts > 20);
});
