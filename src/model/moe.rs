//! Router, latent projections and routed experts.

pub(crate) mod dispatch;
pub(crate) mod experts;
pub(crate) mod ops;

use super::hidden;
use super::list::ParamList;
use super::mlp::fc1_width;
use super::tensor::{Component, Factor, Shape, Sharding, factor};
use crate::config::job::Module;
use crate::model::layer_spec::Experts;
use crate::source::{EXPERTS, LATENT, ROUTER};

/// Parameters of the router, the latent projections and the routed experts of one layer.
///
/// The bias of loss-free load balancing is a buffer and not listed.
pub(crate) fn parameters(m: &Module, moe: Experts, out: &mut ParamList<'_>) {
    let experts = factor("E", moe.num_experts);
    out.at(Component::Router, ROUTER);
    out.whole("mlp.router.weight", &[experts, hidden(m)], 2);
    if m.args.add_bias_linear {
        out.whole("mlp.router.bias", &[experts], 1);
    }
    let mut inner = hidden(m);
    if let Some(latent) = m.args.moe_latent_size {
        inner = factor("l", latent);
        out.at(Component::LatentProj, LATENT);
        out.whole("mlp.fc1_latent_proj.weight", &[inner, hidden(m)], 2);
        out.whole("mlp.fc2_latent_proj.weight", &[hidden(m), inner], 2);
        if m.args.add_bias_linear {
            out.whole("mlp.fc1_latent_proj.bias", &[inner], 1);
            out.whole("mlp.fc2_latent_proj.bias", &[hidden(m)], 1);
        }
    }
    experts_of(m, moe, inner, out);
}

/// Parameters of the routed experts, which work in a space `inner` wide.
fn experts_of(m: &Module, moe: Experts, inner: Factor, out: &mut ParamList<'_>) {
    let experts = factor("E", moe.num_experts);
    let (ep, etp) = (factor("EP", m.ep), factor("ETP", m.etp));
    let fc1 = fc1_width(m, "f_e", "2·f_e", moe.ffn_hidden_size);
    let f_e = factor("f_e", moe.ffn_hidden_size);
    out.at(Component::RoutedExperts, EXPERTS);
    let mut expert = |name, factors: &[Factor], etp: Factor, dimensions| {
        let shape = Shape::of(factors).over(ep).over(etp);
        out.push(name, shape, Sharding::Expert, dimensions);
    };
    let name = "mlp.experts.linear_fc1.weight*";
    expert(name, &[experts, fc1, inner], etp, 2);
    let name = "mlp.experts.linear_fc2.weight*";
    expert(name, &[experts, inner, f_e], etp, 2);
    if m.args.add_bias_linear {
        expert("mlp.experts.linear_fc1.bias*", &[experts, fc1], etp, 1);
        let name = "mlp.experts.linear_fc2.bias*";
        expert(name, &[experts, inner], Factor::NONE, 1);
    }
}
