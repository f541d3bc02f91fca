//! Tests of `parallel`.

mod groups;
mod layout;
mod mimo;
mod schedule;
mod stages;

use megatron_memory::parallel::stages::{Chunk, StageLayout};

/// All chunks in the order in which a microbatch passes them.
fn in_layer_order(stages: &StageLayout) -> Vec<&Chunk> {
    let mut chunks: Vec<_> = stages.chunks().iter().collect();
    chunks.sort_by_key(|chunk| (chunk.vp_stage, chunk.pp_rank));
    chunks
}
