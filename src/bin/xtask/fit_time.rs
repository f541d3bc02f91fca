//! `cargo xtask fit-time`: the coefficients of step times, from the measured runs of `src/evidence/step_times`.
//!
//! How fast each GPU multiplies matrices is fitted apart, to measured matrix products and no runs ([`print_products`]).
//!
//! Coordinate descent from what is known before: [`Coefficients::PRIOR`], and the factor of kernels that read and write
//! memory from those that were measured (`src/evidence/step_times/operations.json`). Every coefficient in turn is made a little
//! larger or smaller where that raises the score. The score counts pairs of layouts of one job in the order of their
//! measured times, softly, and the distance of predicted from measured times, both by group and each group by the root of
//! its size; and how much slower than the best the layout is that is predicted as the fastest, softly too, among all
//! layouts and among those that leave memory free. It falls with the distance of coefficients from what was known. No run
//! counts by its name.
//!
//! The interval of every coefficient comes from the same runs ([`intervals`](intervals::intervals)). Beside the fit stands a
//! held-out check: every model with pairs in turn is predicted by coefficients that were fitted
//! to the runs of all others.
#![allow(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "a fit of coefficients to times"
)]

mod intervals;
mod products;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use megatron_memory::evidence::{
    MeasuredOperations, OperationKind, OverNominal, TimeAccuracy, TimeComparison, TimedRun, accuracies, pairs,
    times_table,
};
use megatron_memory::time::Replay;
use megatron_memory::time::coefficients::Coefficients;
use megatron_memory::time::cost::Cost;

use super::Error;
use super::evidence::step_times;
use intervals::intervals;
pub(crate) use products::fitted_products;
use products::print_products;

/// The measured kernels.
const OPERATIONS: &str = "src/evidence/step_times/operations.json";
/// How far apart the logarithms of two predicted times are before their order counts as sure.
const SURE: f64 = 0.03;
/// The weight of the distance of predicted from measured times beside that of pairs.
const LEVEL: f64 = 0.3;
/// A run that is further off than this part counts as one that is so far off: its machine is another one.
const FARTHEST: f64 = 0.5;
/// The weight of what the first suggestion loses.
const FIRST: f64 = 1.0;
/// How far apart the logarithms of two predicted times are before the lesser one is surely suggested first.
const SURELY_FIRST: f64 = 0.02;
/// The weight of the distance of coefficients from what was known.
const KNOWN: f64 = 0.003;
/// How often all coefficients are tried, each time in steps of the root of the steps before.
const ROUNDS: u32 = 6;
/// The factor of the first steps.
const FIRST_STEP: f64 = 2.0;

/// The measured runs with their nominal times.
struct Runs {
    compared: Vec<(TimedRun, Option<TimeComparison>)>,
    /// Pairs of layouts, the faster one first.
    pairs: Vec<(usize, usize)>,
    /// The coefficients from which the fit starts: [`Coefficients::PRIOR`], with what kernels measured on a GPU give.
    prior: Coefficients,
}

impl Runs {
    fn read() -> Result<Self, Error> {
        let compared = step_times()?;
        Ok(Self {
            pairs: pairs(&compared),
            compared,
            prior: prior(&MeasuredOperations::read(&fs::read_to_string(OPERATIONS)?)?),
        })
    }

