//! Which layers each pipeline stage and virtual chunk holds.
//!
//! The same split as Megatron's `get_num_layers_to_build` (`transformer_block.py`) and
//! `get_transformer_layer_offset` (`transformer_layer.py`), in its four forms: even, uneven first or last
//! rank, embedding and loss counted as layers, and a custom layout. Chunks are dealt out chunk-major: the
//! first chunk of every rank comes before the second chunk of any, so a chunk always holds consecutive
//! layers.
//!
//! What sits beside the decoder layers follows other rules than the layers do:
//! - the embedding is on the first chunk of the first rank and the output layer with its loss on the last
//!   chunk of the last rank, whatever a layout says: `E` and `L` in a layout only balance the work
//!   (`get_model` in `training.py`);
//! - the MTP block is on the last chunk of the last rank, or where the layout puts it, and needs a word
//!   embedding there (`GPTModel.__init__`);
//! - the final norm is beside the output layer, except with MTP: then it follows the last decoder layer
//!   (`TransformerBlock.has_final_layernorm_in_this_stage`). A `HybridModel` has it beside the output layer always
//!   (`HybridStack.__init__`).

mod divisors;
mod hybrid;
mod layout;
mod layout_rules;
mod rules;
mod split;
mod vpp;

use core::ops::Range;
use std::sync::Arc;

pub use layout::{LayerType, LayoutError, LayoutErrorKind, MAX_LAYOUT_ITEMS, MAX_LAYOUT_LEN, PipelineLayout, nests};
pub use vpp::{VppChoice, resolve_vpp};

/// A rule of Megatron that a split breaks. Arguments have Megatron's names.
pub type StageProblem = super::problem::Problem<&'static str>;

/// More chunks than this are refused; real jobs have a few hundred.
pub const MAX_CHUNKS: u32 = 65_536;

/// All that decides how layers are split, under Megatron's names.
#[derive(Clone, Copy, Debug, Default)]
pub struct StageInput<'a> {
    /// Decoder layers of the model, without MTP.
    pub num_layers: u32,
    /// Pipeline ranks.
    pub pp: u32,
    /// Virtual chunks on a rank; `None` is Megatron's non-interleaved pipeline, see [`resolve_vpp`].
    pub vpp: Option<u32>,
    /// Layers on the first rank, all its chunks together (`num_layers_in_first_pipeline_stage` in the core).
    pub decoder_first_pipeline_num_layers: Option<u32>,
    /// Layers on the last rank, all its chunks together (`num_layers_in_last_pipeline_stage` in the core).
    pub decoder_last_pipeline_num_layers: Option<u32>,
    /// Whether the embedding takes the place of one layer on the first chunk.
    pub account_for_embedding_in_pipeline_split: bool,
    /// Whether the output layer takes the place of one layer on the last chunk.
    pub account_for_loss_in_pipeline_split: bool,
    /// MTP depths. With any number, 0 included, the final norm belongs to the last decoder layer's chunk
    /// (`has_final_layernorm_in_this_stage`).
    pub mtp_num_layers: Option<u32>,
    /// The custom layout, if any.
    pub layout: Option<&'a PipelineLayout>,
    /// Of a `HybridModel`, the layers in each pipeline segment of its pattern: one number where the pattern has no `|`.
    pub hybrid_segments: Option<&'a [u32]>,
}

/// The layers of one virtual chunk of one pipeline rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The pipeline rank.
    pub pp_rank: u32,
    /// The virtual stage on that rank, 0 without interleaving.
    pub vp_stage: u32,
    /// Its decoder layers, counted over the whole model from 0; may be empty.
    pub layers: Range<u32>,
    /// Whether it holds the input embedding (`pre_process`).
    pub embedding: bool,
    /// Whether it holds the output layer and computes the loss (`post_process`).
    pub output: bool,
    /// Whether it holds the norm after the last decoder layer.
    pub final_layernorm: bool,
    /// MTP depths held: all of them or 0.
    pub mtp: u32,
}

impl Chunk {
    /// How many decoder layers it holds.
    #[must_use]
    pub fn num_layers(&self) -> u32 {
        self.layers.end.saturating_sub(self.layers.start)
    }

    /// Whether it holds a word embedding table: for its input, for MTP, or one table for both.
    ///
    /// An untied output layer has a further weight, which is not counted here.
    #[must_use]
    pub fn word_embedding(&self) -> bool {
        self.embedding || self.mtp > 0
    }

