//! Shared experts, which every token visits, and their gate.

use super::adapter::{self, AdapterInput};
use super::hidden;
use super::layer_spec::Experts;
use super::linear::{Linear, column, input_gradient, product, products, row, shape_of};
use super::mlp::{activation_saves, fc1_width};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Component, factor};
use super::weights::Weights;
use crate::config::choices::RecomputeModule;
use crate::source::Source;

/// The shared experts of one layer, if there are any; returns their output. They are split by TP, as dense parameters.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, moe: Experts, normed: TensorId) -> Option<TensorId> {
    if moe.shared == 0 {
        return None;
    }
    let (m, bytes) = (sizes.m, sizes.width());
    let (fc1, f_s) = (fc1_width(m, "f_s", "2·f_s", moe.shared), factor("f_s", moe.shared));
    let weights = Weights::of(m, Component::SharedExperts, Source::SharedExperts);
    tape.at(Family::Experts, Source::SharedExperts);
    let start = tape.here();
    let inner = tape.tensor("shared experts: output of linear_fc1", sizes.columns(&[fc1]), bytes);
    let name = "mlp.shared_experts.linear_fc1.weight";
    let weight = weights.column_parallel(name, &[fc1, hidden(m)], 2);
    let linear = Linear {
        name: "shared_experts.linear_fc1",
        input: normed,
        width: hidden(m),
        output: inner,
        weight,
        bias: None,
    };
    // The router keeps the same tensor.
    let sharing = &sizes.sharing();
    if m.args.moe_shared_expert_overlap && m.sequence_parallel {
        // While tokens travel, the gathered input is at hand, and autograd keeps that instead of this rank's part.
        let whole = tape.tensor("shared experts: gathered input", sizes.gathered(), bytes);
        adapter::beside(sizes, tape, &linear, |tape, linear| {
            let gathered = Linear {
                input: whole,
                ..*linear
            };
            let gradient = shape_of(tape, linear.output);
            linear.op(tape, product(sharing, tape, &gathered, None, gradient));
            products(sharing, tape, &gathered, None, gradient);
            input_gradient(sizes, tape, sizes.gathered());
            tape.forward(&[whole]);
            AdapterInput {
                tensor: whole,
                in_parts: false,
            }
        });
    } else {
        column(sharing, tape, &linear);
    }
    let activated = tape.tensor(
        "shared experts: output of the activation function",
        sizes.columns(&[f_s]),
        bytes,
    );
    let kept = activation_saves(sizes, tape, inner, sizes.columns(&[f_s]));
    tape.op(
        "shared_experts.activation_func",
        Work::MemoryBound,
        &[inner],
        &[activated],
    )
    .saves(&kept);
    let mut output = tape.tensor("shared experts: output", sizes.residual(), bytes);
    let name = "mlp.shared_experts.linear_fc2.weight";
    let weight = weights.row_parallel(name, &[hidden(m), f_s], hidden(m));
    row(
        sizes,
        tape,
        &Linear {
            name: "shared_experts.linear_fc2",
            input: activated,
            width: f_s,
            output,
            weight,
            bias: None,
        },
    );
    if m.args.moe_shared_expert_gate {
        let score = tape.tensor("shared experts: gate score", sizes.own_tokens(&[]), bytes);
        let gated = tape.tensor("shared experts: output after the gate", sizes.residual(), bytes);
        let gate = Weights::of(m, Component::SharedExpertGate, Source::SharedExperts);
        tape.declare([gate.whole("mlp.shared_experts.gate_weight", &[hidden(m)], 2)]);
        tape.op("shared_experts.gate", Work::MemoryBound, &[output], &[gated])
            .saves(&[output, score]);
        output = gated;
    }
    tape.section(Some(RecomputeModule::SharedExperts), start, &[normed]);
    Some(output)
}