    /// How well coefficients predict the runs, each of which counts as many times as `times` says; more is better.
    fn score(&self, with: &Coefficients, times: &dyn Fn(&TimedRun) -> f64) -> f64 {
        let logarithms = self.compared.iter().map(|(run, comparison)| {
            let comparison = comparison.as_ref().filter(|_| times(run) > 0.0)?;
            let seconds = comparison.seconds(with, Replay::ClosedForm);
            Some((run, seconds.ln(), comparison.for_sample(seconds).ln()))
        });
        let logarithms: Vec<Option<(&TimedRun, f64, f64)>> = logarithms.collect();
        let run = |place: usize| logarithms.get(place).copied().flatten();
        let mut of_pairs: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for (fast, slow) in &self.pairs {
            let (Some((run, _, fast)), Some((_, _, slow))) = (run(*fast), run(*slow)) else {
                continue;
            };
            let group = of_pairs.entry(&run.group).or_default();
            group.0 += times(run) / (1.0 + ((fast - slow) / SURE).exp());
            group.1 += times(run);
        }
        let mut jobs: BTreeMap<usize, Vec<(&TimedRun, bool, f64, f64)>> = BTreeMap::new();
        for ((run, comparison), logarithm) in self.compared.iter().zip(&logarithms) {
            if let (Some(job), Some(comparison), Some((_, _, predicted))) = (run.layouts_of, comparison, logarithm) {
                let measured = comparison.for_sample(run.seconds);
                let layout = (run, comparison.crowded, measured, *predicted);
                jobs.entry(job).or_default().push(layout);
            }
        }
        let mut losses: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for layouts in jobs.values().filter(|layouts| layouts.len() > 2) {
            let Some((run, ..)) = layouts.first() else { continue };
            let best = layouts.iter().map(|layout| layout.2).fold(f64::INFINITY, f64::min);
            for with_room in [false, true] {
                let some = layouts.iter().filter(|layout| !(with_room && layout.1));
                let first = some.clone().map(|layout| layout.3).fold(f64::INFINITY, f64::min);
                let (sum, weights) = some.fold((0.0, 0.0), |(sum, weights), layout| {
                    let weight = (-(layout.3 - first) / SURELY_FIRST).exp();
                    (sum + weight * (layout.2 / best - 1.0), weights + weight)
                });
                if weights > 0.0 {
                    let of_group = losses.entry(&run.group).or_default();
                    of_group.0 += times(run) * sum / weights;
                    of_group.1 += times(run);
                }
            }
        }
        let count = losses.len().max(1) as f64;
        let loss = losses.values().map(|(sum, all)| sum / all).sum::<f64>() / count;
        let mut distances: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for (run, predicted, _) in logarithms.iter().flatten() {
            let group = distances.entry(&run.group).or_default();
            group.0 += times(run) * (predicted - run.seconds.ln()).abs().min(FARTHEST);
            group.1 += times(run);
        }
        let (mut with, mut prior) = (*with, self.prior);
        let changed = with.each_mut().zip(prior.each_mut());
        let changed: f64 = changed.map(|(now, before)| (*now / *before).ln().powi(2)).sum();
        weighted(of_pairs.into_values()) - LEVEL * weighted(distances.into_values()) - FIRST * loss - KNOWN * changed
    }

    /// The best coefficients for the runs, each of which counts as many times as `times` says.
    fn fit(&self, times: &dyn Fn(&TimedRun) -> f64) -> Coefficients {
        let mut best = self.prior;
        let mut score = self.score(&best, times);
        let count = best.each_mut().count();
        let mut step = FIRST_STEP;
        for _ in 0..ROUNDS {
            for place in 0..count {
                for factor in [step, 1.0 / step] {
                    // As far as it goes in this direction.
                    loop {
                        let mut next = best;
                        if let Some(coefficient) = next.each_mut().nth(place) {
                            *coefficient *= factor;
                        }
                        let of_next = self.score(&next, times);
                        if of_next <= score {
                            break;
                        }
                        (best, score) = (next, of_next);
                    }
                }
            }
            step = step.sqrt();
        }
        best
    }

    fn accuracies(&self, with: &Coefficients) -> Vec<TimeAccuracy> {
        accuracies(&self.compared, with, Replay::EveryPass)
    }

