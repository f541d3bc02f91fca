//! Multi-token prediction: what one depth has besides its transformer layer and final norm.

pub(crate) mod ops;

use super::norm::norm;
use super::tensor::{Component, Holding, ParamTensor, Shape, factor};
use super::{hidden, tp};
use crate::config::job::Module;
use crate::source::{MTP, Prose};

/// The norms of the embedding and of the hidden states, and the projection that joins them.
pub(crate) fn parameters(m: &Module, out: &mut Vec<ParamTensor>) {
    out.push(norm(m, Component::EnormHnorm, "enorm", hidden(m), MTP));
    out.push(norm(m, Component::EnormHnorm, "hnorm", hidden(m), MTP));
    out.push(ParamTensor {
        component: Component::EhProj,
        name: "eh_proj.weight",
        shape: Shape::of(&[factor("2·h", 2 * m.args.hidden_size), hidden(m)]).over(tp(m)),
        holding: Holding::TpSharded,
        dimensions: 2,
        source: Prose::new(MTP),
    });
}
