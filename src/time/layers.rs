//! The nominal times of the distinct layers of a module, from which those of its chunks are added up.

use super::cost::Seconds;
use super::exchange::{Exchanges, ends, exchanges};
use super::hardware::Hardware;
use super::passes::{Passes, launched, passes, wide};
use crate::config::choices::{RecomputeGranularity, RecomputeMethod, RecomputeModule};
use crate::config::job::Module;
use crate::model::sizes::Sizes;
use crate::model::tape::AutogradTape;
use crate::model::tape::recompute::RecomputeOptions;
use crate::model::{Architecture, LayerSpec, embedding_tape, head_tape, layer_tape};
use crate::parallel::stages::Chunk;

/// Facts about a machine and its software that no argument of Megatron says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Software {
    /// Whether norms are one kernel each. Those of PyTorch are a chain of kernels that read and write eight times more.
    pub fused_norm: bool,
}

impl Default for Software {
    fn default() -> Self {
        Self { fused_norm: true }
    }
}

/// The nominal times of one chunk for one micro batch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChunkNominal {
    pub(super) forward: Seconds,
    /// With what is recomputed.
    pub(super) backward: Seconds,
    /// Layers that the host launches.
    pub(super) layers: f64,
    /// Floating-point operations of the forward pass.
    pub(super) flops: f64,
}

/// The nominal times of what chunks consist of.
#[derive(Debug)]
pub(super) struct LayerTimes {
    /// For every layer of the module, its place in `specs`.
    places: Vec<usize>,
    specs: Vec<(Passes, Exchanges)>,
    embedding: Passes,
    /// Norm, output layer and loss, with the MTP depths before them where the module has any.
    head: Passes,
    ends: Exchanges,
}

/// How often a norm that is part of a linear layer reads or writes its input forwards and backwards, fused or not.
const NORM_PASSES: [[f64; 2]; 2] = [[10.0, 11.0], [2.0, 3.0]];

impl LayerTimes {
    pub(super) fn new(m: &Module, on: &Hardware, software: Software) -> Self {
        let sizes = Sizes::new(m);
        let architecture = Architecture::new(m);
        let [of_chain, of_kernel] = NORM_PASSES;
        let norm = if software.fused_norm { of_kernel } else { of_chain };
        let options = RecomputeOptions::of(m);
        let of = |tape: &AutogradTape| passes(tape, options, (on, launched(m)), norm);
        let all = LayerSpec::all(m);
        let specs = architecture.specs().iter().map(|spec| {
            let place = all.iter().position(|other| other == spec);
            let layer = place.and_then(|place| m.layers().decoder().get(place));
            let exchanged = layer.map_or_else(Exchanges::default, |layer| exchanges(m, *layer, on));
            (of(&layer_tape(&sizes, *spec)), exchanged)
        });
        Self {
            specs: specs.collect(),
            places: (0..).map_while(|layer| architecture.place(layer)).collect(),
            embedding: of(&embedding_tape(&sizes)),
            head: of(&head_tape(&sizes, m.mtp_num_layers, true, 0)),
            ends: ends(m, on),
        }
    }

    /// The nominal times of a chunk.
    pub(super) fn chunk(&self, m: &Module, chunk: &Chunk) -> ChunkNominal {
        let a = &m.args;
        let mut out = ChunkNominal::default();
        let full = a.recompute_granularity == Some(RecomputeGranularity::Full);
        let selective = a.recompute_granularity == Some(RecomputeGranularity::Selective);
        // The first layers of the chunk that run again as a whole.
        let whole = match a.recompute_method {
            _ if !full => 0,
            Some(RecomputeMethod::Block) => a.recompute_num_layers.unwrap_or(1),
            Some(RecomputeMethod::Uniform) | None => u64::MAX,
        };
        let sends_again = selective && a.recompute_modules.contains(RecomputeModule::Moe);
        for (index, layer) in (0u64..).zip(chunk.layers.clone()) {
            let place = self.places.get(layer as usize);
            let Some((passes, exchanges)) = place.and_then(|place| self.specs.get(*place)) else {
                continue;
            };
            out.forward += passes.forward + exchanges.forward;
            out.backward += passes.backward + passes.again + exchanges.backward;
            if index < whole {
                out.backward += passes.forward + exchanges.forward;
            } else if sends_again {
                out.backward += exchanges.experts;
            }
            out.layers += 1.0;
            out.flops += passes.flops;
        }
        if chunk.embedding {
            out.forward += self.embedding.forward;
            out.backward += self.embedding.backward;
        }
        if chunk.output {
            out.forward += self.head.forward + self.ends.forward;
            out.backward += self.head.backward + self.head.again + self.ends.backward;
            out.layers += wide(u64::from(chunk.mtp));
            out.flops += self.head.flops;
        }
        out
    }
}
