//! The verdict on a job: whether it fits its GPU, or why its estimate cannot say so. It is the same on the page, in the
//! JavaScript API, in exports and in embeds.

use super::amount::{Scale, Unit};
use crate::config::job::Config;
use crate::config::not_modelled::NotModelled;
use crate::fit::Measured;
use crate::units::Bytes;

/// The verdict on a job that Megatron runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No GPU is chosen.
    Unknown,
    /// It fits even with the largest overheads.
    Fits,
    /// It fits with the smallest overheads, but not with the largest.
    Tight,
    /// It does not fit even with the smallest overheads.
    DoesNotFit,
    /// The estimate is that of another job: one without what the job's [marks](Config::not_modelled) name.
    NotThisJob,
}

impl Verdict {
    /// The verdict on a job where a device shows from `low` to `high` bytes, as [`device`](super::summary::device)
    /// gives them.
    #[must_use]
    pub fn of(config: &Config, (low, high): (Bytes, Bytes)) -> Self {
        match config.gpu_memory() {
            _ if !config.not_modelled().is_empty() => Self::NotThisJob,
            gpu => Self::of_memory(gpu, (low, high)),
        }
    }

    /// The verdict on a job without marks, where a device shows from `low` to `high` bytes.
    #[must_use]
    pub fn of_memory(gpu: Option<Bytes>, (low, high): (Bytes, Bytes)) -> Self {
        match gpu {
            None => Self::Unknown,
            Some(gpu) if low > gpu => Self::DoesNotFit,
            Some(gpu) if high > gpu => Self::Tight,
            Some(_) => Self::Fits,
        }
    }

    /// The verdict on a measured job, by its numbers alone.
    #[must_use]
    pub fn of_measured(memory: &Measured) -> Self {
        match memory.gpu {
            None => Self::Unknown,
            Some(gpu) if memory.low > gpu => Self::DoesNotFit,
            Some(gpu) if memory.high > gpu => Self::Tight,
            Some(_) => Self::Fits,
        }
    }

    /// The verdict in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unknown => "No GPU chosen",
            Self::Fits => "Fits",
            Self::Tight => "Tight",
            Self::DoesNotFit => "Does not fit",
            Self::NotThisJob => "Estimate of another job",
        }
    }

    /// A sign that tells the verdicts apart without color.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Unknown => "?",
            Self::Fits => "✓",
            Self::Tight => "!",
            Self::DoesNotFit => "✕",
            Self::NotThisJob => "≠",
        }
    }

    /// The verdict's name in style sheets.
    #[must_use]
    pub const fn style(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Fits => "fits",
            Self::Tight => "tight",
            Self::DoesNotFit => "over",
            Self::NotThisJob => "not-this-job",
        }
    }

    /// The verdict's name in programs; `None` where no GPU is chosen, so that there is no verdict.
    #[must_use]
    pub const fn id(self) -> Option<&'static str> {
        match self {
            Self::Unknown => None,
            Self::Fits => Some("fits"),
            Self::Tight => Some("tight"),
            Self::DoesNotFit => Some("does_not_fit"),
            Self::NotThisJob => Some("not_this_job"),
        }
    }
}

/// The reason of [`Verdict::of`] in words.
#[must_use]
pub fn reason(config: &Config, (low, high): (Bytes, Bytes)) -> String {
    if let Some(reason) = another_job(config) {
        return reason;
    }
    let scale = Scale::fine(Unit::Gib);
    let Some(gpu) = config.gpu_memory() else {
        return String::from("no GPU is chosen");
    };
    format!(
        "the device shows {} to {}, and the GPU has {}",
        scale.amount(low),
        scale.amount(high),
        scale.amount(gpu)
    )
}

/// Why the estimate of a job is that of another one, such as `perform_rl_step is not modelled: …`; `None` for jobs
/// without marks.
#[must_use]
pub fn another_job(config: &Config) -> Option<String> {
    let marks = config.not_modelled().iter();
    let reasons: Vec<String> = marks.map(ToString::to_string).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// The headline of a job with marks, such as `Estimate of another job: use_megatron_fsdp is not modelled`; `None` for
/// jobs without marks.
#[must_use]
pub fn headline(marks: &[NotModelled]) -> Option<String> {
    let keys: Vec<&str> = marks.iter().map(|mark| mark.key.as_str()).collect();
    let (last, others) = keys.split_last()?;
    let (keys, verb) = match others {
        [] => ((*last).to_owned(), "is"),
        _ => (format!("{} and {last}", others.join(", ")), "are"),
    };
    let words = Verdict::NotThisJob.words();
    Some(format!("{words}: {keys} {verb} not modelled"))
}
