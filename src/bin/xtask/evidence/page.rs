//! The page with every measured run, made when the site is built.
//!
//! There are thousands of cells, which no browser lays out at once without a pause. So the tables stand in `noscript`
//! inside of closed `details`: to a browser with scripts they are text, which the page's script turns into rows when a
//! group is opened or filtered. A browser without scripts has them in the page.

mod row;
pub(super) mod times;

use core::cmp::Reverse;
use std::collections::BTreeSet;

use megatron_memory::evidence::{
    CHECKPOINTS, Comparison, Error, FittedProducts, Run, Summary, read_repeats, spread, summaries,
};
use megatron_memory::presets;
use megatron_memory::report::amount::{Scale, Unit, grouped};
use megatron_memory::report::markup::{Markup, tag};
use megatron_memory::units::Bytes;

use super::chart::chart;
use crate::filters::{choice, filters};
use crate::tables::{folded, table};
use times::{STEP_TIME, Timed};

/// Recordings of jobs that were run twice.
const REPEATS: &str = include_str!("../../../evidence/repeats.json");
const TITLE: &str = "Evidence";
const DESCRIPTION: &str = "Published measurements of GPU memory and step times in Megatron training jobs, beside what this calculator predicts for the same jobs.";
const TEMPLATE: &str = include_str!("page.html");
const SCALE: Scale = Scale::fine(Unit::Gib);

/// A measured run with its comparison.
type Compared<'a> = (&'a Run, Option<Comparison>);

/// One number that somebody measured, beside its prediction.
pub(super) struct Row<'a> {
    pub(super) run: &'a Run,
    comparison: &'a Comparison,
    pub(super) measure: &'static str,
    measured: Bytes,
    /// The prediction: one number, or a band from the least to the most.
    predicted: (Bytes, Bytes),
    pub(super) error: Error,
}

/// The measures that are compared, by the names that the filter shows.
pub(super) const STEADY: &str = "allocated after a step";
pub(super) const PEAK: &str = "peak allocated";
const RESERVED: &str = "peak reserved";
const DEVICE: &str = "peak on the device";

