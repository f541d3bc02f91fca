//! Measured reserved memory beside what a replay of the allocator gives, and beside the factors that stand for it where
//! none is run.

use core::fmt::Write as _;

use super::compare::{Comparison, Error, memory_of_stage};
use super::markdown::{in_mib, percent, unsigned_percent};
use super::run::{MeasuredStage, Run};
use super::summary::quantile;
use crate::config::check;
use crate::memory::reserved::{ReservedRange, unused};
use crate::memory::{RankMemory, StageRef, estimate_at};
use crate::units::Bytes;

/// The reserved memory of a run, as measured and as predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedComparison {
    /// `torch.cuda.max_memory_reserved`.
    pub measured: Bytes,
    /// The predicted peak of allocated memory with the factors, the least and the most.
    pub by_factors: (Bytes, Bytes),
    /// The predicted peak of allocated memory with what the replay leaves unused, on the ranks of the stage that have
    /// least and most.
    pub by_replay: (Bytes, Bytes),
    /// The interval around the replays.
    pub interval: (Bytes, Bytes),
}

impl ReservedComparison {
    /// The reserved memory of a run that is compared; `None` where it was not measured or is that of another job, and where
    /// no replay is run.
    #[must_use]
    pub fn of(run: &Run, comparison: &Comparison) -> Option<Self> {
        let measured = run.measured.peak_reserved.filter(|_| run.stale.is_none())?;
        let config = check(&run.job_with_software()?).config?;
        let estimate = estimate_at(&config, run.moment);
        let stages = match run.stage? {
            // Another stage than the one that allocates most may reserve most.
            MeasuredStage::Largest => 0..estimate.modules.first()?.stages.len(),
            MeasuredStage::Last | MeasuredStage::At(_) => comparison.pp_rank..comparison.pp_rank + 1,
        };
        let ranges = stages.map(|pp_rank| {
            let stage = StageRef { module: 0, pp_rank };
            let rank = RankMemory {
                stages: vec![stage],
                ..memory_of_stage(&config, &estimate, pp_rank)?
            };
            Some(ReservedRange::new(rank.total, &unused(&config, &rank, run.moment)?))
        });
        let ranges: Option<Vec<ReservedRange>> = ranges.collect();
        let range = ranges?.into_iter().max_by_key(|range| range.replayed.1)?;
        let peak = comparison.peak;
        let [factors, ..] = comparison.device.overheads;
        Some(Self {
            measured,
            by_factors: (peak + factors.low, peak + factors.high),
            by_replay: range.replayed,
            interval: (range.low, range.high),
        })
    }

    /// The error of the middle between the factors.
    #[must_use]
    pub fn error_of_factors(&self) -> Option<Error> {
        let (low, high) = self.by_factors;
        Error::new(low + Bytes(high.saturating_sub(low).0 / 2), self.measured)
    }

    /// Whether the measured value is between two others.
    fn is_inside(&self, (low, high): (Bytes, Bytes)) -> bool {
        (low..=high).contains(&self.measured)
    }

    /// The error of the replay, of the rank that has most: verdicts are on that one.
    #[must_use]
    pub fn error_of_replay(&self) -> Option<Error> {
        Error::new(self.by_replay.1, self.measured)
    }
}

/// The comparisons of reserved memory as Markdown: how far off the factors and the replay are, how many runs are inside of
/// their intervals and how wide these are on average, and each run.
#[must_use]
pub fn reserved_table(compared: &[(&Run, ReservedComparison)]) -> String {
    let mut text = String::from(
        "| Reserved memory of | Runs | Median error | Within 3 % | Worst | Inside the interval | Its width |\n\
         | --- | --: | --: | --: | --: | --: | --: |\n",
    );
    let errors = |of: fn(&ReservedComparison) -> Option<Error>| -> Vec<u64> {
        let errors = compared.iter().filter_map(|(_, c)| Some(of(c)?.ppm.unsigned_abs()));
        errors.collect()
    };
    let by_factors: fn(&ReservedComparison) -> (Bytes, Bytes) = |c| c.by_factors;
    let by_replay: fn(&ReservedComparison) -> (Bytes, Bytes) = |c| c.interval;
    for (name, mut errors, interval) in [
        (
            "The middle between the factors",
            errors(ReservedComparison::error_of_factors),
            by_factors,
        ),
        (
            "The replay of the allocator",
            errors(ReservedComparison::error_of_replay),
            by_replay,
        ),
    ] {
        let inside = compared.iter().filter(|(_, c)| c.is_inside(interval(c))).count();
        let widths = compared.iter().filter_map(|(_, c)| {
            let (low, high) = interval(c);
            Some(
                Error::new(c.measured + high.saturating_sub(low), c.measured)?
                    .ppm
                    .unsigned_abs(),
            )
        });
        let count = u64::try_from(compared.len()).unwrap_or(u64::MAX);
        let width = widths.sum::<u64>().checked_div(count);
        errors.sort_unstable();
        let close = errors.iter().filter(|ppm| **ppm <= 30_000).count();
        let percent = |ppm: Option<u64>| ppm.map(unsigned_percent).unwrap_or_default();
        _ = writeln!(
            text,
            "| {name} | {} | {} | {close} | {} | {inside} | {} |",
            errors.len(),
            percent(quantile(&errors, 50)),
            percent(errors.last().copied()),
            percent(width),
        );
    }
    text.push_str(
        "\n| Run | Reserved, MiB | By the factors | Error | By the replay | Error |\n| --- | --: | --: | --: | --: | --: |\n",
    );
    let mut rows: Vec<_> = compared.iter().collect();
    let size = |c: &ReservedComparison| c.error_of_replay().map_or(0, |error| error.ppm.unsigned_abs());
    rows.sort_by_key(|(run, c)| (core::cmp::Reverse(size(c)), &run.id));
    for (run, c) in rows {
        let range = |(low, high): (Bytes, Bytes)| match (in_mib(low), in_mib(high)) {
            (low, high) if low == high => low,
            (low, high) => format!("{low} to {high}"),
        };
        let error = |error: Option<Error>| error.map(|error| percent(error.ppm)).unwrap_or_default();
        _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            run.id,
            in_mib(c.measured),
            range(c.by_factors),
            error(c.error_of_factors()),
            range(c.by_replay),
            error(c.error_of_replay()),
        );
    }
    text
}
