//! Statistics over the comparisons of a group of runs.

use super::compare::{Comparison, Error};
use super::run::Run;
use crate::units::Bytes;

/// The statistics of one group of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The group's name.
    pub group: String,
    /// The number of runs in the group.
    pub runs: usize,
    /// The number of runs with a prediction.
    pub compared: usize,
    /// The number of runs with a measured and predicted steady memory.
    pub steady: usize,
    /// The number of these runs whose steady memory is within 8 MiB or 0.05 %.
    pub steady_precise: usize,
    /// The number of runs with a measured and predicted peak.
    pub peaks: usize,
    /// The median absolute error of the peaks, in millionths.
    pub peak_median_ppm: Option<u64>,
    /// The 90th percentile of the absolute errors of the peaks, in millionths.
    pub peak_p90_ppm: Option<u64>,
    /// The largest absolute error of a peak, in millionths.
    pub peak_worst_ppm: Option<u64>,
}

/// The statistics of every group, in the order in which the groups first occur. A group of runs whose software or
/// moment is known is followed by the statistics of the same runs without that knowledge.
#[must_use]
pub fn summaries(compared: &[(&Run, Option<Comparison>)]) -> Vec<Summary> {
    let mut groups: Vec<&str> = Vec::new();
    for (run, _) in compared {
        if !groups.contains(&run.group.as_str()) {
            groups.push(&run.group);
        }
    }
    let members = |group| compared.iter().filter(move |(run, _)| run.group == group);
    let mut all = Vec::new();
    for group in groups {
        all.push(Summary::new(group, members(group)));
        let adjusted = |c: &Comparison| {
            let has_error = c.steady_error.or(c.peak_error).is_some();
            c.unadjusted.is_some() && has_error
        };
        if members(group).any(|(_, comparison)| comparison.as_ref().is_some_and(adjusted)) {
            let alone = members(group).map(|(run, c)| (*run, c.clone().map(Comparison::without_adjustment)));
            let alone: Vec<_> = alone.collect();
            let name = format!("{group}, software and moment not given");
            all.push(Summary::new(&name, alone.iter()));
        }
    }
    all
}

impl Comparison {
    /// The comparison with the prediction for the run's arguments alone.
    fn without_adjustment(mut self) -> Self {
        if let Some(alone) = self.unadjusted.take() {
            self.steady = alone.steady;
            self.peak = alone.peak;
            self.steady_error = alone.steady_error;
            self.peak_error = alone.peak_error;
        }
        self
    }
}

impl Summary {
    fn new<'a>(group: &str, members: impl Iterator<Item = &'a (&'a Run, Option<Comparison>)> + Clone) -> Self {
        let counted = members.clone().filter(|(run, _)| run.stale.is_none());
        let found = counted.filter_map(|(_, comparison)| comparison.as_ref());
        let steady: Vec<Error> = found.clone().filter_map(|c| c.steady_error).collect();
        let mut peaks: Vec<u64> = found
            .clone()
            .filter_map(|c| Some(c.peak_error?.ppm.unsigned_abs()))
            .collect();
        peaks.sort_unstable();
        Self {
            group: group.to_owned(),
            runs: members.count(),
            compared: found.count(),
            steady: steady.len(),
            steady_precise: steady.iter().filter(|error| error.is_precise()).count(),
            peaks: peaks.len(),
            peak_median_ppm: quantile(&peaks, 50),
            peak_p90_ppm: quantile(&peaks, 90),
            peak_worst_ppm: peaks.last().copied(),
        }
    }
}

impl Error {
    /// Whether the error is within 1 % or 100 MiB.
    #[must_use]
    pub fn is_close(self) -> bool {
        self.ppm.unsigned_abs() <= 10_000 || Bytes(self.bytes.unsigned_abs()) <= Bytes::mib(100)
    }

    /// Whether the error is within 8 MiB or 0.05 %.
    #[must_use]
    pub fn is_precise(self) -> bool {
        self.ppm.unsigned_abs() <= 500 || Bytes(self.bytes.unsigned_abs()) <= Bytes::mib(8)
    }
}

/// A percentile: the smallest of the sorted values that at least `percent` percent of them do not exceed.
pub(super) fn quantile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}
