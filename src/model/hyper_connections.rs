//! Hyper-connections: several residual streams beside each other, which weights of every token mix around each half of a
//! layer (`HyperConnectionModule` of Megatron-LM's dev branch).
//!
//! Before a half the streams are added up to one, each times a weight of the token. Behind it, the output of the half is
//! added to each stream, times another weight, and the streams that came in are mixed by a matrix of the token. All these
//! weights are computed in fp32 from the streams, with parameters that stay in fp32.

use core::ops::Range;

use super::norm::{NormNames, residual_norm};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Component, Factor, ParamTensor, Shape, factor};
use super::weights::Weights;
use super::{hidden, norm};
use crate::config::choices::RecomputeModule;
use crate::config::job::Module;
use crate::source::Source;

/// The names of a half's module and of its operations.
#[derive(Clone, Copy)]
pub(super) struct HalfNames {
    /// The weight that makes the weights of a token.
    mapping_proj: &'static str,
    alphas: [&'static str; 3],
    bias: &'static str,
    /// The norm that the half begins with, where it is an operation of its own.
    norm: &'static str,
    /// The operation behind the half.
    bda: &'static str,
}

/// The hyper-connection around the mixer.
pub(super) const SELF_ATTENTION: HalfNames = HalfNames {
    mapping_proj: "self_attention_hyper_connection.mapping_proj.weight",
    alphas: [
        "self_attention_hyper_connection.alpha_pre",
        "self_attention_hyper_connection.alpha_post",
        "self_attention_hyper_connection.alpha_res",
    ],
    bias: "self_attention_hyper_connection.bias",
    norm: norm::INPUT_NAME,
    bda: "self_attn_bda",
};
/// The hyper-connection around the MLP.
pub(super) const MLP: HalfNames = HalfNames {
    mapping_proj: "mlp_hyper_connection.mapping_proj.weight",
    alphas: [
        "mlp_hyper_connection.alpha_pre",
        "mlp_hyper_connection.alpha_post",
        "mlp_hyper_connection.alpha_res",
    ],
    bias: "mlp_hyper_connection.bias",
    norm: norm::PRE_MLP_NAME,
    bda: "mlp_bda",
};

/// The names of the head that makes one stream of all: its matrix, its biases and its factor.
const HEAD: [&str; 3] = ["hc_head_fn", "hc_head_base", "hc_head_scale"];

/// Whether a module has hyper-connections.
pub(super) const fn has(m: &Module) -> bool {
    m.args.enable_mhc_connections
}

/// The factor of the residual streams.
pub(super) fn streams(m: &Module) -> Factor {
    factor("n_s", m.args.mhc_num_residual_streams)
}

/// The weights that a token has for one half of a layer: one for each stream before the half, one for each behind it, and
/// a matrix.
fn mappings(m: &Module) -> Factor {
    let n = m.args.mhc_num_residual_streams;
    factor("(n_s² + 2·n_s)", n.saturating_mul(n.saturating_add(2)))
}

/// What is run again for one half, once the layer is known to be done.
pub(super) struct Discarded {
    ops: Range<usize>,
    keeps: Vec<TensorId>,
    discards: Vec<TensorId>,
}

impl Discarded {
    /// The latest operation is the last of the layer: recompute discards these until its backward pass.
    pub(super) fn at_the_end(self, tape: &mut AutogradTape) {
        tape.discarding_section(RecomputeModule::Mhc, self.ops, &self.keeps, &self.discards);
    }
}

/// The tensors that a half needs behind it, with the token's weights in the precision of training.
struct Mixing {
    post: TensorId,
    res: TensorId,
}

/// One half of a layer with its hyper-connection, from the residual streams to the residual streams. `build` makes the
/// half from one stream to its output. Returns what recompute module `mhc` discards of it as well; of the last half of a
/// layer not the streams, which the next layer keeps.
pub(super) fn around(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    names: &HalfNames,
    x: TensorId,
    build: impl FnOnce(&mut AutogradTape, TensorId) -> TensorId,
) -> (TensorId, [Discarded; 2]) {
    tape.at(Family::Residual, Source::HyperConnection);
    tape.declare(parameters(sizes.m, names));
    let (pre, mixing) = if fused(sizes.m) {
        mappings_fused(sizes, tape, x)
    } else {
        mappings_in_torch(sizes, tape, x)
    };
    tape.at(Family::Residual, Source::HyperConnection);
    let aggregated = tape.tensor("sum of the weighted streams", sizes.residual(), sizes.width());
    let first = tape.here();
    tape.op("aggregate", Work::MemoryBound, &[x, pre], &[aggregated])
        .saves(&[x, pre]);
    let branch = build(tape, aggregated);
    let normed = tape.outputs_of_named(first + 1, names.norm);
    let mut discards = vec![aggregated];
    discards.extend(&normed);
    let before = Discarded {
        ops: first..first + 1 + usize::from(!normed.is_empty()),
        keeps: vec![x, pre],
        discards,
    };
    tape.at(Family::Residual, Source::HyperConnection);
    let last = tape.here();
    let output = combine(sizes, tape, names, (x, branch), &mixing);
    let behind = Discarded {
        ops: last..last + 1,
        keeps: vec![mixing.res, x, mixing.post, branch],
        discards: vec![output],
    };
    (output, [before, behind])
}

/// The parameters around one half, which all ranks have in full and which stay in fp32 (`mark_keep_in_fp32`).
fn parameters(m: &Module, names: &HalfNames) -> Vec<ParamTensor> {
    let weights = Weights::of(m, Component::HyperConnections, Source::HyperConnection);
    let one = factor("1", 1);
    let mut all = vec![weights.whole(names.mapping_proj, &[mappings(m), streams(m), hidden(m)], 2)];
    all.extend(names.alphas.map(|alpha| weights.whole(alpha, &[one], 1)));
    all.push(weights.whole(names.bias, &[mappings(m)], 1));
    all.into_iter()
        .map(|parameter| in_rows_of_streams(m, parameter))
        .collect()
}

/// The parameter in fp32; a matrix has rows as wide as all streams.
fn in_rows_of_streams(m: &Module, parameter: ParamTensor) -> ParamTensor {
    let rows = parameter.shape.factors().next().unwrap_or(Factor::NONE);
    let parameter = parameter.kept_in_fp32();
    if parameter.dimensions == 2 {
        let rows = if rows.symbol == streams(m).symbol {
            streams(m)
        } else {
            mappings(m)
        };
        parameter.with_rows(rows)
    } else {
        parameter
    }
}

/// Whether the kernels of cuTile compute the weights of tokens: those that Megatron has are for Blackwell, and elsewhere
/// PyTorch computes them (`fused_proj_rms_compute_h`).
fn fused(m: &Module) -> bool {
    m.args.use_fused_mhc && m.gpu_generation().major() >= 10
}

/// This many numbers in fp32 of each token.
fn numbers(sizes: &Sizes<'_>, tape: &mut AutogradTape, what: &'static str, width: Factor) -> TensorId {
    tape.tensor(what, sizes.own_tokens(&[width]), 4)
}

/// The weights of tokens in the precision of training, from those in fp32.
fn rounded(sizes: &Sizes<'_>, tape: &mut AutogradTape, of: [TensorId; 3]) -> (TensorId, Mixing) {
    let n = streams(sizes.m);
    let width = sizes.width();
    let pre = tape.tensor("weights of the streams before a half", sizes.own_tokens(&[n]), width);
    let post = tape.tensor("weights of the streams behind a half", sizes.own_tokens(&[n]), width);
    let res = tape.tensor("matrices that mix the streams", sizes.own_tokens(&[n, n]), width);
    tape.op("to", Work::MemoryBound, &of, &[pre, post, res]);
    (pre, Mixing { post, res })
}

/// The weights of tokens by compiled functions of PyTorch, on a copy of the streams in fp32
/// (`_projection_and_get_norm`, `_compute_h`, `native_sinkhorn`). Kept are what the functions that PyTorch compiles keep:
/// measured on a CPU.
fn mappings_in_torch(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> (TensorId, Mixing) {
    let (n, all, one) = (streams(sizes.m), mappings(sizes.m), Factor::NONE);
    let wide = tape.tensor("residual streams in fp32", sizes.streams(), 4);
    // The gradients that come from the half and from behind it wait until all three are added up (`BroadcastTensorFused`).
    let waiting = tape.tensor("gradient of the streams from the half", sizes.streams(), sizes.width());
    tape.op("float", Work::MemoryBound, &[x], &[wide]).backward(&[waiting]);
    let projected = numbers(sizes, tape, "projected streams", all);
    let reciprocal = numbers(sizes, tape, "reciprocal lengths of the streams", one);
    let length = numbers(sizes, tape, "lengths of the streams", one);
    tape.op("native_proj_rms", Work::MemoryBound, &[wide], &[projected, reciprocal])
        .saves(&[wide, length])
        .backward(&[waiting]);
    let pre = numbers(sizes, tape, "weights before a half in fp32", n);
    let post = numbers(sizes, tape, "weights behind a half in fp32", n);
    let logits = numbers(sizes, tape, "logits of the mappings", all);
    let sigmoids = ["sigmoids before a half", "sigmoids behind a half"];
    let sigmoids = sigmoids.map(|what| numbers(sizes, tape, what, n));
    let alphas = tape.tensor("factors of the mappings", Shape::of(&[all]), 4);
    tape.op(
        "_compute_h",
        Work::MemoryBound,
        &[projected, reciprocal],
        &[pre, post, logits],
    )
    .saves(&[projected, reciprocal, alphas])
    .saves(&sigmoids)
    .backward(&[waiting]);
    let matrices = tape.tensor("doubly stochastic matrices in fp32", sizes.own_tokens(&[n, n]), 4);
    tape.op("sinkhorn", Work::MemoryBound, &[logits], &[matrices])
        .saves(&[logits])
        .backward(&[waiting]);
    rounded(sizes, tape, [pre, post, matrices])
}

/// The weights of tokens by kernels of cuTile and Triton (`CutileProjRmsComputeH`, `TritonFusedSinkhorn`), which read the
/// streams as they are.
fn mappings_fused(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> (TensorId, Mixing) {
    let (n, all) = (streams(sizes.m), mappings(sizes.m));
    tape.at(Family::Residual, Source::HyperConnectionFused);
    let waiting = tape.tensor("gradient of the streams from the half", sizes.streams(), sizes.width());
    let own = tape.tensor(
        "gradient of the streams from the mappings",
        sizes.streams(),
        sizes.width(),
    );
    let pre = numbers(sizes, tape, "weights before a half in fp32", n);
    let post = numbers(sizes, tape, "weights behind a half in fp32", n);
    let logits = tape.tensor("logits of the matrices", sizes.own_tokens(&[n, n]), 4);
    let projected = numbers(sizes, tape, "projected streams", all);
    let length = numbers(sizes, tape, "lengths of the streams", Factor::NONE);
    tape.op("proj_rms_compute_h", Work::MemoryBound, &[x], &[pre, post, logits])
        .saves(&[x, pre, post, logits, projected, length])
        .backward(&[waiting, own]);
    let exponentials = tape.tensor("exponentials of the logits", sizes.own_tokens(&[n, n]), 4);
    let matrices = tape.tensor("doubly stochastic matrices in fp32", sizes.own_tokens(&[n, n]), 4);
    tape.op("sinkhorn", Work::MemoryBound, &[logits], &[matrices])
        .saves(&[exponentials])
        .backward(&[waiting]);
    rounded(sizes, tape, [pre, post, matrices])
}

/// Mixes the streams that came in and adds the output of the half to each (`fused_h_res_h_post_bda`).
fn combine(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    names: &HalfNames,
    (x, branch): (TensorId, TensorId),
    mixing: &Mixing,
) -> TensorId {
    let (all, width) = (sizes.streams(), sizes.width());
    let output = tape.tensor("residual streams", all, width);
    // With dropout the kernels that do all at once are no help: both summands are tensors of their own.
    let drops = sizes.hidden_dropout();
    let mixed = tape.tensor_if(drops, "mixed streams", all, width);
    let expanded = tape.tensor_if(drops, "output of the half for each stream", all, width);
    let mask = tape.tensor_if(drops, "dropout mask", all, 1);
    tape.op(
        names.bda,
        Work::MemoryBound,
        &[mixing.res, x, mixing.post, branch],
        &[output],
    )
    .saves(&[mixing.res, x, mixing.post, branch])
    .saves(mask.as_slice())
    .forward(mixed.as_slice())
    .forward(expanded.as_slice());
    output
}

/// Makes the residual streams of the embedded tokens, all alike (`HyperConnectionModule.input_expand`); without
/// hyper-connections there is one.
pub(super) fn expand(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> TensorId {
    if !has(sizes.m) {
        return x;
    }
    tape.at(Family::Residual, Source::HyperConnection);
    let output = tape.tensor("residual streams", sizes.streams(), sizes.width());
    tape.op("input_expand", Work::MemoryBound, &[x], &[output]);
    output
}

/// The parameters of the head, one of the decoder and one of each MTP depth.
fn head_parameters(m: &Module) -> [ParamTensor; 3] {
    let [matrix, base, scale] = HEAD;
    let weights = Weights::of(m, Component::HyperConnections, Source::HyperConnectionHead);
    [
        weights.whole(matrix, &[streams(m), streams(m), hidden(m)], 2),
        weights.whole(base, &[streams(m)], 1),
        weights.whole(scale, &[factor("1", 1)], 1),
    ]
    .map(|parameter| in_rows_of_streams(m, parameter))
}

/// One stream of all for the final norm, and the norm (`learned_output_contract`, compiled: it keeps the streams in fp32);
/// without hyper-connections the norm alone.
pub(super) fn contract(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    norm: &(NormNames, ParamTensor),
    x: TensorId,
) -> TensorId {
    if !has(sizes.m) {
        return residual_norm(sizes, tape, norm, x);
    }
    let about = tape.about();
    tape.at(Family::Output, Source::HyperConnectionHead);
    tape.declare(head_parameters(sizes.m));
    let one = tape.tensor("weighted sum of the streams", sizes.residual(), sizes.width());
    let wide = tape.tensor("residual streams in fp32", sizes.streams(), 4);
    let of_wide = tape.tensor("gradient of the streams in fp32", sizes.streams(), 4);
    let reciprocal = numbers(sizes, tape, "reciprocal lengths of the streams", Factor::NONE);
    let mixes = numbers(sizes, tape, "weights of the streams", streams(sizes.m));
    tape.op("learned_output_contract", Work::MemoryBound, &[x], &[one])
        .saves(&[wide, reciprocal, mixes])
        .backward(&[of_wide]);
    tape.at(about.0, about.1);
    residual_norm(sizes, tape, norm, one)
}
