//! The sizes of a module that follow from its arguments, before and after its check.

use super::context::ModuleContext;
use super::fields::Args;
use super::job::Activation;
use super::rank_ranges::RankRange;

/// Sizes of a module. A job that breaks rules has them too: they are rounded down where they do not divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleSizes {
    /// First rank of the module's span.
    pub(crate) rank_offset: u64,
    /// Tensor-parallel size.
    pub(crate) tp: u64,
    /// Pipeline-parallel size.
    pub(crate) pp: u64,
    /// Context-parallel size.
    pub(crate) cp: u64,
    /// Expert-parallel size.
    pub(crate) ep: u64,
    /// Expert-tensor-parallel size.
    pub(crate) etp: u64,
    /// Data-parallel size of the dense view, at least 1.
    pub(crate) dp: u64,
    /// Data-parallel size of the expert view, at least 1.
    pub(crate) edp: u64,
    /// The MLP's activation.
    pub(crate) activation: Activation,
    /// Inner width of the dense MLP.
    pub(crate) ffn_hidden_size: u64,
    /// Width of one head.
    pub(crate) kv_channels: u64,
    /// Key and value heads.
    pub(crate) num_query_groups: u64,
    /// Vocabulary after padding.
    pub(crate) padded_vocab_size: u64,
    /// MTP depths; 0 without MTP.
    pub mtp_num_layers: u64,
    /// Samples of one optimizer step.
    pub(crate) global_batch_size: u64,
    /// Micro batches of one optimizer step on each rank, at least 1.
    pub(crate) num_microbatches: u64,
}

impl ModuleSizes {
    /// The sizes of a module with these arguments, without those of packed samples, and the ranks that it has.
    pub(super) fn new(a: &Args, context: &ModuleContext<'_>, range: Option<&RankRange>) -> (Self, u64) {
        let tp = a.tensor_model_parallel_size;
        let pp = a.pipeline_model_parallel_size;
        let cp = a.context_parallel_size;
        let ep = a.expert_model_parallel_size;
        let etp = a
            .expert_tensor_parallel_size
            .unwrap_or_else(|| range.map_or(tp, |range| range.default_etp(tp)));
        let copy = tp.saturating_mul(pp).saturating_mul(cp);
        let world_size = match range {
            Some(range) if range.ranks > 0 => range.ranks,
            _ => a
                .world_size
                .unwrap_or_else(|| copy.saturating_mul(a.data_parallel_size.unwrap_or(1))),
        };
        let dp = (world_size / copy).max(1);
        let expert_copy = etp.saturating_mul(ep).saturating_mul(pp);
        let samples = context.samples(a, dp);
        let global_batch_size = a.global_batch_size.unwrap_or(samples);
        let multiple = a.make_vocab_size_divisible_by.saturating_mul(tp);
        let padded = a
            .vocab_size
            .map_or(1, |v| v.div_ceil(multiple).saturating_mul(multiple));
        let sizes = Self {
            rank_offset: range.map_or(0, |range| range.offset),
            tp,
            pp,
            cp,
            ep,
            etp,
            dp,
            edp: (world_size / expert_copy).max(1),
            activation: activation(a),
            ffn_hidden_size: a.ffn_hidden_size.unwrap_or_else(|| default_ffn(a)),
            kv_channels: a
                .kv_channels
                .unwrap_or_else(|| (a.hidden_size / a.num_attention_heads).max(1)),
            num_query_groups: if a.group_query_attention {
                a.num_query_groups
            } else {
                a.num_attention_heads
            },
            padded_vocab_size: a.padded_vocab_size.unwrap_or(padded),
            mtp_num_layers: a.mtp_num_layers.unwrap_or(0),
            global_batch_size,
            num_microbatches: (global_batch_size / samples).max(1),
        };
        (sizes, world_size)
    }

    /// Ranks of one copy of the model, as `validate_args` calls them: TP · PP · CP.
    pub(super) fn total_model_size(&self) -> u64 {
        self.tp.saturating_mul(self.pp).saturating_mul(self.cp)
    }
}

fn activation(a: &Args) -> Activation {
    match (a.swiglu, a.squared_relu, a.quick_geglu, a.geglu) {
        (true, ..) if a.kimi_attn_res_block_size.is_some() => Activation::SiTu,
        (true, ..) => Activation::SwiGlu,
        (_, true, ..) => Activation::SquaredRelu,
        (_, _, true, _) => Activation::QuickGeGlu,
        (.., true) => Activation::GeGlu,
        _ => Activation::Gelu,
    }
}

/// Megatron-LM's width of an MLP that was given none (`validate_args`): 4·h, or with `SwiGLU` 8/3·h
/// rounded down to a multiple of 64.
fn default_ffn(a: &Args) -> u64 {
    let four = a.hidden_size.saturating_mul(4);
    if a.swiglu {
        (four.saturating_mul(2) / 3 / 64 * 64).max(64)
    } else {
        four
    }
}
