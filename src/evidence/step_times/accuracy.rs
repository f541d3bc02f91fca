//! How far predicted step times are from measured ones, and how often they put layouts into the right order.

#![allow(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "times and their shares are no counts of elements or bytes"
)]

use std::collections::BTreeMap;

use super::{TimeComparison, TimedRun};
use crate::time::Replay;
use crate::time::coefficients::Coefficients;

/// Two layouts count as a pair where their measured times differ by more than this part.
const PAIR: f64 = 0.05;
/// So many first suggestions count as the top.
const TOP: usize = 3;

/// The accuracy of the times of a group of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeAccuracy {
    /// The group's name.
    pub group: String,
    /// Its runs with a prediction.
    pub runs: usize,
    /// The median distance of predicted from measured times, as a part of these.
    pub median: f64,
    /// The distance that nine of ten runs stay within.
    pub p90: f64,
    /// Pairs of layouts of one job that differ by more than 5 % and are predicted in their measured order, and all such
    /// pairs.
    pub pairs: [usize; 2],
    /// Jobs of more than three layouts whose fastest one is among the three that are predicted as the fastest, and all
    /// such jobs.
    pub top_three: [usize; 2],
    /// Jobs of three layouts and more.
    pub jobs: usize,
    /// How much slower the layout that is predicted as the fastest one is than the one that was measured as such: on
    /// average over the jobs of three layouts and more, in the order of predicted times.
    pub regret: f64,
    /// The same where crowded layouts stand behind all others.
    pub uncrowded_regret: f64,
    /// The same for a layout that is picked at random.
    pub random: f64,
}

/// A run with its prediction, by the time of a GPU for one sample.
struct Row<'a> {
    run: &'a TimedRun,
    crowded: bool,
    measured: f64,
    predicted: f64,
}

/// Pairs of runs, by their places, that are different layouts of one job and differ by more than 5 %; the faster one
/// first.
#[must_use]
pub fn pairs(compared: &[(TimedRun, Option<TimeComparison>)]) -> Vec<(usize, usize)> {
    let known = compared.iter().enumerate().filter_map(|(place, (run, comparison))| {
        let measured = comparison.as_ref()?.for_sample(run.seconds);
        Some((place, run, measured))
    });
    let known: Vec<_> = known.collect();
    let mut pairs = Vec::new();
    for (place, run, measured) in &known {
        for (other_place, other, of_other) in &known {
            let of_one_job = run.layouts_of.is_some() && run.layouts_of == other.layouts_of;
            if of_one_job && run.layout != other.layout && *of_other > (1.0 + PAIR) * measured {
                pairs.push((*place, *other_place));
            }
        }
    }
    pairs
}

/// The accuracy of every group with these coefficients, in the order in which groups first occur.
#[must_use]
pub fn accuracies(
    compared: &[(TimedRun, Option<TimeComparison>)],
    with: &Coefficients,
    replay: Replay,
) -> Vec<TimeAccuracy> {
    let rows = compared.iter().map(|(run, comparison)| {
        let comparison = comparison.as_ref()?;
        Some(Row {
            run,
            crowded: comparison.crowded,
            measured: comparison.for_sample(run.seconds),
            predicted: comparison.for_sample(comparison.seconds(with, replay)),
        })
    });
    let rows: Vec<Option<Row<'_>>> = rows.collect();
    let row = |place: usize| rows.get(place).and_then(Option::as_ref);
    let mut groups: Vec<&str> = Vec::new();
    for row in rows.iter().flatten() {
        if !groups.contains(&row.run.group.as_str()) {
            groups.push(&row.run.group);
        }
    }
    let mut of_pairs: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (fast, slow) in pairs(compared) {
        if let (Some(fast), Some(slow)) = (row(fast), row(slow)) {
            let [right, all] = of_pairs.entry(&fast.run.group).or_default();
            *right += usize::from(fast.predicted < slow.predicted);
            *all += 1;
        }
    }
    let of = |group: &&str| {
        let members = rows.iter().flatten().filter(|row| row.run.group == *group);
        TimeAccuracy {
            pairs: of_pairs.get(group).copied().unwrap_or_default(),
            ..TimeAccuracy::of(group, &members.collect::<Vec<_>>())
        }
    };
    groups.iter().map(of).collect()
}

impl TimeAccuracy {
    fn of(group: &str, rows: &[&Row<'_>]) -> Self {
        let mut errors: Vec<f64> = rows
            .iter()
            .map(|row| (row.predicted / row.measured - 1.0).abs())
            .collect();
        errors.sort_by(f64::total_cmp);
        let quantile = |place: usize| errors.get(place).copied().unwrap_or_default();
        let mut jobs: BTreeMap<usize, Vec<&Row<'_>>> = BTreeMap::new();
        for row in rows {
            if let Some(job) = row.run.layouts_of {
                jobs.entry(job).or_default().push(row);
            }
        }
        let jobs: Vec<Vec<&Row<'_>>> = jobs.into_values().filter(|layouts| layouts.len() >= TOP).collect();
        let mean = |of: &dyn Fn(&[&Row<'_>]) -> f64| {
            let sum: f64 = jobs.iter().map(|layouts| of(layouts) / best(layouts) - 1.0).sum();
            sum / (jobs.len().max(1)) as f64
        };
        let first = |order| mean(&|layouts| ranked(layouts, order).first().map_or(f64::NAN, |row| row.measured));
        let more = jobs.iter().filter(|layouts| layouts.len() > TOP);
        let hit = more.clone().filter(|layouts| {
            let top = ranked(layouts, Order::PredictedTime).into_iter().take(TOP);
            top.map(|row| row.measured).fold(f64::INFINITY, f64::min) <= best(layouts)
        });
        Self {
            group: group.to_owned(),
            runs: rows.len(),
            median: quantile(errors.len() / 2),
            p90: quantile(errors.len() * 9 / 10),
            pairs: [0, 0],
            top_three: [hit.count(), more.count()],
            jobs: jobs.len(),
            regret: first(Order::PredictedTime),
            uncrowded_regret: first(Order::CrowdedLast),
            random: mean(&|layouts| layouts.iter().map(|row| row.measured).sum::<f64>() / layouts.len() as f64),
        }
    }
}

/// The least measured time.
fn best(layouts: &[&Row<'_>]) -> f64 {
    layouts.iter().map(|row| row.measured).fold(f64::INFINITY, f64::min)
}

/// By what layouts are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// By their predicted times alone.
    PredictedTime,
    /// Crowded layouts behind all others, and both by their predicted times.
    CrowdedLast,
}

/// The layouts in that order.
fn ranked<'a>(layouts: &[&'a Row<'a>], order: Order) -> Vec<&'a Row<'a>> {
    let mut layouts = layouts.to_vec();
    layouts.sort_by(|one, other| {
        let predicted = one.predicted.total_cmp(&other.predicted);
        match order {
            Order::PredictedTime => predicted,
            Order::CrowdedLast => one.crowded.cmp(&other.crowded).then(predicted),
        }
    });
    layouts
}
