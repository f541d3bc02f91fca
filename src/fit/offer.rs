//! Changes of a job, and offers: changes that make it fit.

use super::cost::{ChangeKind, Cost, Sacrifice};
use super::job_costs::JobCosts;
use crate::config::fields::FieldId;
use crate::config::raw::RawJob;
use crate::value::Value;
use crate::verdict::Standing;

/// One change of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its kind.
    pub kind: ChangeKind,
    /// The change in words, with all that it switches on, such as `TP 8` or `exp_avg_sq in bf16 with the distributed
    /// optimizer`.
    pub label: String,
    /// Its cost.
    pub cost: Cost,
    /// The settings that it sets; null stands for a default.
    pub settings: Vec<(FieldId, Value)>,
}

/// One or two changes with which a job fits its GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The changes.
    pub changes: Vec<Change>,
    /// The index of the module that they are made in.
    pub module: usize,
    /// The memory with them.
    pub measured: Standing,
    /// The peak of the job as it is minus that with the changes, in bytes; negative where it grows.
    pub saves: i64,
    /// The costs of the job as it is.
    pub now: JobCosts,
    /// The costs of the job with the changes.
    pub then: JobCosts,
}

impl Change {
    /// Makes the change in a module of a job.
    pub fn apply(&self, job: &mut RawJob, module: usize) {
        for (field, value) in &self.settings {
            job.put(module, *field, value.clone());
        }
    }
}

/// The key by which offers are ordered: what they ask for most, the number of changes, how much longer or shorter a step
/// then is in whole percents, how far the changes are from what is set, and how many settings they change.
pub(super) type OfferKey = (Sacrifice, usize, i64, Vec<Cost>, usize);

/// A step that takes at most this much longer, in millionths of its work, takes little time.
const LITTLE_TIME: i64 = 20_000;
/// Millionths in a percent: less is below what costs tell of speed.
const PERCENT: i64 = 10_000;

impl Offer {
    /// Makes the changes in a job.
    pub fn apply(&self, job: &mut RawJob) {
        for change in &self.changes {
            change.apply(job, self.module);
        }
    }

    /// The changes in words.
    #[must_use]
    pub fn label(&self) -> String {
        let labels: Vec<&str> = self.changes.iter().map(|c| c.label.as_str()).collect();
        labels.join(", and ")
    }

    /// What the changes add to a step, in millionths of it: of its predicted time, or where none is predicted, of its
    /// work. Negative where a step gets shorter.
    #[must_use]
    pub fn added_ppm(&self) -> i64 {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let (now, then) = (self.now.step.overhead_ppm(), self.then.step.overhead_ppm());
        let Some((before, after)) = self.now.step_nanoseconds.zip(self.then.step_nanoseconds) else {
            return signed(then).saturating_sub(signed(now));
        };
        let added = i128::from(signed(after).saturating_sub(signed(before))) * 1_000_000;
        i64::try_from(added / i128::from(before.max(1))).unwrap_or(i64::MAX)
    }

    /// The key by which offers that cost less come first.
    pub(super) fn key(&self) -> OfferKey {
        let sacrifices = self.changes.iter().map(|change| self.sacrifice(change.kind));
        (
            sacrifices.max().unwrap_or(Sacrifice::Nothing),
            self.changes.len(),
            self.added_ppm() / PERCENT,
            self.changes.iter().map(|change| change.cost).collect(),
            self.changes.iter().map(|change| change.settings.len()).sum(),
        )
    }

    /// What a change of this kind asks for.
    fn sacrifice(&self, kind: ChangeKind) -> Sacrifice {
        match kind {
            ChangeKind::Free => Sacrifice::Nothing,
            ChangeKind::Context if self.then.splits_short_sequences => Sacrifice::ShortSequences,
            ChangeKind::MicroBatch
            | ChangeKind::Tensor
            | ChangeKind::Pipeline
            | ChangeKind::Expert
            | ChangeKind::ExpertTensor
            | ChangeKind::Context
            | ChangeKind::Recompute => {
                if self.added_ppm() <= LITTLE_TIME {
                    Sacrifice::LittleTime
                } else {
                    Sacrifice::Time
                }
            }
            ChangeKind::Offload => Sacrifice::HostCopies,
            ChangeKind::Fsdp => Sacrifice::Fsdp,
            ChangeKind::Precision => Sacrifice::Precision,
            ChangeKind::OptimizerOffload => Sacrifice::HostOptimizer,
            ChangeKind::MoreGpus => Sacrifice::Gpus,
            ChangeKind::Sequence => Sacrifice::WholeSamples,
        }
    }
}
