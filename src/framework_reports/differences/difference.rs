//! One reason why a framework's report differs from the estimate.

use crate::units::Bytes;

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

/// Both frameworks.
pub(super) const BOTH: &[Framework] = &[Framework::MegatronLm, Framework::MegatronBridge];

/// The effect of a difference on a report, on the stage that really is the fullest.
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
    pub(super) fn of(theirs: Bytes, ours: Bytes) -> Self {
        match theirs.cmp(&ours) {
            core::cmp::Ordering::Less => Self::Less(ours.saturating_sub(theirs)),
            core::cmp::Ordering::Equal => Self::Unsaid,
            core::cmp::Ordering::Greater => Self::More(theirs.saturating_sub(ours)),
        }
    }

    pub(super) const fn size(self) -> Bytes {
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
    /// Its effect.
    pub effect: Effect,
}
