//! Changes of a job, and changes that make it fit.

use super::cost::{ChangeKind, Cost};
use crate::config::fields::FieldId;
use crate::config::raw::RawJob;
use crate::value::Value;
use crate::verdict::Standing;

/// One change of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its kind.
    pub kind: ChangeKind,
    /// The change in words, such as `TP 8` or `recompute core_attn + mlp`.
    pub label: String,
    /// What it costs.
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
}

impl Change {
    /// Makes the change in a module of a job.
    pub fn apply(&self, job: &mut RawJob, module: usize) {
        for (field, value) in &self.settings {
            job.put(module, *field, value.clone());
        }
    }
}

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
}
