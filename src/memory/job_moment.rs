//! Moments in the life of a job at which memory is printed. What is allocated differs between them, above all by the
//! optimizer's states, which the first step makes.

use serde::{Deserialize, Serialize};
use strum::{EnumCount, IntoStaticStr, VariantArray};

use crate::variants::all;

/// A moment at which `torch.cuda.memory_allocated` and `torch.cuda.max_memory_allocated` are read.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    IntoStaticStr,
    VariantArray,
    Serialize,
    Deserialize,
    EnumCount,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum JobMoment {
    /// After the first iteration of a job that starts anew: its passes ran before the optimizer had moments.
    /// Megatron-LM prints its line here with `--log-interval 1`.
    FirstIteration,
    /// After any later iteration: the passes ran beside all states of the optimizer.
    #[default]
    LaterIteration,
    /// After the first iteration of a job that resumed from a checkpoint: all states of the optimizer were loaded
    /// before.
    FirstIterationAfterResume,
    /// After iterations whose optimizer steps fp16's loss scaling skipped, before the first step that is not: there are
    /// no moments yet.
    SkippedSteps,
    /// While a checkpoint is saved in Megatron's default format, `torch_dist` with optimizer states as they are
    /// sharded: every tensor is copied to the host, and nothing is made on the GPU. What
    /// `--dist-ckpt-optim-fully-reshardable` gathers is not derived.
    SavingCheckpoint,
}

impl JobMoment {
    /// All moments.
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;
    /// All moments as an array, in the same order.
    pub const EACH: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// Whether this is the moment that is meant where none is named.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The name in options and files, such as `first_iteration`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The moment of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|moment| moment.name() == name)
    }

    /// The moment in words.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::FirstIteration => "after the first iteration",
            Self::LaterIteration => "after later iterations",
            Self::FirstIterationAfterResume => "after the first iteration since a checkpoint was loaded",
            Self::SkippedSteps => "after steps that fp16 skipped",
            Self::SavingCheckpoint => "while a checkpoint is saved",
        }
    }

    /// Whether the states that the optimizer's first step makes are there during forward and backward passes.
    #[must_use]
    pub const fn passes_beside_all_states(self) -> bool {
        !matches!(self, Self::FirstIteration | Self::SkippedSteps)
    }
}
