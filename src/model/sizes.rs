//! Shapes of activations on one rank: how sequence, tensor and context parallelism divide them.

use super::kernels::{Kernels, NormKernel};
use super::quantization::Fp8;
use super::tape::recompute::RecomputeOptions;
use super::tensor::{Factor, Shape, factor};
use crate::config::adapters::{Adapters, LinearModules};
use crate::config::choices::{Normalization, RecomputeModule};
use crate::config::job::Module;

/// A module with the kernels it runs: what tapes are made from.
#[derive(Clone, Copy, Debug)]
pub struct Sizes<'a> {
    /// The module.
    pub m: &'a Module,
    /// Its kernels.
    pub kernels: Kernels,
    /// The sizes of fp8 where its linear layers compute in it.
    pub fp8: Option<Fp8>,
    /// What is recomputed or offloaded, as far as it changes what linear layers keep.
    pub recompute_options: RecomputeOptions,
    /// The linear modules of the layer at hand that have adapters, or of those outside of layers.
    pub adapted: LinearModules,
}

impl<'a> Sizes<'a> {
    /// A module with the kernels that Megatron picks.
    #[must_use]
    pub fn new(m: &'a Module) -> Self {
        Self {
            m,
            kernels: Kernels::of(m),
            fp8: Fp8::of(m),
            recompute_options: RecomputeOptions::of(m),
            adapted: m.adapters().map(Adapters::outside_of_layers).unwrap_or_default(),
        }
    }

    /// The sizes of a layer in which these linear modules have adapters.
    #[must_use]
    pub fn with_adapters(mut self, adapted: LinearModules) -> Self {
        self.adapted = adapted;
        self
    }

    /// The sizes of the module as one of its layers sees it.
    #[must_use]
    pub(crate) fn of<'l>(&self, m: &'l Module) -> Sizes<'l> {
        Sizes {
            m,
            kernels: Kernels::of(m),
            ..*self
        }
    }

    /// The sizes outside of layers, whose norm is a fused one in every model.
    #[must_use]
    pub(crate) fn outside_of_layers(mut self) -> Self {
        if self.kernels.norm == NormKernel::InFp32 {
            self.kernels.norm = NormKernel::Fused;
        }
        self
    }

    /// The sizes where a linear layer keeps its input as it is, if the recipe can do that.
    #[must_use]
    pub fn sharing(mut self) -> Self {
        if let Some(fp8) = &mut self.fp8 {
            fp8.original = fp8.shares;
        }
        self
    }

    /// The sizes where the input comes out of a recompute module, if that module is chosen.
    #[must_use]
    pub fn sharing_with(self, module: RecomputeModule) -> Self {
        if self.recompute_options.recompute.is_some_and(|set| set.contains(module)) {
            self.sharing()
        } else {
            self
        }
    }

    /// Bytes of an element in the precision of training.
    #[must_use]
    pub fn width(&self) -> u64 {
        self.m.precision.bytes()
    }

    /// Bytes of an element of the residual stream between layers and between stages: four with
    /// `fp32_residual_connection` and in layers with a Mamba mixer beside attention, whatever the precision of training is.
    #[must_use]
    pub fn stream_width(&self) -> u64 {
        if self.m.stream_in_fp32() { 4 } else { self.width() }
    }

    /// Sequence and batch with up to two widths of a token.
    fn shape<const N: usize>(&self, widths: &[Factor; N]) -> Shape {
        const { assert!(N <= 2, "a token has at most two widths") };
        let mut factors = [Factor::NONE; 4];
        let all = if self.m.packing.is_some() {
            [factor("T", self.m.args.seq_length), Factor::NONE]
        } else {
            [
                factor("s", self.m.args.seq_length),
                factor("b", self.m.args.micro_batch_size),
            ]
        };
        for (slot, from) in factors.iter_mut().zip(all.iter().chain(widths)) {
            *slot = *from;
        }
        Shape::of(&factors).over(factor("CP", self.m.sequence_parts()))
    }

    /// Every token of this context-parallel rank, so wide.
    #[must_use]
    pub fn tokens<const N: usize>(&self, widths: &[Factor; N]) -> Shape {
        self.shape(widths)
    }

    /// The tokens of this rank outside tensor-parallel regions: with sequence parallelism only its share.
    #[must_use]
    pub fn own_tokens<const N: usize>(&self, widths: &[Factor; N]) -> Shape {
        let shape = self.shape(widths);
        if self.m.sequence_parallel {
            shape.over(factor("TP", self.m.tensor_parts()))
        } else {
            shape
        }
    }

    /// Every token of this context-parallel rank, with its columns split over tensor-parallel ranks.
    #[must_use]
    pub fn columns<const N: usize>(&self, widths: &[Factor; N]) -> Shape {
        self.shape(widths).over(factor("TP", self.m.tensor_parts()))
    }

    /// The residual stream, or one of several: what a half of a layer reads.
    #[must_use]
    pub fn residual(&self) -> Shape {
        self.own_tokens(&[super::hidden(self.m)])
    }

    /// All residual streams, which layers and stages pass on: one, or with hyper-connections several beside each other.
    #[must_use]
    pub fn streams(&self) -> Shape {
        if super::hyper_connections::has(self.m) {
            self.own_tokens(&[super::hyper_connections::streams(self.m), super::hidden(self.m)])
        } else {
            self.residual()
        }
    }

    /// The widest tensor that a stage sends to the next one: all residual streams, or the stream with the snapshots of all
    /// layers before the last stage.
    #[must_use]
    pub fn widest_message(&self) -> Shape {
        let first = self.m.stages().chunks().last().map(|chunk| chunk.layers.start);
        let layer = first.and_then(|first| self.m.layers().decoder().get(first as usize));
        match layer.and_then(|layer| layer.residuals) {
            Some(residuals) => super::kimi::residuals::with_snapshots(self, residuals.before.into()),
            None => self.streams(),
        }
    }

    /// The residual stream gathered over tensor-parallel ranks.
    #[must_use]
    pub fn gathered(&self) -> Shape {
        self.tokens(&[super::hidden(self.m)])
    }

    /// Numbers a norm keeps for each row: the reciprocal of its deviation, and with `LayerNorm` its mean.
    #[must_use]
    pub fn norm_stats(&self) -> Factor {
        match self.m.args.normalization {
            Normalization::LayerNorm => factor("(mean + rstd)", 2),
            Normalization::RmsNorm => factor("rstd", 1),
        }
    }

    /// Bytes of each of them.
    #[must_use]
    pub fn stats_width(&self) -> u64 {
        match (self.kernels.norm, self.m.args.normalization) {
            (NormKernel::Torch, Normalization::LayerNorm) => self.width(),
            _ => 4,
        }
    }

    /// Whether hidden values are dropped.
    #[must_use]
    pub fn hidden_dropout(&self) -> bool {
        self.m.args.hidden_dropout.0 > 0
    }

    /// Whether tensor-parallel ranks sum up partial results, which with sequence parallelism takes the whole
    /// tensor before it is scattered.
    #[must_use]
    pub fn scatters(&self) -> bool {
        self.m.sequence_parallel
    }
}
