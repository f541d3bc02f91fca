// A call of the JavaScript API before it is initialized, as built, in Node: `node --test tests/api/` after `cargo xtask build`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { folder } from "./load.mjs";

test("a call before init() says so, and the same call works after it", async () => {
  const early = await import(new URL("megatron_memory.js?early", folder));
  assert.throws(() => early.estimate({}), { name: "Error", message: /is not loaded yet: `await init\(\)`/ });
  assert.throws(() => early.version(), /await init/);
  early.initSync({ module: readFileSync(new URL("megatron_memory_bg.wasm", folder)) });
  assert.equal(typeof early.version(), "string");
  assert.throws(() => early.estimate({}), { name: "ConfigError" });
});
