//! What a pipeline rank runs: its layers, those that are alike counted together, and the ends of the model.

use crate::config::choices::RecomputeModule;
use crate::config::job::Module;
use crate::config::layers::Layer;
use crate::memory::savings::Choice;

/// The layers of a pipeline rank, and whether it has the ends of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RankLayers {
    /// Layers that are alike and of which the same parts run again, with their number.
    pub(super) layers: Vec<(Layer, Again, u128)>,
    /// Chunks with the embedding.
    pub(super) embeddings: u128,
    /// Chunks with the output layer.
    pub(super) outputs: u128,
}

impl RankLayers {
    /// Those of a pipeline rank of a module with a choice of recomputation.
    pub(super) fn of(m: &Module, pp_rank: u32, choice: Choice) -> Self {
        let mut rank = Self::default();
        for chunk in m.stages.rank(pp_rank) {
            let range = chunk.layers.start as usize..chunk.layers.end as usize;
            let of_chunk = m.layers().decoder().get(range).unwrap_or_default();
            for (index, layer) in (0u64..).zip(of_chunk) {
                rank.add(*layer, Again::of(choice, index));
            }
            for _ in 0..chunk.mtp {
                for layer in m.layers().mtp() {
                    rank.add(*layer, Again::of(choice, 0));
                }
            }
            rank.embeddings += u128::from(chunk.embedding);
            rank.outputs += u128::from(chunk.output);
        }
        rank
    }

    fn add(&mut self, layer: Layer, again: Again) {
        let mut known = self.layers.iter_mut();
        match known.find(|(of, parts, _)| *of == layer && *parts == again) {
            Some((.., count)) => *count += 1,
            None => self.layers.push((layer, again, 1)),
        }
    }
}

/// The parts of a layer whose forward pass runs again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Again {
    pub(super) attention: bool,
    pub(super) mlp: bool,
    pub(super) experts: bool,
}

impl Again {
    /// The parts of the layer at this place of its chunk that run again.
    fn of(choice: Choice, index: u64) -> Self {
        let whole = match choice {
            Choice::Uniform(_) => true,
            Choice::Block(layers) => index < layers,
            Choice::Nothing | Choice::Selective(_) | Choice::Offload(_) => false,
        };
        let has = |module| match choice {
            Choice::Selective(modules) => modules.contains(module),
            Choice::Nothing | Choice::Uniform(_) | Choice::Block(_) | Choice::Offload(_) => whole,
        };
        Self {
            attention: whole,
            mlp: has(RecomputeModule::Mlp),
            experts: has(RecomputeModule::Moe),
        }
    }
}
