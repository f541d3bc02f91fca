//! Why the frameworks' reports differ from the estimate of a job: only what applies to it, and what it
//! comes to where that can be said.
//!
//! What a report gets wrong is found by reading both programs; how much of it is on the fullest stage
//! is counted here. The effects explain and are not made to add up: what a report misses on one stage
//! it may have counted on another.

mod fullest_stage;
mod reasons;

use crate::config::job::Module;
use crate::memory::ModuleEstimate;
use crate::units::Bytes;
use fullest_stage::{Elements, FullestStage};

/// A framework with an estimator of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Framework {
    /// Megatron-LM.
    MegatronLm,
    /// Megatron-Bridge.
    MegatronBridge,
}

impl Framework {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MegatronLm => "Megatron-LM",
            Self::MegatronBridge => "Megatron-Bridge",
        }
    }
}

/// What a difference does to a report, on the stage that really is the fullest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The report has so much less.
    Less(Bytes),
    /// The report has so much more.
    More(Bytes),
    /// It depends on other differences, or is on another stage.
    Unsaid,
}

impl Effect {
    /// The effect of counting `theirs` where `ours` is right.
    fn of(theirs: Bytes, ours: Bytes) -> Self {
        match theirs.cmp(&ours) {
            core::cmp::Ordering::Less => Self::Less(ours.saturating_sub(theirs)),
            core::cmp::Ordering::Equal => Self::Unsaid,
            core::cmp::Ordering::Greater => Self::More(theirs.saturating_sub(ours)),
        }
    }

    const fn size(self) -> Bytes {
        match self {
            Self::Less(bytes) | Self::More(bytes) => bytes,
            Self::Unsaid => Bytes::ZERO,
        }
    }
}

/// A reason why a report differs from the estimate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// A stable name.
    pub id: &'static str,
    /// Whose report it concerns.
    pub frameworks: &'static [Framework],
    /// The reason, in a sentence or two.
    pub text: String,
    /// What it does.
    pub effect: Effect,
}

/// Every known reason that applies to a module, largest effect first.
#[must_use]
pub fn differences(m: &Module, estimate: &ModuleEstimate) -> Vec<Difference> {
    let Some(fullest) = FullestStage::of(m, estimate) else {
        return Vec::new();
    };
    let mut found: Vec<Difference> = if m.args().hybrid_layer_pattern.is_some() {
        reasons::of_hybrid(&fullest)
    } else {
        let found = reasons::ALL.iter().filter_map(|reason| reason(&fullest));
        found.collect()
    };
    found.sort_by_key(|difference| core::cmp::Reverse(difference.effect.size()));
    found
}
