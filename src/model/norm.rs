//! Norms: their parameters, and what they keep.

use super::hidden;
use super::kernels::NormKernel;
use super::sizes::Sizes;
use super::tape::{AutogradTape, TensorId, Work};
use super::tensor::{Component, Factor, ParamTensor, Shape, factor};
use super::weights::Weights;
use crate::config::choices::Normalization;
use crate::config::job::Module;
use crate::source::Source;

/// The norm before the mixer of a layer. Transformer Engine fuses it into the linear layer that follows; it keeps its
/// parameters.
pub(crate) fn input(m: &Module) -> (NormNames, ParamTensor) {
    let weights = Weights::of(m, Component::Layernorm, Source::LayerNorms);
    (INPUT, weights.norm("input_layernorm", hidden(m)))
}

/// The norm before a Mamba mixer, which `in_proj` always has in it.
pub(crate) fn mamba(m: &Module) -> (NormNames, ParamTensor) {
    let weights = Weights::of(m, Component::Layernorm, Source::LayerNorms);
    (INPUT, weights.norm("mixer.in_proj.layer_norm", hidden(m)))
}

/// The norm before the MLP of a layer.
pub(crate) fn pre_mlp(m: &Module) -> (NormNames, ParamTensor) {
    let weights = Weights::of(m, Component::Layernorm, Source::LayerNorms);
    (PRE_MLP, weights.norm("pre_mlp_layernorm", hidden(m)))
}

/// The norm on the output of attention or of a dense MLP, where the module has such norms
/// (`TERowParallelLinearLayerNorm`); returns what is added to the residual stream.
pub(crate) fn after_branch(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    (names, parameter, of_layer): (NormNames, &'static str, &'static str),
    branch: TensorId,
) -> TensorId {
    let m = sizes.m;
    if !m.args.post_layernorm {
        return branch;
    }
    let parameter = if m.args.layer_norms_in_fp32 {
        of_layer
    } else {
        parameter
    };
    let weights = Weights::of(m, Component::Layernorm, Source::LayerNorms);
    let norm = (names, weights.norm(parameter, hidden(m)));
    residual_norm(sizes, tape, &norm, branch)
}

/// The norm after the last layer of a decoder or of an MTP depth.
pub(crate) fn after_layers(m: &Module, names: NormNames) -> (NormNames, ParamTensor) {
    let weights = Weights::of(m, Component::FinalLayernorm, Source::FinalNorm);
    (names, weights.norm("final_layernorm", hidden(m)))
}

/// The names of a norm, of its output and of its statistics.
#[derive(Clone, Copy)]
pub(crate) struct NormNames {
    pub(crate) op: &'static str,
    pub(crate) output: &'static str,
    pub(crate) statistics: &'static str,
}

const fn names(op: &'static str, output: &'static str, statistics: &'static str) -> NormNames {
    NormNames { op, output, statistics }
}

/// The operation of the norm before attention.
pub(crate) const INPUT_NAME: &str = "input_layernorm";
/// The operation of the norm before the MLP.
pub(crate) const PRE_MLP_NAME: &str = "pre_mlp_layernorm";
/// The norm before attention.
const INPUT: NormNames = names(INPUT_NAME, "input norm output", "input norm statistics");
/// The norm before the MLP.
const PRE_MLP: NormNames = names(PRE_MLP_NAME, "pre-MLP norm output", "pre-MLP norm statistics");
/// The norm after attention, and the name of its weight: in the linear layer before it, or of the layer
/// (`Gemma4DenseTransformerLayer`).
pub(crate) const POST_ATTENTION: (NormNames, &str, &str) = (
    names(
        "linear_proj.post_layernorm",
        "normed attention branch",
        "statistics of the norm after attention",
    ),
    "self_attention.linear_proj.post_layernorm",
    "post_self_attn_layernorm",
);
/// The norm after the MLP, and the same names of its weight.
pub(crate) const POST_MLP: (NormNames, &str, &str) = (
    names(
        "linear_fc2.post_layernorm",
        "normed MLP branch",
        "statistics of the norm after the MLP",
    ),
    "mlp.linear_fc2.post_layernorm",
    "post_mlp_layernorm",
);
/// The norm on compressed queries.
pub(crate) const QUERY: NormNames = names("q_layernorm", "query norm output", "query norm statistics");
/// The norm on compressed keys and values.
pub(crate) const KEY_VALUE: NormNames = names(
    "kv_layernorm",
    "key and value norm output",
    "key and value norm statistics",
);
/// The norm after routed experts, in their latent space.
pub(crate) const ROUTED_EXPERTS: NormNames = names(
    "routed_expert_norm",
    "normed output of routed experts",
    "statistics of the norm after routed experts",
);
/// The norm after the last layer.
pub(crate) const FINAL: NormNames = names("final_layernorm", "final norm output", "final norm statistics");
/// A vision encoder's norm before its layers.
pub(crate) const BEFORE_LAYERS: NormNames = names("ln_pre", "output of ln_pre", "statistics of ln_pre");
/// A vision encoder's norm after its layers.
pub(crate) const AFTER_LAYERS: NormNames = names("ln_post", "output of ln_post", "statistics of ln_post");
/// The norm in a projector.
pub(crate) const PROJECTOR_NORM: NormNames = names("norm", "projector norm output", "projector norm statistics");
/// MTP: the norm of the embedding.
pub(crate) const ENORM: NormNames = names("enorm", "MTP: normed embedding", "MTP: embedding norm statistics");
/// MTP: the norm of the hidden states.
pub(crate) const HNORM: NormNames = names(
    "hnorm",
    "MTP: normed hidden states",
    "MTP: hidden states norm statistics",
);
/// MTP: the norm after its layer.
pub(crate) const MTP_FINAL: NormNames = names(
    "MTP final_layernorm",
    "MTP: final norm output",
    "MTP: final norm statistics",
);

