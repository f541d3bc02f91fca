//! What shared experts keep.

use crate::config::choices::RecomputeModule;
use crate::model::layer_spec::Experts;
use crate::model::linear::{Linear, column, input_gradient, products, row, shape_of};
use crate::model::mlp::fc1_width;
use crate::model::mlp::ops::activation_input;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, TensorId};
use crate::model::tensor::{Shape, factor};
use crate::model::{hidden, tp};
use crate::source::SHARED_EXPERTS;

/// The shared experts of one layer, if there are any; returns their output.
pub(crate) fn ops(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    moe: Experts,
    normed: TensorId,
) -> Option<TensorId> {
    if moe.shared == 0 {
        return None;
    }
    let (m, bytes) = (sizes.m, sizes.width());
    let (fc1, f_s) = (
        fc1_width(m, "f_s", "2·f_s", moe.shared),
        factor("f_s", moe.shared),
    );
    tape.at(Family::Experts, SHARED_EXPERTS);
    let start = tape.here();
    let inner = tape.tensor(
        "shared experts: output of linear_fc1",
        sizes.columns(&[fc1]),
        bytes,
    );
    let weight = Shape::of(&[fc1, hidden(m)]).over(tp(m));
    let linear = Linear {
        name: "shared_experts.linear_fc1",
        input: normed,
        width: hidden(m),
        output: inner,
        weight,
    };
    // The router keeps the same tensor.
    let sharing = &sizes.sharing();
    if m.args.moe_shared_expert_overlap && m.sequence_parallel {
        // While tokens travel, the gathered input is at hand, and autograd keeps that instead of this rank's part.
        let whole = tape.tensor("shared experts: gathered input", sizes.gathered(), bytes);
        let gathered = Linear {
            input: whole,
            ..linear
        };
        let gradient = shape_of(tape, inner);
        linear.op(tape);
        products(sharing, tape, &gathered, None, gradient);
        input_gradient(sizes, tape, sizes.gathered());
        tape.forward(&[whole]);
    } else {
        column(sharing, tape, linear);
    }
    let activated = tape.tensor(
        "shared experts: output of the activation function",
        sizes.columns(&[f_s]),
        bytes,
    );
    let kept = activation_input(sizes, tape, inner);
    tape.op("shared_experts.activation_func", &[inner], &[activated])
        .saves(&[kept]);
    let mut output = tape.tensor("shared experts: output", sizes.residual(), bytes);
    let weight = Shape::of(&[hidden(m), f_s]).over(tp(m));
    row(
        sizes,
        tape,
        Linear {
            name: "shared_experts.linear_fc2",
            input: activated,
            width: f_s,
            output,
            weight,
        },
    );
    if m.args.moe_shared_expert_gate {
        let score = tape.tensor("shared experts: gate score", sizes.own_tokens(&[]), bytes);
        let gated = tape.tensor(
            "shared experts: output after the gate",
            sizes.residual(),
            bytes,
        );
        tape.op("shared_experts.gate", &[output], &[gated])
            .saves(&[output, score]);
        output = gated;
    }
    tape.section(Some(RecomputeModule::SharedExperts), start, &[normed]);
    Some(output)
}
