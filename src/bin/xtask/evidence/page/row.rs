//! The rows of the tables of runs.

use megatron_memory::evidence::{Comparison, Run};
use megatron_memory::formats::share_url;
use megatron_memory::formats::state::{Place, Setup, ShareState, View};
use megatron_memory::memory::JobMoment;
use megatron_memory::report::amount::exact;
use megatron_memory::report::markup::{Markup, tag};
use megatron_memory::units::Bytes;

use super::{Compared, DEVICE, PEAK, RESERVED, Row, SCALE, STEADY, number, signless};
use crate::tables::{folded, table};

/// The row of one measured number.
pub(super) fn row(row: &Row<'_>) -> Markup {
    let (run, c) = (row.run, row.comparison);
    let amount = |bytes: Option<Bytes>| bytes.map_or_else(String::new, |b| SCALE.number(b));
    let (low, high) = row.predicted;
    let predicted = if low == high {
        SCALE.number(low)
    } else {
        format!("{}–{}", SCALE.number(low), SCALE.number(high))
    };
    let ppm = row.error.ppm;
    let error = match ppm {
        0 if low != high => String::from("within"),
        _ => signed(ppm),
    };
    let gpus = run.gpus.map_or_else(String::new, |gpus| format!("{gpus} × "));
    tag("tr")
        .with("data-measure", row.measure)
        .with("data-confidence", run.confidence.letter())
        .with("data-hardware", hardware(row))
        .child(name(run, Some(link(run, c)), unadjusted(row)))
        .child(tag("td").text(format!("{gpus}{}", hardware(row))))
        .child(number(c.pp_rank.to_string()))
        .child(tag("td").text(row.measure))
        .child(tag("td").text(run.confidence.letter()))
        .child(number(SCALE.number(row.measured)).with("title", exact(row.measured)))
        .child(number(predicted).with("title", exact(low)))
        .child(number(error).class(if row.error.is_close() { "close" } else { "far" }))
        .child(number(amount(c.frameworks.megatron_lm)))
        .child(number(amount(c.frameworks.megatron_bridge)))
}

/// Millionths as percent with a sign.
fn signed(ppm: i64) -> String {
    let sign = if ppm < 0 { '−' } else { '+' };
    format!("{sign}{}", signless(ppm.unsigned_abs().into()))
}

/// What the prediction would be without the run's software and moment; `None` where the run gives neither.
fn unadjusted(row: &Row<'_>) -> Option<String> {
    let alone = row.comparison.unadjusted?;
    let (predicted, error) = match row.measure {
        STEADY => (alone.steady, alone.steady_error?),
        PEAK => (alone.peak, alone.peak_error?),
        _ => return None,
    };
    let (predicted, error) = (SCALE.amount(predicted), signed(error.ppm));
    Some(format!("Without its software and moment: {predicted}, {error}."))
}

/// The run's model, which opens its job, the run's name, which opens its source, and what must be known about it.
/// `unadjusted` is a remark on one of its numbers.
fn name(run: &Run, job: Option<String>, unadjusted: Option<String>) -> Markup {
    let source = if run.source.starts_with("http") {
        tag("a").with("href", run.source.clone()).with("rel", "noreferrer")
    } else {
        tag("span")
    };
    let model = match job {
        Some(job) => tag("a")
            .with("href", format!("./{job}"))
            .with("title", "Open this job in the calculator"),
        None => tag("span"),
    };
    let mut cell = tag("th")
        .with("scope", "row")
        .child(model.class("model").text(run.model.clone()))
        .child(source.text(run.id.clone()));
    let inferred = run.gpus_inferred.then(|| {
        String::from("The number of GPUs is not published and was found by matching the memory after a step.")
    });
    let stale = run.stale.as_ref().map(|why| format!("Stale, not counted: {why}"));
    let moment = (run.moment != JobMoment::default()).then(|| format!("Printed {}.", run.moment.label()));
    let stack = run.stack.map(|stack| format!("Software: {}.", stack.name()));
    let remarks: Vec<String> = [
        stale,
        moment,
        stack,
        unadjusted,
        inferred,
        run.assumed.clone(),
        run.note.clone(),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !remarks.is_empty() {
        let texts = remarks.into_iter().map(|text| tag("p").text(text));
        let summary = tag("summary").text("remarks");
        cell = cell.child(tag("details").child(summary).children(texts));
    }
    cell
}

/// The calculator with a run's job, showing the stage that was measured.
fn link(run: &Run, comparison: &Comparison) -> String {
    let state = ShareState {
        setup: Setup {
            preset: None,
            job: run.job_with_software().unwrap_or_default(),
        },
        pinned: Vec::new(),
        view: View {
            tab: None,
            stage: u16::try_from(comparison.pp_rank)
                .ok()
                .map(|pp_rank| Place { module: 0, pp_rank }),
        },
    };
    share_url::encode(&state)
}

/// The GPU's name, for rows and their filter.
pub(super) fn hardware(row: &Row<'_>) -> String {
    row.run.hardware.clone().unwrap_or_else(|| String::from("not said"))
}

/// The runs without a comparison, with the reason.
pub(super) fn others(compared: &[Compared<'_>]) -> Markup {
    let missing = compared
        .iter()
        .filter(|(run, comparison)| comparison.is_none() || run.peak_not_compared.is_some());
    let rows: Vec<Markup> = missing
        .map(|(run, comparison)| {
            let m = &run.measured;
            let steady = m.steady_allocated.filter(|_| comparison.is_none());
            let measured = [
                (STEADY, steady),
                (PEAK, m.peak_allocated),
                (RESERVED, m.peak_reserved),
                (DEVICE, m.peak_device),
                ("peak, not said of what", m.peak_unspecified),
            ];
            let measured = measured
                .iter()
                .filter_map(|(name, bytes)| Some(format!("{name} {}", SCALE.amount((*bytes)?))));
            let measured: Vec<String> = measured.collect();
            let job = comparison.as_ref().map(|comparison| link(run, comparison));
            let why = run.not_compared().unwrap_or("The job is refused");
            tag("tr")
                .child(name(run, job, None))
                .child(tag("td").text(measured.join(", ")))
                .child(tag("td").class("why").text(why.to_owned()))
        })
        .collect();
    let note = format!("{} runs, each with the reason", rows.len());
    let table = table("others", "others", &["Run", "Measured", "Why not"], rows);
    folded("others", "Runs that are not compared", &note, table)
}
