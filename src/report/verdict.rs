//! The reason of a [`Verdict`] in words, the same on the page, in the JavaScript API, in exports and in embeds.

use super::amount::{Scale, Unit};
use crate::config::job::Config;
use crate::config::not_modelled::NotModelled;
use crate::units::Bytes;
pub use crate::verdict::{Refusal, Verdict};

/// The reason of [`Verdict::of`] in words.
#[must_use]
pub fn reason(config: &Config, (low, high): (Bytes, Bytes)) -> String {
    if let Some(reason) = refused(config).or_else(|| another_job(config)) {
        return reason;
    }
    let scale = Scale::fine(Unit::Gib);
    let Some(gpu) = config.reported_gpu_memory() else {
        return String::from("no GPU is chosen");
    };
    format!(
        "the device shows {} to {}, and the GPU has {}",
        scale.amount(low),
        scale.amount(high),
        gpu.words(low, scale)
    )
}

/// Why Megatron refuses a job when training starts; `None` for jobs that it trains.
#[must_use]
pub fn refused(config: &Config) -> Option<String> {
    let reasons = config.refused_at_launch();
    (!reasons.is_empty()).then(|| reasons.join("; "))
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
