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

/// Whether only Megatron-LM's own launcher refuses what breaks the rule of this name, as a warning.
pub(crate) fn is_refused_by_launcher(rule: &str) -> bool {
    REFUSED_BY_LAUNCHER.contains(&rule)
}

/// Who refuses a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// Megatron, before the model is built: the job breaks a rule on its arguments, and has no estimate.
    ByRules,
    /// Megatron's schedule, when training starts: it cannot run the micro batches, although the model can be built.
    BySchedule,
    /// The launcher of the job, though others train it. The job can be estimated.
    ByLauncher,
}

impl Refusal {
    /// Its name in programs.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::ByRules => "rules",
            Self::BySchedule => "schedule",
            Self::ByLauncher => "launcher",
        }
    }
}

impl Problem {
    /// Whether the job does not train with it: Megatron refuses it, at once or when training starts, or its launcher
    /// does.
    #[must_use]
    pub fn keeps_from_training(&self) -> bool {
        self.refusal().is_some()
    }

    /// Who refuses the job for it; `None` for a warning.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        if self.is_error() {
            Some(Refusal::ByRules)
        } else if self.stops_launcher {
            Some(Refusal::ByLauncher)
        } else {
            is_refused_at_start(self.rule).then_some(Refusal::BySchedule)
        }
    }
}
