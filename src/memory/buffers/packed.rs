//! Buffers of packed samples: where each sample starts, and rotary tables of every length.

use super::list::List;
use crate::config::choices::PositionEmbedding;
use crate::model::kernels::rotary;
use crate::model::sizes::Sizes;
use crate::model::tensor::{Shape, factor};
use crate::source::{CU_SEQLENS, ROPE_TABLE_CACHE};

/// The tables that `lru_cache(maxsize=32)` of `RotaryEmbedding.forward` keeps, one for each length.
const CACHED_TABLES: u64 = 32;

/// Adds the starts of packed samples, and the rotary tables of their lengths.
pub(super) fn buffers(sizes: &Sizes<'_>, out: &mut List) {
    let (m, a) = (sizes.m, &sizes.m.args);
    let Some(packing) = &m.packing else {
        return;
    };
    let starts = Shape::of(&[
        factor("(cu_seqlens and cu_seqlens_padded)", 2),
        factor("(samples + 1)", packing.batch.samples.saturating_add(1)),
        factor("micro batches", m.num_microbatches.min(u64::from(m.stages.pp()))),
    ]);
    let what = "starts of packed samples";
    out.tensor(what, starts, 4, CU_SEQLENS);
    if !rotary(m) {
        return;
    }
    // `MLASelfAttention` has one table of cosines and sines that grows, where its rotary embedding is fused.
    let grows = a.multi_latent_attention && sizes.kernels.rope_fused;
    let cached = a.position_embedding_type != PositionEmbedding::Mrope && !grows;
    let tables = if cached && packing.lengths_vary {
        CACHED_TABLES
    } else {
        1
    };
    let width = if a.multi_latent_attention {
        factor("d_rope", a.qk_pos_emb_head_dim)
    } else {
        factor("d", m.kv_channels)
    };
    // Every context-parallel rank has the whole table.
    let shape = Shape::of(&[
        factor("tables", tables),
        factor("longest sample", packing.longest),
        width,
    ]);
    let what = "rotary frequencies in fp32 of the latest lengths of samples";
    out.tensor(what, shape, 4, ROPE_TABLE_CACHE);
}
