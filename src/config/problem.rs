//! Problems of a job, whose fields are rows of the table of fields.

use super::fields::FieldId;
use crate::parallel::problem;

pub use problem::{Change, Repair, Severity};

/// One problem of a job.
pub type Problem = problem::Problem<FieldId>;

/// A change of one field that would remove a problem.
pub type Fix = problem::Fix<FieldId>;

/// Rules whose violation is a warning while a job is planned, since only Megatron's scheduler refuses it, when training
/// starts.
const REFUSED_AT_START: [&str; 2] = ["microbatches_fill_group", "last_group"];

/// Whether only Megatron's schedule refuses what breaks the rule of this name.
pub(crate) fn is_refused_at_start(rule: &str) -> bool {
    REFUSED_AT_START.contains(&rule)
}

impl Problem {
    /// Whether Megatron refuses to train with it, at once or when training starts.
    #[must_use]
    pub fn keeps_from_training(&self) -> bool {
        self.is_error() || is_refused_at_start(self.rule)
    }
}
