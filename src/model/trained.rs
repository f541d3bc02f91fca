//! The components of a module that the optimizer trains.

use super::tensor::Component;
use crate::config::job::Module;

/// Whether the optimizer trains a component of this module.
#[must_use]
pub fn trained(m: &Module, component: Component) -> bool {
    match component {
        Component::FixedPositions => false,
        Component::Projector => !m.args.projector_frozen && m.adapters.is_none(),
        Component::Adapters => true,
        _ => !m.is_frozen(),
    }
}

/// Whether nothing in a module is trained before its projector, so that autograd has no part in it.
pub(super) fn detached(m: &Module) -> bool {
    m.args.frozen && m.adapters.is_none() && !m.io.is_language()
}