    /// Whether the word embedding table is a copy for MTP alone, kept equal to the first stage's table.
    #[must_use]
    pub fn word_embedding_copy_for_mtp(&self) -> bool {
        self.mtp > 0 && !self.embedding
    }
}

/// The whole split: every chunk of every pipeline rank.
#[derive(Clone, Debug)]
pub struct StageLayout {
    pp: u32,
    vpp: Option<u32>,
    /// Shared by all jobs of a search with these stages.
    chunks: Arc<[Chunk]>,
}

impl PartialEq for StageLayout {
    fn eq(&self, other: &Self) -> bool {
        let same = Arc::ptr_eq(&self.chunks, &other.chunks) || self.chunks == other.chunks;
        same && self.pp == other.pp && self.vpp == other.vpp
    }
}

impl Eq for StageLayout {}

impl StageLayout {
    /// Pipeline ranks.
    #[must_use]
    pub fn pp(&self) -> u32 {
        self.pp
    }

    /// Virtual chunks on a rank as Megatron keeps it, `None` without interleaving.
    #[must_use]
    pub fn vpp(&self) -> Option<u32> {
        self.vpp
    }

    /// Chunks on each rank, at least 1.
    #[must_use]
    pub fn chunks_per_rank(&self) -> u32 {
        self.vpp.unwrap_or(1)
    }

    /// All chunks, those of rank 0 first, each rank's in the order of their virtual stages.
    #[must_use]
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// The chunks of one rank in the order of their virtual stages; empty for a rank that does not exist.
    #[must_use]
    pub fn rank(&self, pp_rank: u32) -> &[Chunk] {
        let per_rank = self.chunks_per_rank() as usize;
        let start = (pp_rank as usize).saturating_mul(per_rank);
        self.chunks
            .get(start..start.saturating_add(per_rank))
            .unwrap_or_default()
    }

    /// One chunk, or `None` when there is no such rank or virtual stage.
    #[must_use]
    pub fn chunk(&self, pp_rank: u32, vp_stage: u32) -> Option<&Chunk> {
        self.rank(pp_rank).get(vp_stage as usize)
    }
}

/// Splits the layers as Megatron does.
///
/// # Errors
/// Every rule of Megatron that the input breaks, as far as one does not hide another.
pub fn stage_layout(input: &StageInput<'_>) -> Result<StageLayout, Vec<StageProblem>> {
    let problems = rules::sizes(input);
    if !problems.is_empty() {
        return Err(problems);
    }
    match (input.hybrid_segments, input.layout) {
        (Some(segments), _) => hybrid::split(input, segments),
        (None, Some(layout)) => layout_rules::split(input, layout),
        (None, None) => split::split(input),
    }
}

/// The layers that a split gives to one chunk. The rest of the chunk follows from its position.
#[derive(Clone, Copy, Default)]
struct Share {
    layers: u32,
    mtp: u32,
}

/// Numbers the layers chunk-major and adds what sits beside them.
fn deal(input: &StageInput<'_>, vpp: Option<u32>, share: &dyn Fn(u32, u32) -> Share) -> StageLayout {
    let stages = vpp.unwrap_or(1);
    let mut dealt = Vec::new();
    let mut next = 0u32;
    for vp_stage in 0..stages {
        for pp_rank in 0..input.pp {
            let Share { layers, mtp } = share(pp_rank, vp_stage);
            let end = next.saturating_add(layers);
            let output = pp_rank + 1 == input.pp && vp_stage + 1 == stages;
            dealt.push(Chunk {
                pp_rank,
                vp_stage,
                layers: next..end,
                embedding: pp_rank == 0 && vp_stage == 0,
                output,
                final_layernorm: if input.mtp_num_layers.is_none() || input.hybrid_segments.is_some() {
                    output
                } else {
                    layers > 0 && end == input.num_layers
                },
                mtp,
            });
            next = end;
        }
    }
    // Dealt chunk by chunk over all ranks; kept rank by rank.
    let pp = usize::try_from(input.pp).unwrap_or(usize::MAX);
    let of_rank = |rank: usize| dealt.iter().skip(rank).step_by(pp).cloned();
    StageLayout {
        pp: input.pp,
        vpp,
        chunks: (0..pp).flat_map(of_rank).collect(),
    }
}
