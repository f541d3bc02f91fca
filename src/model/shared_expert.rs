//! Shared experts, which every token visits, and their gate.

pub(crate) mod ops;

use super::hidden;
use super::list::ParamList;
use super::mlp::fc1_width;
use super::tensor::{Component, factor};
use crate::config::job::Module;
use crate::model::layer_spec::Experts;
use crate::source::SHARED_EXPERTS;

/// Parameters of the shared experts of one layer. They are part of the dense view: split by TP.
pub(crate) fn parameters(m: &Module, moe: Experts, out: &mut ParamList<'_>) {
    if moe.shared == 0 {
        return;
    }
    let fc1 = fc1_width(m, "f_s", "2·f_s", moe.shared);
    let f_s = factor("f_s", moe.shared);
    out.at(Component::SharedExperts, SHARED_EXPERTS);
    let name = "mlp.shared_experts.linear_fc1.weight";
    out.split(name, &[fc1, hidden(m)], 2);
    let name = "mlp.shared_experts.linear_fc2.weight";
    out.split(name, &[hidden(m), f_s], 2);
    if m.args.moe_shared_expert_gate {
        out.at(Component::SharedExpertGate, SHARED_EXPERTS);
        out.whole("mlp.shared_experts.gate_weight", &[hidden(m)], 2);
    }
}
