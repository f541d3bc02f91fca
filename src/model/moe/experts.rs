//! What the routed experts of one rank keep.

use super::ops::{Rows, rows};
use crate::config::choices::{OffloadModule, RecomputeModule};
use crate::config::job::Moe;
use crate::model::linear::weight_gradient;
use crate::model::mlp::fc1_width;
use crate::model::sizes::Sizes;
use crate::model::tape::{Family, Tape, TensorId};
use crate::model::tensor::{Factor, Shape, factor};
use crate::source::{EXPERT_ACTIVATION, EXPERTS};

/// The experts: fc1, the activation times the router's probability, fc2.
pub(crate) fn ops(
    sizes: &Sizes<'_>,
    tape: &mut Tape,
    moe: &Moe,
    r: Rows,
    input: TensorId,
    inner: Factor,
) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let etp = factor("ETP", m.etp);
    let fc1 = fc1_width(m, "f_e", "2·f_e", moe.ffn_hidden_size);
    let f_e = factor("f_e", moe.ffn_hidden_size);
    let experts = factor("E", moe.num_experts);
    tape.at(Family::Experts, EXPERTS);
    let raw = tape.tensor(
        "experts: output of linear_fc1",
        rows(r.routed, fc1).over(etp),
        bytes,
    );
    let weight = |columns| {
        Shape::of(&[experts, columns, inner])
            .over(factor("EP", m.ep))
            .over(etp)
    };
    let gradient = weight_gradient(sizes, tape, weight(fc1));
    let start = tape.here();
    tape.op("experts.linear_fc1", &[input], &[raw])
        .saves(&[input])
        .backward(&gradient);
    tape.offload(OffloadModule::ExpertFc1, start);
    tape.at(Family::Experts, EXPERT_ACTIVATION);
    let start = tape.here();
    let inner_shape = rows(r.routed, f_e).over(etp);
    let activated = tape.tensor(
        "experts: output of the activation function",
        inner_shape,
        bytes,
    );
    let probabilities = tape.tensor(
        "probabilities of the dispatched tokens",
        Shape::of(&[r.routed]),
        probability_width(sizes),
    );
    if m.activation.gated() && m.args.bias_swiglu_fusion {
        tape.op("experts.activation_func", &[raw], &[activated])
            .saves(&[raw, probabilities]);
    } else {
        // Without a fused kernel the activation's result is kept for its product with the probability.
        let before = tape.tensor(
            "experts: activation before the probability",
            inner_shape,
            bytes,
        );
        tape.op("experts.activation_func", &[raw], &[before])
            .saves(&[raw]);
        tape.op("experts.probability", &[before], &[activated])
            .saves(&[before, probabilities]);
    }
    tape.offload(OffloadModule::MoeAct, start);
    let end = tape.here();
    tape.at(Family::Experts, EXPERTS);
    let output = tape.tensor(
        "experts: output of linear_fc2",
        rows(r.routed, inner),
        bytes,
    );
    let gradient = weight_gradient(sizes, tape, weight(f_e));
    tape.op("experts.linear_fc2", &[activated], &[output])
        .saves(&[activated])
        .backward(&gradient);
    if m.args.moe_grouped_gemm {
        let keeps = [raw, probabilities];
        tape.discarding_section(RecomputeModule::MoeAct, start..end, &keeps, &[activated]);
    }
    output
}

/// Bytes of a dispatched probability, which has the router's dtype.
fn probability_width(sizes: &Sizes<'_>) -> u64 {
    match sizes.m.args.moe_router_dtype {
        Some(crate::config::choices::RouterDtype::Fp64) => 8,
        Some(crate::config::choices::RouterDtype::Fp32) => 4,
        None => sizes.width(),
    }
}