/// The whole page.
pub(super) fn page(compared: &[Compared<'_>], step_times: &[Timed], products: &[FittedProducts]) -> String {
    let mut rows: Vec<Row<'_>> = compared.iter().flat_map(rows).collect();
    rows.sort_by_key(|row| {
        let miss = Reverse(row.error.ppm.unsigned_abs());
        (row.run.stale.is_some(), miss, &row.run.id)
    });
    let summaries = summaries(compared);
    let (accuracies, time_groups) = times::groups(step_times);
    let parts = [
        ("groups", vec![groups(&summaries)]),
        ("chart", vec![chart(&rows)]),
        ("filters", vec![filters_of_runs(&rows, step_times)]),
        ("runs", runs(&summaries, &rows)),
        (
            "times",
            vec![time_groups, times::coefficients(), times::products(products)],
        ),
        ("timed runs", times::runs(&accuracies, step_times)),
        ("others", vec![row::others(compared)]),
        ("repeats", vec![repeats()]),
        ("checkpoints", vec![checkpoints()]),
    ];
    crate::html::page(TITLE, DESCRIPTION, TEMPLATE, &parts)
}

fn rows<'a>((run, comparison): &'a Compared<'_>) -> Vec<Row<'a>> {
    let Some(c) = comparison else {
        return Vec::new();
    };
    let m = &run.measured;
    let [reserved, ..] = c.device.overheads;
    let numbers = [
        (STEADY, m.steady_allocated, (c.steady, c.steady)),
        (
            PEAK,
            m.peak_allocated.filter(|_| run.peak_not_compared.is_none()),
            (c.peak, c.peak),
        ),
        (
            RESERVED,
            m.peak_reserved,
            (c.peak + reserved.low, c.peak + reserved.high),
        ),
        (DEVICE, m.peak_device, (c.device.low, c.device.high)),
    ];
    let row = |(measure, measured, predicted): (&'static str, Option<Bytes>, (Bytes, Bytes))| {
        let measured = measured?;
        Some(Row {
            run,
            comparison: c,
            measure,
            measured,
            predicted,
            error: Error::new(measured.clamp(predicted.0, predicted.1), measured)?,
        })
    };
    numbers.into_iter().filter_map(row).collect()
}

/// A share in percent; nothing where there is none.
fn percent(ppm: Option<u64>) -> String {
    ppm.map_or_else(String::new, |ppm| signless(ppm.into()))
}

/// The statistics of every group.
fn groups(summaries: &[Summary]) -> Markup {
    let headings = [
        "Runs",
        "Published",
        "Compared",
        "Steady within 8 MiB or 0.05 %",
        "Peak: median error",
        "90 % within",
        "Worst",
    ];
    let rows = summaries.iter().map(|s| {
        let steady = match s.steady {
            0 => String::new(),
            all => format!("{} of {all}", s.steady_precise),
        };
        let cells = [
            s.runs.to_string(),
            s.compared.to_string(),
            steady,
            percent(s.peak_median_ppm),
            percent(s.peak_p90_ppm),
            percent(s.peak_worst_ppm),
        ];
        let name = tag("th").with("scope", "row").text(s.group.clone());
        tag("tr").child(name).children(cells.map(number))
    });
    table("groups-title", "groups", &headings, rows.collect())
}

fn filters_of_runs(rows: &[Row<'_>], step_times: &[Timed]) -> Markup {
    let of = |id, label, of: &dyn Fn(&Row<'_>) -> String, of_time: &dyn Fn(&Timed) -> Option<String>| {
        let of_times = step_times.iter().filter_map(of_time);
        let names: BTreeSet<String> = rows.iter().map(of).chain(of_times).collect();
        choice(id, label, names.into_iter().map(|name| (name.clone(), name)))
    };
    let choices = [
        of("measure", "Measured", &|row| row.measure.to_owned(), &|_| {
            Some(STEP_TIME.to_owned())
        }),
        of(
            "confidence",
            "Confidence",
            &|row| row.run.confidence.letter().to_owned(),
            &|(run, _)| Some(run.confidence.letter().to_owned()),
        ),
        of("hardware", "GPU", &row::hardware, &times::hardware),
    ];
    filters(choices, "moe, H100, …")
}

/// The rows of every group that has some, each behind a summary.
fn runs(summaries: &[Summary], rows: &[Row<'_>]) -> Vec<Markup> {
    let headings = [
        "Run",
        "GPUs",
        "Stage",
        "Measures",
        "Confidence",
        "Measured, GiB",
        "Predicted",
        "Error",
        "Megatron-LM",
        "Megatron-Bridge",
    ];
    let groups = summaries.iter().enumerate().filter_map(|(index, summary)| {
        let of_group = rows.iter().filter(|row| row.run.group == summary.group);
        let of_group: Vec<Markup> = of_group.map(row::row).collect();
        if of_group.is_empty() {
            return None;
        }
        let id = format!("group-{index}");
        let note = match (summary.peak_median_ppm, summary.peak_worst_ppm) {
            (Some(median), Some(worst)) => format!(
                "{} numbers; peaks: median error {}, worst {}",
                of_group.len(),
                signless(median.into()),
                signless(worst.into())
            ),
            _ => format!("{} numbers", of_group.len()),
        };
        let table = table(&id, "runs", &headings, of_group);
        Some(folded(&id, &summary.group, &note, table))
    });
    groups.collect()
}

/// The elements of published checkpoints beside the parameters of their presets.
fn checkpoints() -> Markup {
    let headings = [
        "Checkpoint",
        "Elements",
        "Biases of routers",
        "Parameters here",
        "Difference",
    ];
    let rows = CHECKPOINTS.iter().map(|checkpoint| {
        let preset = presets::by_id(checkpoint.preset);
        let name = preset.map_or(checkpoint.preset, |preset| preset.name);
        let model = tag("a")
            .class("model")
            .with("href", format!("./#v1;m={}", checkpoint.preset))
            .text(name);
        let card = tag("a")
            .with("href", checkpoint.source())
            .with("rel", "noreferrer")
            .text("card");
        let predicted = checkpoint.predicted().unwrap_or_default();
        let difference = i128::from(predicted) + i128::from(checkpoint.router_biases) - i128::from(checkpoint.elements);
        let counts = [checkpoint.elements, checkpoint.router_biases, predicted];
        tag("tr")
            .child(tag("th").with("scope", "row").child(model).child(card))
            .children(counts.map(|count| number(grouped(count))))
            .child(number(difference.to_string()).class(if difference == 0 { "close" } else { "far" }))
    });
    table("checkpoints-title", "checkpoints", &headings, rows.collect())
}

/// How far two runs of one job differ.
fn repeats() -> Markup {
    let headings = ["Measures", "Pairs", "Median difference", "90 % within", "Worst"];
    let repeats = read_repeats(REPEATS).unwrap_or_default();
    let steady = spread(&repeats, |repeat| repeat.steady);
    let peak = spread(&repeats, |repeat| repeat.peak);
    let rows = [(STEADY, steady), (PEAK, peak)];
    let rows = rows.into_iter().filter_map(|(measure, spread)| {
        let spread = spread?;
        let differences = [spread.median_ppm, spread.p90_ppm, spread.worst_ppm];
        let name = tag("th").with("scope", "row").text(measure);
        Some(
            tag("tr")
                .child(name)
                .child(number(repeats.len().to_string()))
                .children(differences.map(|ppm| number(signless(ppm.into())))),
        )
    });
    table("repeats-title", "groups", &headings, rows.collect())
}

fn number(text: String) -> Markup {
    tag("td").class("number").text(text)
}

/// Millionths as percent with two decimals.
fn signless(ppm: u128) -> String {
    let hundredths = (ppm + 50) / 100;
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}
