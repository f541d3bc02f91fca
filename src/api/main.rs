//! The JavaScript API: `dist/api/megatron_memory.js`. The library exports all of its functions; there is nothing to
//! start.

use megatron_memory_api as _;

fn main() {}
