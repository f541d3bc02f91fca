//! The stage whose buffers are listed: its parts, its sizes and how its states are held.

use crate::config::layers::MlpKind;
use crate::memory::fsdp::StageFsdp;
use crate::memory::states::StateRules;
use crate::memory::torch_fsdp2::StageShards;
use crate::model::sizes::Sizes;
use crate::model::tensor::Sharding;
use crate::model::{Architecture, PartCounts};
use crate::parallel::stages::Chunk;

/// A stage whose buffers are listed.
pub(crate) struct Site<'a> {
    pub(crate) sizes: Sizes<'a>,
    pub(crate) rules: &'a StateRules,
    /// Whether it has the output layer of a language model.
    pub(crate) output: bool,
    /// The chunks that it runs.
    pub(crate) chunks: &'a [Chunk],
    /// The parts of each chunk.
    pub(crate) parts: Vec<PartCounts>,
    pub(crate) architecture: &'a Architecture,
    /// The parameters that Megatron FSDP splits over ranks; `None` without it.
    pub(crate) fsdp: Option<StageFsdp>,
    /// The parameters that PyTorch's FSDP2 splits over ranks; `None` without it.
    pub(crate) torch_fsdp2: Option<StageShards>,
}

impl Site<'_> {
    /// The layers of the stage whose router looks its experts up in a table of the vocabulary.
    pub(super) fn hash_layers(&self) -> u64 {
        let m = self.sizes.m;
        let hashed = m.args.moe_n_hash_layers;
        if hashed == 0 {
            return 0;
        }
        let decoder = m.layers().decoder();
        let layers = self.chunks.iter().flat_map(|chunk| chunk.layers.clone());
        let has_table = |layer: &u32| {
            let of = decoder.get(*layer as usize);
            u64::from(*layer) < hashed && of.is_some_and(|of| of.mlp == Some(MlpKind::Moe))
        };
        layers.filter(has_table).count() as u64
    }

    /// Whether any layer of the stage has routed experts.
    pub(super) fn has_experts(&self) -> bool {
        let parts = self.architecture.parts();
        self.parts.iter().any(|counts| {
            let mut held = parts.iter().zip(counts).filter(|(_, count)| **count > 0);
            held.any(|(part, _)| {
                let mut parameters = part.parameters.iter();
                parameters.any(|tensor| tensor.sharding == Sharding::Expert)
            })
        })
    }
}