/// The tensors that a norm saves.
pub(crate) struct Saved {
    /// The input, or a copy of it.
    pub(crate) input: TensorId,
    /// Further copies, statistics and the weight in fp32.
    rest: Vec<TensorId>,
}

impl Saved {
    /// The latest operation keeps it.
    pub(crate) fn by(&self, tape: &mut AutogradTape) {
        tape.saves(&[self.input]);
        self.rest_by(tape);
    }

    /// The latest operation keeps what follows the input.
    pub(crate) fn rest_by(&self, tape: &mut AutogradTape) {
        tape.saves(&self.rest);
    }
}

/// What a norm over rows of this shape keeps of its input: the input itself with statistics in fp32.
///
/// PyTorch's `RMSNorm` is a chain of operations in fp32 and keeps two fp32 copies of its input instead, of which the first
/// is the input itself where that is in fp32. Of a residual stream in fp32, other norms keep a copy in the precision of
/// training: Transformer Engine computes in the precision of the norm's weight (`TELayerNormColumnParallelLinear.forward`,
/// and `MambaLayer.forward` before the norm of a mixer). Norms in fp32 keep what [`in_fp32`] lists.
pub(crate) fn saved(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    norm: NormNames,
    input: TensorId,
    rows: &dyn Fn(Factor) -> Shape,
    width: Factor,
) -> Saved {
    if sizes.kernels.norm == NormKernel::InFp32 {
        let mut kept = in_fp32(sizes, tape, norm.statistics, rows, width).into_iter();
        let input = kept.next().unwrap_or(input);
        return Saved {
            input,
            rest: kept.collect(),
        };
    }
    let statistics = rows(sizes.norm_stats());
    let statistics = tape.tensor(norm.statistics, statistics, sizes.stats_width());
    let mut saved = Saved {
        input,
        rest: Vec::new(),
    };
    let of_stream = sizes.m.stream_in_fp32() && tape.get(input).is_some_and(|input| input.width == 4);
    if sizes.kernels.norm == NormKernel::Torch && sizes.m.args.normalization == Normalization::RmsNorm {
        if !of_stream {
            saved.input = tape.tensor("norm input in fp32", rows(width), 4);
        }
        saved.rest.push(tape.tensor("normalized input in fp32", rows(width), 4));
    } else if of_stream {
        saved.input = tape.tensor("norm input in the precision of training", rows(width), sizes.width());
    }
    saved.rest.push(statistics);
    saved
}

/// What a norm with a weight keeps where PyTorch computes it in fp32, operation by operation (`_gemma4_rms_norm`): two
/// copies of its input, for each row the mean square and its reciprocal root, the normed input unless the weight is
/// frozen, and the weight.
pub(crate) fn in_fp32(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    statistics: &'static str,
    rows: &dyn Fn(Factor) -> Shape,
    width: Factor,
) -> Vec<TensorId> {
    let mut kept = copies_in_fp32(tape, statistics, rows, width).to_vec();
    if !sizes.m.is_frozen() {
        kept.push(tape.tensor("normed input in fp32", rows(width), 4));
    }
    kept.push(tape.tensor("weight of the norm in fp32", Shape::of(&[width]), 4));
    kept
}

/// What such a norm keeps of its input, with a weight or without.
pub(crate) fn copies_in_fp32(
    tape: &mut AutogradTape,
    statistics: &'static str,
    rows: &dyn Fn(Factor) -> Shape,
    width: Factor,
) -> [TensorId; 3] {
    let numbers = rows(factor("(mean square and its reciprocal root)", 2));
    [
        tape.tensor("norm input in fp32", rows(width), 4),
        tape.tensor("norm input in fp32 to be squared", rows(width), 4),
        tape.tensor(statistics, numbers, 4),
    ]
}

/// A norm of its own on the residual stream; returns its output.
pub(crate) fn residual_norm(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    norm: &(NormNames, ParamTensor),
    input: TensorId,
) -> TensorId {
    token_norm(sizes, tape, *norm, input, hidden(sizes.m))
}

/// A norm of its own on this rank's tokens, so wide; returns its output.
pub(crate) fn token_norm(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    (norm, weight): (NormNames, ParamTensor),
    input: TensorId,
    width: Factor,
) -> TensorId {
    token_norm_of(sizes, tape, (norm, weight), input, width, &|width| {
        sizes.own_tokens(&[width])
    })
}

/// A norm of its own on rows of this shape, so wide; returns its output.
pub(crate) fn token_norm_of(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    (norm, weight): (NormNames, ParamTensor),
    input: TensorId,
    width: Factor,
    rows: &dyn Fn(Factor) -> Shape,
) -> TensorId {
    tape.declare([weight]);
    let output = tape.tensor(norm.output, rows(width), sizes.width());
    let saved = saved(sizes, tape, norm, input, rows, width);
    saved.by(tape.op(norm.op, Work::MemoryBound, &[input], &[output]));
    output
}
