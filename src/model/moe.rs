//! Router, latent projections and routed experts.

pub(crate) mod dispatch;
pub(crate) mod experts;
pub(crate) mod ops;

use super::hidden;
use super::mlp::fc1_width;
use super::tensor::{Component, Factor, Holding, ParamTensor, Shape, factor};
use crate::config::job::{Module, Moe};
use crate::source::{EXPERTS, LATENT, Prose, ROUTER};

/// Parameters of the router, the latent projections and the routed experts of one layer.
///
/// The bias of loss-free load balancing is a buffer and not listed.
pub(crate) fn parameters(m: &Module, moe: &Moe, out: &mut Vec<ParamTensor>) {
    let experts = factor("E", moe.num_experts);
    let mut replicated = |component, name, shape, dimensions, source| {
        out.push(ParamTensor {
            component,
            name,
            shape,
            holding: Holding::Replicated,
            dimensions,
            source: Prose::new(source),
        });
    };
    replicated(
        Component::Router,
        "mlp.router.weight",
        Shape::of(&[experts, hidden(m)]),
        2,
        ROUTER,
    );
    if m.args.add_bias_linear {
        replicated(
            Component::Router,
            "mlp.router.bias",
            Shape::of(&[experts]),
            1,
            ROUTER,
        );
    }
    let inner = match m.args.moe_latent_size {
        None => hidden(m),
        Some(latent) => {
            let latent = factor("l", latent);
            let component = Component::LatentProj;
            replicated(
                component,
                "mlp.fc1_latent_proj.weight",
                Shape::of(&[latent, hidden(m)]),
                2,
                LATENT,
            );
            replicated(
                component,
                "mlp.fc2_latent_proj.weight",
                Shape::of(&[hidden(m), latent]),
                2,
                LATENT,
            );
            if m.args.add_bias_linear {
                replicated(
                    component,
                    "mlp.fc1_latent_proj.bias",
                    Shape::of(&[latent]),
                    1,
                    LATENT,
                );
                replicated(
                    component,
                    "mlp.fc2_latent_proj.bias",
                    Shape::of(&[hidden(m)]),
                    1,
                    LATENT,
                );
            }
            latent
        }
    };
    experts_of(m, moe, inner, out);
}

/// Parameters of the routed experts, which work in a space `inner` wide.
fn experts_of(m: &Module, moe: &Moe, inner: Factor, out: &mut Vec<ParamTensor>) {
    let experts = factor("E", moe.num_experts);
    let (ep, etp) = (factor("EP", m.ep), factor("ETP", m.etp));
    let fc1 = fc1_width(m, "f_e", "2·f_e", moe.ffn_hidden_size);
    let f_e = factor("f_e", moe.ffn_hidden_size);
    let mut expert = |name, shape: Shape, dimensions| {
        let component = Component::RoutedExperts;
        out.push(ParamTensor {
            component,
            name,
            shape,
            holding: Holding::Expert,
            dimensions,
            source: Prose::new(EXPERTS),
        });
    };
    expert(
        "mlp.experts.linear_fc1.weight*",
        Shape::of(&[experts, fc1, inner]).over(ep).over(etp),
        2,
    );
    expert(
        "mlp.experts.linear_fc2.weight*",
        Shape::of(&[experts, inner, f_e]).over(ep).over(etp),
        2,
    );
    if m.args.add_bias_linear {
        expert(
            "mlp.experts.linear_fc1.bias*",
            Shape::of(&[experts, fc1]).over(ep).over(etp),
            1,
        );
        expert(
            "mlp.experts.linear_fc2.bias*",
            Shape::of(&[experts, inner]).over(ep),
            1,
        );
    }
}
