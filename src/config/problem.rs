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

/// Rules with warnings about what only Megatron-LM's own launcher refuses (`validate_args` and
/// `core_transformer_config_from_args`); other launchers train such jobs. The best fix of such a warning is what an
/// export to Megatron-LM's arguments takes instead.
const REFUSED_BY_LAUNCHER: [&str; 8] = [
    "attention_backend_local",
    "deterministic_mode",
    "offload_needs_precision_aware",
    "overlap_with_step",
    "positions",
    "rope_type",
    "sparse_attention_rope_fusion",
    "tp_comm_overlap",
];

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

    /// Whether only Megatron-LM's own launcher refuses the job for it.
    #[must_use]
    pub fn is_of_launcher(&self) -> bool {
        self.severity == Severity::Warning && REFUSED_BY_LAUNCHER.contains(&self.rule)
    }
}
