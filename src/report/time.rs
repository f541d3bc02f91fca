//! The predicted time of a step in words.

#![allow(clippy::float_arithmetic, reason = "seconds and shares are no counts")]

use super::amount::grouped;
use crate::config::job::{Config, Module};
use crate::config::step_time_calibration::StepTimeCalibration;
use crate::formats::training_log::IterationTimes;
use crate::search::{Candidate, Ranking};
use crate::time::placement::{Group, GroupKind, domain, group};
use crate::time::{NoTime, Part, StepTime};

/// A time with as many digits as tell something: `38 ms`, `1.24 s`, `62.0 s`, `3,681 s`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if seconds < 0.1 {
        format!("{:.0} ms", seconds * 1e3)
    } else if seconds < 10.0 {
        format!("{seconds:.2} s")
    } else if seconds < 1000.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{} s", grouped(whole(seconds)))
    }
}

/// How much longer or shorter a step of so many nanoseconds gets: `+22 %`, `−5 %`, `the same`.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "times are shown in percent")]
pub fn longer(before: u64, after: u64) -> String {
    let percent = 100.0 * (after as f64 / before as f64 - 1.0);
    if percent.abs() < 0.5 {
        String::from("the same")
    } else {
        let sign = if percent < 0.0 { "−" } else { "+" };
        format!("{sign}{:.0} %", percent.abs())
    }
}

/// From one time to another, with the unit once where it is the same: `1.03 to 1.49 s`.
fn between(times: [f64; 2]) -> String {
    let [low, high] = times.map(duration);
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, of_low)), Some((_, of_high))) if of_low == of_high => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// What a step takes and comes to, each with what four of five runs come to: `1.24 s a step (1.03 to 1.49 s in four of
/// five runs), 4,123 tokens/s (3,431 to 4,963) and 402 TFLOP/s (335 to 484) per GPU, MFU 41 % (34 to 49 %)`.
#[must_use]
pub fn headline(time: &StepTime) -> String {
    let with_interval = |number: f64, unit: &str| {
        let [low, high] = time.interval_of(number).map(|number| grouped(whole(number)));
        let unit_of_interval = if unit == " %" { unit } else { "" };
        format!("{}{unit} ({low} to {high}{unit_of_interval})", grouped(whole(number)))
    };
    format!(
        "{} a step ({} in four of five runs), {} and {} per GPU, MFU {}",
        duration(time.seconds),
        between(time.interval),
        with_interval(time.tokens_per_second_per_gpu, " tokens/s"),
        with_interval(time.tflops_per_gpu(), " TFLOP/s"),
        with_interval(100.0 * time.mfu, " %"),
    )
}

/// How TFLOP/s and MFU are counted.
pub const CONVENTION: &str = "TFLOP/s and MFU count what Megatron's logs count: the model's operations without what is recomputed, and of causal \
    attention the half under the mask.";

