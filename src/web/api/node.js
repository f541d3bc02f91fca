// The package in Node, where it initializes itself.
import { readFileSync } from "node:fs";
import { initSync } from "./megatron_memory.js";

initSync({ module: readFileSync(new URL("megatron_memory_bg.wasm", import.meta.url)) });

export * from "./megatron_memory.js";
export { default } from "./megatron_memory.js";
