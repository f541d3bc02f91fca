//! `cargo xtask fit-time`: the coefficients of step times, from the measured runs of `tests/oracle/time`.
//!
//! Coordinate descent from what is known before ([`Coefficients::PRIOR`]): every coefficient in turn is made a little
//! larger or smaller where that raises the score. The score counts pairs of layouts of one job in the order of their
//! measured times, softly, and the distance of predicted from measured times, both by group and each group by the root of
//! its size; it falls with the distance of coefficients from what was known. No row counts by its name.
#![allow(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a fit of coefficients to times, from JSON whose missing keys are null"
)]

use std::collections::BTreeMap;
use std::fs;

use megatron_memory::config::check;
use megatron_memory::config::job::Config;
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::estimate;
use megatron_memory::time::coefficients::Coefficients;
use megatron_memory::time::{Nominal, Replay, Software, timed};

use super::Error;

/// Two layouts count as a pair where their times differ by more than this part.
const PAIR: f64 = 0.05;
/// How far apart the logarithms of two predicted times are before their order counts as sure.
const SURE: f64 = 0.03;
/// The weight of the distance of predicted from measured times beside that of pairs.
const LEVEL: f64 = 0.3;
/// The weight of the distance of coefficients from what was known.
const KNOWN: f64 = 0.006;

/// A measured run with its nominal times.
struct Row {
    group: String,
    /// What tells its model from others.
    model: String,
    /// Measured seconds of a step.
    seconds: f64,
    /// Samples of a step for each GPU.
    samples: f64,
    config: Config,
    nominal: Nominal,
}

impl Row {
    /// The run of a line; `None` where Megatron refuses the job as it stands.
    fn read(line: &str) -> Result<Option<Self>, Error> {
        let row: serde_json::Value = serde_json::from_str(line)?;
        let mut job = row["job"].clone();
        let kernel = row["facts"]["attention_kernel"].as_str().unwrap_or("flash");
        if !kernel.starts_with("flash") {
            job["attention_backend"] = "unfused".into();
        }
        if let Some(network) = row.get("network_gb_per_second") {
            job["network_gb_per_second"] = network.clone();
        }
        let Some(config) = check(&RawJob::from_value(&serde_json::from_value(job)?)).config else {
            return Ok(None);
        };
        let estimate = estimate(&config);
        let (m, on) = timed(&config)?;
        let memory = &estimate.worst_stage().ok_or("a job without stages")?.memory;
        let fused_norm = row["facts"]["fused_norm"].as_bool().unwrap_or(true);
        let id = row["id"].as_str().unwrap_or_default();
        let a = m.args();
        Ok(Some(Self {
            group: id.split(':').next().unwrap_or_default().to_owned(),
            model: format!("{} {} {}", a.num_layers, a.hidden_size, a.seq_length),
            seconds: row["step_seconds"].as_f64().ok_or("a row without a time")?,
            samples: m.derived().global_batch_size as f64 / config.world_size() as f64,
            nominal: Nominal::new(m, memory, &on, Software { fused_norm }),
            config,
        }))
    }

    fn predicted(&self, with: &Coefficients) -> f64 {
        let module = self.config.modules().first();
        module.map_or(f64::NAN, |m| self.nominal.seconds(m, with, Replay::EveryPass))
    }
}

/// The runs, and the pairs of them that are of one job, the faster one first.
struct Runs {
    rows: Vec<Option<Row>>,
    pairs: Vec<(usize, usize)>,
}

/// How well coefficients predict some of the runs.
struct Fit {
    score: f64,
    /// Pairs in the right order, and all pairs.
    pairs: (usize, usize),
    /// The median distance of predicted from measured times.
    median: f64,
}

impl Runs {
    fn read() -> Result<Self, Error> {
        let rows = fs::read_to_string("tests/oracle/time/rows.jsonl")?;
        let rows = rows.lines().map(Row::read).collect::<Result<Vec<_>, _>>()?;
        let mut pairs = Vec::new();
        for line in fs::read_to_string("tests/oracle/time/pairs.tsv")?.lines() {
            let mut cells = line.split('\t');
            let mut cell = || cells.next().ok_or("a pair with too few columns");
            let (fast, slow) = (cell()?.parse()?, cell()?.parse()?);
            if cell()?.parse::<f64>()? > 1.0 + PAIR {
                pairs.push((fast, slow));
            }
        }
        Ok(Self { rows, pairs })
    }