/// The same in a few words: `a step of 1.24 s (1.03 to 1.49 s) · 4,123 tokens/s per GPU · MFU 41 %`.
#[must_use]
pub fn line(time: &StepTime) -> String {
    format!(
        "a step of {} ({}) · {} tokens/s per GPU · MFU {:.0} %",
        duration(time.seconds),
        between(time.interval),
        grouped(whole(time.tokens_per_second_per_gpu)),
        100.0 * time.mfu,
    )
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tokens of a second are positive and below 2^63"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// The time of a step with its interval, what it comes to, and what it is spent on; or why there is none.
#[must_use]
pub fn sentence(config: &Config, time: &Result<StepTime, NoTime>) -> String {
    match time {
        Ok(time) => {
            let calibration = calibration(config).map_or_else(String::new, |words| format!(", {words}"));
            format!("About {}{calibration}. {}", headline(time), bottleneck(config, time))
        }
        Err(why) => no_time(why),
    }
}

/// Why no time is predicted, as a sentence.
#[must_use]
pub fn no_time(why: &NoTime) -> String {
    format!("No step time is predicted: {why}.")
}

/// The part of a step to look at first, and what would shorten it.
#[must_use]
pub fn bottleneck(config: &Config, time: &StepTime) -> String {
    let part = time.bottleneck();
    let share = 100.0 * time.part(part) / time.seconds;
    let why = config.modules().first().map(|m| reason(part, m)).unwrap_or_default();
    format!("{share:.0} % of the step is {}{why}.", part.label())
}

/// What the time of a part comes from, and which setting would change it.
fn reason(part: Part, m: &Module) -> String {
    let a = m.args();
    match part {
        Part::Compute | Part::Attention if a.recompute_granularity.is_some() => ", with what is recomputed".to_owned(),
        Part::Compute | Part::Attention => String::new(),
        Part::TensorParallel => exchanged(m, GroupKind::Tensor),
        Part::ExpertParallel => exchanged(m, GroupKind::Expert),
        Part::ContextParallel => exchanged(m, GroupKind::Context),
        Part::Pipeline => {
            let (stages, batches) = (a.pipeline_model_parallel_size, m.derived().num_microbatches);
            format!(": {stages} stages have {batches} micro batches; more of them, or more chunks a stage, wait less")
        }
        Part::DataParallel if !a.overlap_grad_reduce => {
            ": overlap_grad_reduce and overlap_param_gather hide most of it".to_owned()
        }
        Part::DataParallel => ": more micro batches a step hide more of it".to_owned(),
        Part::Optimizer if !a.use_distributed_optimizer => {
            ": use_distributed_optimizer shares it among data-parallel ranks".to_owned()
        }
        Part::Optimizer => ": more micro batches a step make it count less".to_owned(),
        Part::Host => ": CUDA graphs, or larger micro batches, need fewer launches".to_owned(),
    }
}

/// A time in nanoseconds with as many digits as tell something.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "a time in seconds")]
pub fn duration_of(nanoseconds: u64) -> String {
    duration(nanoseconds as f64 * 1e-9)
}

/// The predicted time of a step of an alternative with its rank: `1.24 s · rank 2, a tie · nearly full`; `None` where none
/// is predicted.
#[must_use]
pub fn ranked_step(candidate: Option<&Candidate>, ranking: &Ranking) -> Option<String> {
    let step = duration_of(candidate?.step_nanoseconds?);
    let rank = ranking.rank.map(|rank| format!("rank {rank}"));
    let nearly_full = ranking.is_nearly_full.then(|| String::from("nearly full"));
    let words = [Some(step), rank, nearly_full].into_iter().flatten();
    Some(words.collect::<Vec<_>>().join(" · "))
}

/// A part of a step as a piece of a bar of a thousand units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartShare {
    /// The part.
    pub part: Part,
    /// Where the piece begins.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
    /// The part with its time and its share: `attention 0.31 s, 7 %`.
    pub words: String,
}

/// The parts of a step that take a thousandth of it or more, in the order of a bar.
#[must_use]
pub fn shares(time: &StepTime) -> Vec<PartShare> {
    let mut end = 0.0;
    let shares = time.by_part().map(|(part, seconds)| {
        let share = seconds.max(0.0) / time.seconds;
        let from = whole(end);
        end += 1000.0 * share;
        PartShare {
            part,
            from,
            to: whole(end),
            words: format!("{} {}, {:.0} %", part.label(), duration(seconds), 100.0 * share),
        }
    });
    shares.filter(|share| share.to > share.from).collect()
}

/// Seconds of an iteration as a log has them.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "a time in seconds")]
pub fn measured_seconds(times: &IterationTimes) -> f64 {
    times.median_tenth_ms as f64 * 1e-4
}

/// What the time of a calibrated job was calibrated on: `calibrated on your log: ±9 %`.
#[must_use]
pub fn calibration(config: &Config) -> Option<String> {
    let by = StepTimeCalibration::of(config.modules().first()?.args())?;
    let logs = match by.runs {
        1 => "your log".to_owned(),
        runs => format!("{runs} of your logs"),
    };
    Some(format!("calibrated on {logs}: ±{:.0} %", by.within_percent))
}

/// Where the ranks of a group are, and the size that would keep them within a node or `NVLink` domain.
fn exchanged(m: &Module, kind: GroupKind) -> String {
    let Group { size, together } = group(m, kind);
    let symbol = kind.symbol();
    let place = if domain(m) > m.args().gpus_per_node {
        "NVLink domain"
    } else {
        "node"
    };
    match together {
        _ if together == size => format!(", within one {place}: a smaller {symbol} exchanges less"),
        1 => format!(" across {place}s"),
        _ => format!(" across {place}s: {symbol} {together} keeps it in one {place}"),
    }
}
