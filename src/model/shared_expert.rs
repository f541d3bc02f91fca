//! Shared experts, which every token visits, and their gate.

pub(crate) mod ops;

use super::mlp::fc1_width;
use super::tensor::{Component, Holding, ParamTensor, Shape, factor};
use super::{hidden, tp};
use crate::config::job::{Module, Moe};
use crate::source::{Prose, SHARED_EXPERTS};

/// Parameters of the shared experts of one layer. They are part of the dense view: split by TP.
pub(crate) fn parameters(m: &Module, moe: &Moe, out: &mut Vec<ParamTensor>) {
    if moe.shared == 0 {
        return;
    }
    let fc1 = fc1_width(m, "f_s", "2·f_s", moe.shared);
    let mut push = |component, name, shape, holding| {
        out.push(ParamTensor {
            component,
            name,
            shape,
            holding,
            dimensions: 2,
            source: Prose::new(SHARED_EXPERTS),
        });
    };
    let shape = Shape::of(&[fc1, hidden(m)]).over(tp(m));
    push(
        Component::SharedExperts,
        "mlp.shared_experts.linear_fc1.weight",
        shape,
        Holding::TpSharded,
    );
    let shape = Shape::of(&[hidden(m), factor("f_s", moe.shared)]).over(tp(m));
    push(
        Component::SharedExperts,
        "mlp.shared_experts.linear_fc2.weight",
        shape,
        Holding::TpSharded,
    );
    if m.args.moe_shared_expert_gate {
        let shape = Shape::of(&[hidden(m)]);
        push(
            Component::SharedExpertGate,
            "mlp.shared_experts.gate_weight",
            shape,
            Holding::Replicated,
        );
    }
}
