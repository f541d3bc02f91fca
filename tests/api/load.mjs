// The JavaScript API as built, for the tests beside this file.

import { readFileSync } from "node:fs";

/** The folder that it is built into. */
export const folder = new URL("../../dist/api/", import.meta.url);

export const api = await import(new URL("megatron_memory.js", folder));
api.initSync({ module: readFileSync(new URL("megatron_memory_bg.wasm", folder)) });