    /// Pairs of a model in the right order by these coefficients, and all its pairs.
    fn right(&self, with: &Coefficients, takes: &dyn Fn(&TimedRun) -> bool) -> [usize; 2] {
        let predicted = |place: usize| {
            let (run, comparison) = self.compared.get(place)?;
            let comparison = comparison.as_ref().filter(|_| takes(run))?;
            Some(comparison.for_sample(comparison.seconds(with, Replay::EveryPass)))
        };
        let pairs = self
            .pairs
            .iter()
            .filter_map(|(fast, slow)| Some((predicted(*fast)?, predicted(*slow)?)));
        pairs.fold([0, 0], |[right, all], (fast, slow)| {
            [right + usize::from(fast < slow), all + 1]
        })
    }
}

/// The coefficients that are known before any run is looked at, with the measured factor of kernels that read and write
/// memory.
fn prior(measured: &MeasuredOperations) -> Coefficients {
    let mut prior = Coefficients::PRIOR;
    let of_kernels = measured.over_nominal(OperationKind::Elementwise);
    let slot = prior.factors.get_mut(Cost::ElementwiseFromHopper as usize);
    if let (
        Some(slot),
        Some(OverNominal {
            quantiles: [_, median, _],
            ..
        }),
    ) = (slot, of_kernels)
    {
        *slot = median;
    }
    prior
}

/// Prints how much longer measured kernels take than at the speeds of the data sheet.
fn print_operations(measured: &MeasuredOperations) {
    println!(
        "Kernels on one {} ({}), in times of the data sheet's speeds:",
        measured.device, measured.software
    );
    for kind in OperationKind::all() {
        if let Some(OverNominal {
            count,
            quantiles: [low, median, high],
        }) = measured.over_nominal(kind)
        {
            println!(
                "{}: {median:.2} (four of five of {count} from {low:.2} to {high:.2})",
                kind.id()
            );
        }
    }
    if let Some(share) = measured.quantized_share() {
        println!("fp8 products reach {share:.2} of the part of their peak that bf16 products reach");
    }
    println!();
}

/// The mean of the means of groups, each by the root of its size; groups are a sum and a count.
fn weighted(groups: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (sum, weights) = groups.fold((0.0, 0.0), |(sum, weights), (of_group, count)| {
        (sum + of_group / count * count.sqrt(), weights + count.sqrt())
    });
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// The model of a run, by which runs are held out together.
fn model(run: &TimedRun) -> (&str, &str) {
    (&run.group, &run.model)
}

/// Prints the coefficients and what they predict, and the held-out check.
pub(crate) fn run() -> Result<(), Error> {
    print_products()?;
    print_operations(&MeasuredOperations::read(&fs::read_to_string(OPERATIONS)?)?);
    let runs = Runs::read()?;
    let print = |what: &str, with: &Coefficients| {
        let accuracies = runs.accuracies(with);
        let [right, all] = accuracies.iter().fold([0, 0], |[right, all], a| {
            let [of_right, of_all] = a.pairs;
            [right + of_right, all + of_all]
        });
        let share = 100.0 * right as f64 / all.max(1) as f64;
        println!(
            "{what}: {right} of {all} pairs in order, {share:.1} %\n{}",
            times_table(&accuracies)
        );
    };
    print("As shipped", &Coefficients::SHIPPED);
    let best = runs.fit(&|_| 1.0);
    println!("{best:#.4?}");
    let [low, high] = intervals(&runs, &best);
    println!("From {low:#.4?}\nto {high:#.4?}");
    print("Fitted to all", &best);
    let with_pairs = runs
        .pairs
        .iter()
        .filter_map(|(fast, _)| Some(model(&runs.compared.get(*fast)?.0)));
    let models: BTreeSet<(&str, &str)> = with_pairs.collect();
    let mut sum = [0, 0];
    for held in models {
        let with = runs.fit(&|run| f64::from(u8::from(model(run) != held)));
        let [right, all] = runs.right(&with, &|run| model(run) == held);
        println!("{} {}, held out: {right} of {all} pairs in order", held.0, held.1);
        sum = [sum[0] + right, sum[1] + all];
    }
    let [right, all] = sum;
    println!(
        "Every model held out: {right} of {all} pairs in order, {:.1} %",
        100.0 * right as f64 / all.max(1) as f64
    );
    Ok(())
}
