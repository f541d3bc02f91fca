//! The memory that is printed at different moments in the life of a job.

use super::amount::Scale;
use super::charts::Subject;
use crate::memory::MomentPeak;

/// One moment, for the chosen stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MomentRow {
    /// The moment in words.
    pub moment: &'static str,
    /// `torch.cuda.memory_allocated` at the end of the moment.
    pub steady: String,
    /// `torch.cuda.max_memory_allocated` of all that the job has been through by then.
    pub peak: String,
}

/// The moments of the chosen stage, in the order in which a job meets them.
#[must_use]
pub fn rows(subject: &Subject<'_>) -> Vec<MomentRow> {
    let stage = subject.estimate.stage(subject.stage);
    let moments = stage.map(|stage| stage.moments).unwrap_or_default();
    let scale = Scale::fine(subject.unit);
    let row = |of: MomentPeak| MomentRow {
        moment: of.moment.label(),
        steady: scale.amount(of.steady),
        peak: scale.amount(of.total),
    };
    moments.map(row).into()
}
