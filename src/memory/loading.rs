//! The memory that loading weights allocates on the GPU, on top of the parameters that they fill.

use super::saving::largest_parameter;
use super::{Estimate, StageRef};
use crate::config::job::Config;
use crate::model::tensor::Sharding;
use crate::units::{Bytes, multiply};

/// What the first tensor-parallel rank of a stage has on the GPU at most at a time while Megatron-Bridge loads weights of
/// Hugging Face: the pieces of one whole tensor that it sends to all ranks, and the piece that it receives itself
/// (`scatter_to_tp_ranks` in `conversion/param_mapping.py`). Nothing where tensors are not split: they are copied from the
/// host. `None` for a stage that is not there.
#[must_use]
pub fn scattered_to_load(config: &Config, estimate: &Estimate, stage: StageRef) -> Option<Bytes> {
    let m = config.modules().get(stage.module)?;
    let held = estimate.stage(stage)?;
    if m.tp <= 1 {
        return Some(Bytes::ZERO);
    }
    let piece = largest_parameter(m, held, |parameter| parameter.sharding == Sharding::TpSharded);
    let pieces = m.tp.saturating_add(1);
    Some(Bytes(multiply(multiply(piece, pieces), m.precision.bytes())))
}
