//! What the dense MLP keeps.

use super::fc1_width;
use crate::config::choices::RecomputeModule;
use crate::model::linear::{Linear, norm_column, row, shape_of};
use crate::model::norm::ops::PRE_MLP;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, TensorId};
use crate::model::tensor::{Shape, factor};
use crate::model::{hidden, tp};
use crate::source::{BIAS_ACTIVATION, TE_LAYERNORM_LINEAR, TE_LINEAR};

/// The dense MLP from the residual stream to the output of `linear_fc2`, with the norm before it.
pub(crate) fn ops(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let fc1 = fc1_width(m, "f", "2·f", m.ffn_hidden_size);
    let f = factor("f", m.ffn_hidden_size);
    tape.at(Family::Mlp, TE_LAYERNORM_LINEAR);
    let inner = tape.tensor("output of linear_fc1", sizes.columns(&[fc1]), bytes);
    tape.at(Family::Residual, TE_LAYERNORM_LINEAR);
    let start = tape.here();
    let linear = Linear {
        name: "linear_fc1",
        input: x,
        width: hidden(m),
        output: inner,
        weight: Shape::of(&[fc1, hidden(m)]).over(tp(m)),
    };
    let norm = norm_column(sizes, tape, PRE_MLP, linear, hidden(m));
    tape.at(Family::Mlp, BIAS_ACTIVATION);
    let activated = tape.tensor(
        "output of the activation function",
        sizes.columns(&[f]),
        bytes,
    );
    let kept = activation_input(sizes, tape, inner);
    tape.op("activation_func", &[inner], &[activated])
        .saves(&[kept]);
    tape.at(Family::Mlp, TE_LINEAR);
    let output = tape.tensor("MLP branch", sizes.residual(), bytes);
    row(
        sizes,
        tape,
        Linear {
            name: "linear_fc2",
            input: activated,
            width: f,
            output,
            weight: Shape::of(&[hidden(m), f]).over(tp(m)),
        },
    );
    if sizes.kernels.norm_in_linear {
        tape.section(Some(RecomputeModule::Mlp), start, &[x]);
    } else {
        tape.section(Some(RecomputeModule::Mlp), start + 1, &[norm]);
        tape.discarding_section(RecomputeModule::Layernorm, start..start + 1, &[x], &[norm]);
    }
    output
}

/// What the activation function keeps of its input: a copy in 1 byte, if the fused SwiGLU is told so.
pub(crate) fn activation_input(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    input: TensorId,
) -> TensorId {
    let a = &sizes.m.args;
    if !(a.activation_func_fp8_input_store && a.bias_swiglu_fusion) {
        return input;
    }
    let shape = shape_of(tape, input);
    tape.tensor("input of the activation function in fp8", shape, 1)
}
