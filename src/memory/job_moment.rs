//! Moments in the life of a job at which memory is printed. What is allocated differs between them, above all by the
//! optimizer's states, which the first step makes.

use strum::{IntoStaticStr, VariantArray};

/// A moment at which `torch.cuda.memory_allocated` and `torch.cuda.max_memory_allocated` are read.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum JobMoment {
    /// After the first iteration of a job that starts anew: its passes ran before the optimizer had moments. Megatron-LM
    /// prints its line here with `--log-interval 1`.
    FirstIteration,
    /// After any later iteration: the passes ran beside all states of the optimizer.
    #[default]
    LaterIteration,
    /// After the first iteration of a job that resumed from a checkpoint: all states of the optimizer were loaded before.
    FirstIterationAfterResume,
    /// After iterations whose optimizer steps fp16's loss scaling skipped, before the first step that is not: there are no
    /// moments yet.
    SkippedSteps,
}

impl JobMoment {
    /// All moments, in the order in which a job meets them.
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// The name in options and files, such as `first_iteration`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The moment of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|moment| moment.name() == name)
    }

    /// The moment in words.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::FirstIteration => "after the first iteration",
            Self::LaterIteration => "after later iterations",
            Self::FirstIterationAfterResume => {
                "after the first iteration since a checkpoint was loaded"
            }
            Self::SkippedSteps => "after steps that fp16 skipped",
        }
    }

    /// Whether the optimizer's moments exist during the forward and backward passes.
    #[must_use]
    pub const fn passes_have_moments(self) -> bool {
        matches!(self, Self::LaterIteration | Self::FirstIterationAfterResume)
    }

    /// Whether an optimizer step has run.
    #[must_use]
    pub const fn steps(self) -> bool {
        !matches!(self, Self::SkippedSteps)
    }
}
