//! The options of a search: the settings that it varies, and their bounds.

use serde::{Deserialize, Serialize};

use super::axis::Axis;
use super::fields::number;
use crate::config::fields::FieldId;
use crate::config::raw::RawJob;
use crate::parallel::mimo::LANGUAGE_MODULE;

/// How layers are split over stages where the pipeline-parallel size varies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Split {
    /// As the job says: evenly, by its pipeline layout, or with its numbers of layers of the first and last stage.
    #[default]
    AsGiven,
    /// Evenly, with fewer layers in the last stage where the number of layers is not divisible.
    RestInLastStage,
}

/// By what layouts that fit are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// By the predicted time of a step.
    #[default]
    Time,
    /// By what they cost on top of the model's own work, and by the GPUs of a replica: without predicted times.
    Memory,
}

/// The axes that a search varies, with their bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// The axes that vary. Everything else stays as in the job.
    pub vary: Vec<Axis>,
    /// The largest values of axes. An axis that is not listed has no bound.
    pub at_most: Vec<(Axis, u64)>,
    /// How layers are split over stages.
    pub split: Split,
    /// By what layouts are ordered.
    pub order: Order,
}

impl Options {
    /// The default options for a job: TP (at most the GPUs of a node) and PP vary, EP where the job has experts, and
    /// every other parallel size that the job sets above 1.
    #[must_use]
    pub fn usual(job: &RawJob) -> Self {
        let language = job.modules.iter().position(|m| m.name == LANGUAGE_MODULE);
        let number = |field| number(job, language.unwrap_or(0), field);
        let size = |axis: Axis| number(axis.field()).unwrap_or(1);
        let experts = number(FieldId::num_experts).is_some_and(|experts| experts > 0);
        let worth = |axis: &Axis| match axis {
            Axis::Pipeline | Axis::Tensor => true,
            Axis::Expert => experts,
            Axis::Virtual | Axis::Context => size(*axis) > 1,
            Axis::ExpertTensor => experts && size(*axis) > 1,
            Axis::Training | Axis::Gpus | Axis::MicroBatch | Axis::Recompute => false,
        };
        let node = number(FieldId::gpus_per_node);
        Self {
            vary: Axis::ALL.into_iter().filter(worth).collect(),
            at_most: node.map(|node| (Axis::Tensor, node)).into_iter().collect(),
            split: Split::AsGiven,
            order: Order::default(),
        }
    }

    /// The largest number of GPUs: the bound where GPUs vary and have one above the job's own number.
    pub(super) fn most_gpus(&self, world_size: u64) -> u64 {
        let bound = self.at_most.iter().find(|(of, _)| *of == Axis::Gpus);
        match bound {
            Some((_, most)) if self.vary.contains(&Axis::Gpus) => world_size.max(*most),
            _ => world_size,
        }
    }
}
