// The JavaScript API, as built, in Node: `node --test tests/engine.test.mjs` after `cargo xtask build`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
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
