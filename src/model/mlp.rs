//! The dense MLP, gated or not.

use super::linear::{Linear, column, norm_column, row, shape_of};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Component, Factor, Shape, factor};
use super::weights::Weights;
use super::{hidden, mamba_beside_attention, norm};
use crate::config::choices::{Launcher, RecomputeModule};
use crate::config::job::{Activation, Module};
use crate::source::Source;

/// Columns of fc1: the inner width, twice where value and gate sit side by side.
pub(crate) fn fc1_width(m: &Module, symbol: &'static str, gated_symbol: &'static str, width: u64) -> Factor {
    if m.activation.gated() {
        factor(gated_symbol, 2 * width)
    } else {
        factor(symbol, width)
    }
}

/// The dense MLP from the residual stream to the output of `linear_fc2`, with the norm before it.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let fc1 = fc1_width(m, "f", "2·f", m.ffn_hidden_size);
    let f = factor("f", m.ffn_hidden_size);
    let weights = Weights::of(m, Component::DenseMlp, Source::Mlp);
    let biases = Weights::of(m, Component::DenseMlpBias, Source::Mlp);
    let has_bias = m.args.add_bias_linear;
    tape.at(Family::Mlp, Source::TeLayernormLinear);
    let inner = tape.tensor("output of linear_fc1", sizes.columns(&[fc1]), bytes);
    tape.at(Family::Residual, Source::TeLayernormLinear);
    let start = tape.here();
    let linear = Linear {
        name: "linear_fc1",
        input: x,
        width: hidden(m),
        output: inner,
        weight: weights.column_parallel("mlp.linear_fc1.weight", &[fc1, hidden(m)], 2),
        bias: has_bias.then(|| biases.column_parallel("mlp.linear_fc1.bias", &[fc1], 1)),
    };
    let beside_attention = m.args.parallel_attention;
    let normed = if beside_attention {
        column(sizes, tape, &linear);
        x
    } else {
        norm_column(sizes, tape, norm::pre_mlp(m), &linear, hidden(m))
    };
    tape.at(Family::Mlp, Source::BiasActivation);
    let activated = tape.tensor("output of the activation function", sizes.columns(&[f]), bytes);
    let kept = activation_saves(sizes, tape, inner, sizes.columns(&[f]));
    tape.op("activation_func", Work::MemoryBound, &[inner], &[activated])
        .saves(&kept);
    tape.at(Family::Mlp, Source::TeLinear);
    let output = tape.tensor("MLP branch", sizes.residual(), bytes);
    row(
        sizes,
        tape,
        &Linear {
            name: "linear_fc2",
            input: activated,
            width: f,
            output,
            weight: weights.row_parallel("mlp.linear_fc2.weight", &[hidden(m), f], hidden(m)),
            bias: has_bias.then(|| biases.whole("mlp.linear_fc2.bias", &[hidden(m)], 1)),
        },
    );
    let output = if m.args.mamba_beside_attention {
        mamba_beside_attention::times(sizes, tape, "MLP branch times its factor", output)
    } else {
        norm::after_branch(sizes, tape, norm::POST_MLP, output)
    };
    tape.computes_weight_gradients(start);
    if sizes.kernels.norm_in_linear || beside_attention {
        tape.section(Some(RecomputeModule::Mlp), start, &[x]);
    } else {
        tape.section(Some(RecomputeModule::Mlp), start + 1, &[normed]);
        tape.discarding_section(RecomputeModule::Layernorm, start..start + 1, &[x], &[normed]);
    }
    output
}

/// What the activation function keeps, where its output has this shape: its input, and where no kernel fuses a gated
/// one, the activated half and the other half with `glu_linear_offset` added, which are multiplied (`MLP.forward`,
/// `glu`). A clamped gate is kept besides the input that it was clamped from. A gate times a factor is kept in place of
/// that input ([`Source::FalconH1Mlp`]).
pub(crate) fn activation_saves(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    input: TensorId,
    half: Shape,
) -> Vec<TensorId> {
    if sizes.m.activation == Activation::SiTu {
        return situ_saves(tape, half).to_vec();
    }
    let mut kept = if sizes.m.args.mamba_beside_attention {
        vec![tape.tensor("gate times its factor", half, sizes.width())]
    } else {
        vec![activation_input(sizes, tape, input)]
    };
    // Of Gemma 4's `fast_gelu` there is no kernel with both halves.
    let plain = sizes.m.args.mamba_beside_attention || sizes.m.args.layer_norms_in_fp32;
    let fused = fuses_gate(sizes.m) && !plain;
    if sizes.m.activation.gated() && !fused {
        let halves = ["activated half", "other half with its offset"];
        kept.extend(halves.map(|what| tape.tensor(what, half, sizes.width())));
        let clamped = sizes.m.args.activation_func_clamp_value.is_some();
        let what = "gate after it was clamped";
        kept.extend(tape.tensor_if(clamped, what, half, sizes.width()));
    }
    kept
}

/// Whether one kernel computes a gated activation function. Megatron-LM's own launcher has a flag for SwiGLU, and for
/// every other function that of GELU, which it turns off without biases (`core_transformer_config_from_args`,
/// `validate_args`); under others one flag is for all.
pub(crate) fn fuses_gate(m: &Module) -> bool {
    let a = &m.args;
    match m.activation {
        Activation::QuickGeGlu if a.launcher == Launcher::MegatronLm => a.bias_gelu_fusion && a.add_bias_linear,
        _ => a.bias_swiglu_fusion,
    }
}

/// The fp32 tensors that PyTorch saves for the backward pass of SiTU ([`Source::KimiK3Activation`]), which is no fused
/// kernel: the tanh of each half, each half with its bound, the gate and its sigmoid.
fn situ_saves(tape: &mut AutogradTape, half: Shape) -> [TensorId; 6] {
    let kept = [
        "tanh of the gate in fp32",
        "bounded gate in fp32",
        "sigmoid of the gate in fp32",
        "gate in fp32",
        "tanh of the other half in fp32",
        "bounded other half in fp32",
    ];
    kept.map(|what| tape.tensor(what, half, 4))
}

/// The tensor that the activation function saves of its input: a copy in 1 byte, if the fused SwiGLU is told so.
pub(crate) fn activation_input(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) -> TensorId {
    let a = &sizes.m.args;
    if !(a.activation_func_fp8_input_store && fuses_gate(sizes.m)) {
        return input;
    }
    let shape = shape_of(tape, input);
    tape.tensor("input of the activation function in fp8", shape, 1)
}
