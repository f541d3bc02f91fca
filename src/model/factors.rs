//! Factors of shapes that most layers have.

use super::tensor::{Factor, factor};
use crate::config::job::Module;

/// The factor of the hidden size.
pub(crate) fn hidden(m: &Module) -> Factor {
    factor("h", m.args.hidden_size)
}

/// The divisor of TP-sharded tensors.
pub(crate) fn tp(m: &Module) -> Factor {
    factor("TP", m.tensor_parts())
}
