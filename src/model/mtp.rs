//! Multi-token prediction: what one depth has besides its transformer layer and final norm.

pub(crate) mod ops;

use super::hidden;
use super::list::ParamList;
use super::tensor::{Component, factor};
use crate::config::job::Module;
use crate::source::MTP;

/// The norms of the embedding and of the hidden states, and the projection that joins them.
pub(crate) fn parameters(m: &Module, out: &mut ParamList<'_>) {
    out.at(Component::EnormHnorm, MTP);
    out.norm("enorm", hidden(m));
    out.norm("hnorm", hidden(m));
    out.at(Component::EhProj, MTP);
    let both = factor("2·h", 2 * m.args.hidden_size);
    out.split("eh_proj.weight", &[both, hidden(m)], 2);
}