    /// How well coefficients predict the runs that `takes` accepts.
    fn judge(&self, with: &Coefficients, takes: &dyn Fn(&Row) -> bool) -> Fit {
        let rows = self.rows.iter().map(|row| row.as_ref().filter(|row| takes(row)));
        let rows: Vec<Option<(&Row, f64)>> = rows.map(|row| row.map(|row| (row, row.predicted(with)))).collect();
        let mut of_groups: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        let mut right = (0, 0);
        let row = |at: usize| rows.get(at).copied().flatten();
        for (fast, slow) in &self.pairs {
            let (Some((fast, of_fast)), Some((slow, of_slow))) = (row(*fast), row(*slow)) else {
                continue;
            };
            let apart = (of_slow / slow.samples / (of_fast / fast.samples)).ln();
            let group = of_groups.entry(&fast.group).or_default();
            group.0 += 1.0 / (1.0 + (-apart / SURE).exp());
            group.1 += 1.0;
            right.0 += usize::from(apart > 0.0);
            right.1 += 1;
        }
        let order = weighted(of_groups.into_values());
        let mut distances: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        let mut all = Vec::new();
        for (row, predicted) in rows.iter().flatten() {
            let distance = (predicted / row.seconds).ln().abs();
            let group = distances.entry(&row.group).or_default();
            group.0 += distance;
            group.1 += 1.0;
            all.push(distance.exp_m1());
        }
        all.sort_by(f64::total_cmp);
        let (mut with, mut prior) = (*with, Coefficients::PRIOR);
        let changed = with.each_mut().zip(prior.each_mut());
        let changed: f64 = changed.map(|(now, before)| (*now / *before).ln().powi(2)).sum();
        Fit {
            score: order - LEVEL * weighted(distances.into_values()) - KNOWN * changed,
            pairs: right,
            median: all.get(all.len() / 2).copied().unwrap_or_default(),
        }
    }

    /// The best coefficients for the runs that `takes` accepts.
    fn fit(&self, takes: &dyn Fn(&Row) -> bool) -> Coefficients {
        let mut best = Coefficients::PRIOR;
        let mut score = self.judge(&best, takes).score;
        let count = best.each_mut().count();
        let mut step = 1.4_f64;
        for _ in 0..5 {
            for at in 0..count {
                for factor in [step, 1.0 / step] {
                    let mut next = best;
                    if let Some(coefficient) = next.each_mut().nth(at) {
                        *coefficient *= factor;
                    }
                    let of_next = self.judge(&next, takes).score;
                    if of_next > score {
                        (best, score) = (next, of_next);
                    }
                }
            }
            step = step.sqrt();
        }
        best
    }
}

/// The mean of the means of groups, each by the root of its size; groups are a sum and a count.
fn weighted(groups: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (sum, weights) = groups.fold((0.0, 0.0), |(sum, weights), (of_group, count)| {
        (sum + of_group / count * count.sqrt(), weights + count.sqrt())
    });
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// Prints the coefficients, and what those of one half of the models predict for the other half.
pub(crate) fn run() -> Result<(), Error> {
    let runs = Runs::read()?;
    let print = |what: &str, fit: &Fit| {
        let (right, all) = fit.pairs;
        let share = 100.0 * right as f64 / all.max(1) as f64;
        println!(
            "{what}: {right} of {all} pairs, {share:.1} %; times {:.1} % off in the median",
            100.0 * fit.median
        );
    };
    let every = |_: &Row| true;
    print("as shipped", &runs.judge(&Coefficients::SHIPPED, &every));
    let best = runs.fit(&every);
    println!("{best:#.3?}");
    print("fitted to all", &runs.judge(&best, &every));
    let odd = |row: &Row| row.model.bytes().map(u32::from).sum::<u32>() % 2 == 1;
    let even = |row: &Row| !odd(row);
    print(
        "fitted to one half of the models, on the other",
        &runs.judge(&runs.fit(&even), &odd),
    );
    print("the other way round", &runs.judge(&runs.fit(&odd), &even));
    Ok(())
}
