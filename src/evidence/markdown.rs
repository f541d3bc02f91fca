//! The comparisons as Markdown: the full table, and the short one of the README.

use core::fmt::Write as _;

use super::compare::{Comparison, Error};
use super::run::Run;
use super::summary::summaries;
use crate::units::{Bytes, MIB};

/// The full table: the short table, then the comparisons from the largest error to the smallest, then what
/// is not compared and why.
#[must_use]
pub fn table(compared: &[(&Run, Option<Comparison>)]) -> String {
    let mut text = short_table(compared);
    text.push_str("\n| Run | Confidence | Steady, MiB | Predicted | Error | Peak, MiB | Predicted | Error | Megatron-LM | Megatron-Bridge |\n| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: |\n");
    let mut rows: Vec<_> = compared
        .iter()
        .filter_map(|(run, comparison)| Some((*run, comparison.as_ref()?)))
        .collect();
    rows.sort_by_key(|(run, comparison)| (core::cmp::Reverse(error_size(comparison)), &run.id));
    for (run, comparison) in rows {
        row(&mut text, run, comparison);
    }
    text.push_str("\n| Not compared | Why |\n| --- | --- |\n");
    for (run, comparison) in compared {
        if let Some(why) = run.not_compared() {
            let peak = if comparison.is_some() { ", peak" } else { "" };
            _ = writeln!(text, "| {}{peak} | {why} |", link(run));
        } else if comparison.is_none() {
            _ = writeln!(text, "| {} | The job is refused |", link(run));
        }
    }
    text
}

/// The short table: a row for each group with comparisons, and one for all other runs.
#[must_use]
pub fn short_table(compared: &[(&Run, Option<Comparison>)]) -> String {
    let mut text = String::from(
        "| Runs | Measured | Compared | Steady within 8 MiB or 0.05 % | Peak: median error | 90 % within | Worst |\n| --- | --: | --: | --: | --: | --: | --: |\n",
    );
    let (some, none): (Vec<_>, Vec<_>) = summaries(compared).into_iter().partition(|s| s.compared > 0);
    for s in some {
        let share = if s.steady == 0 {
            String::new()
        } else {
            format!("{} of {}", s.steady_precise, s.steady)
        };
        let percent = |ppm: Option<u64>| ppm.map(unsigned_percent).unwrap_or_default();
        _ = writeln!(
            text,
            "| {} | {} | {} | {share} | {} | {} | {} |",
            s.group,
            s.runs,
            s.compared,
            percent(s.peak_median_ppm),
            percent(s.peak_p90_ppm),
            percent(s.peak_worst_ppm),
        );
    }
    let others: usize = none.iter().map(|s| s.runs).sum();
    _ = writeln!(text, "| Others, with the reason | {others} | 0 | | | | |");
    text
}

fn row(text: &mut String, run: &Run, c: &Comparison) {
    let mib = |bytes: Option<Bytes>| bytes.map(in_mib).unwrap_or_default();
    let error = |error: Option<Error>| error.map(|error| percent(error.ppm)).unwrap_or_default();
    _ = writeln!(
        text,
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        link(run),
        run.confidence.letter(),
        mib(run.measured.steady_allocated),
        in_mib(c.steady),
        error(c.steady_error),
        mib(run.measured.peak_allocated),
        in_mib(c.peak),
        error(c.peak_error),
        mib(c.frameworks.megatron_lm),
        mib(c.frameworks.megatron_bridge),
    );
}

/// The run's name as a link to its source, with a remark where its numbers are uncertain.
fn link(run: &Run) -> String {
    let name = if run.source.starts_with("http") {
        format!("[{}]({})", run.id, run.source)
    } else {
        run.id.clone()
    };
    let stale = if run.stale.is_some() { " (stale)" } else { "" };
    let inferred = if run.gpus_inferred { " (GPUs inferred)" } else { "" };
    format!("{name}{stale}{inferred}")
}

/// The size of a comparison's error in millionths: of the peak, or of the steady memory where there is no peak.
fn error_size(comparison: &Comparison) -> u64 {
    let error = comparison.peak_error.or(comparison.steady_error);
    error.map_or(0, |error| error.ppm.unsigned_abs())
}

/// Bytes in whole MiB.
pub(super) fn in_mib(bytes: Bytes) -> String {
    ((bytes.0 + MIB / 2) / MIB).to_string()
}

/// Millionths as percent with two decimals and a sign.
pub(super) fn percent(ppm: i64) -> String {
    let sign = if ppm < 0 { '-' } else { '+' };
    format!("{sign}{}", unsigned_percent(ppm.unsigned_abs()))
}

/// Millionths as percent with two decimals.
pub(super) fn unsigned_percent(ppm: u64) -> String {
    let hundredths = (ppm + 50) / 100;
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}
