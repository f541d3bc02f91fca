//! The page with every measured run: made once, when the page is built, so that it needs no script to be read.

use core::cmp::Reverse;

use megatron_memory::evidence::{Comparison, Error, Run, summaries};
use megatron_memory::formats::share_url;
use megatron_memory::formats::state::{Place, Setup, ShareState, View};
use megatron_memory::report::amount::{Scale, Unit, exact};
use megatron_memory::report::markup::{Markup, tag};
use megatron_memory::units::Bytes;

use super::chart::chart;
use crate::html::filled;

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
pub(super) fn page(compared: &[Compared<'_>]) -> String {
    let mut rows: Vec<Row<'_>> = compared.iter().flat_map(rows).collect();
    rows.sort_by_key(|row| {
        let miss = Reverse(row.error.ppm.unsigned_abs());
        (row.run.stale.is_some(), miss, &row.run.id)
    });
    let parts = [
        ("groups", vec![groups(compared)]),
        ("chart", vec![chart(&rows)]),
        ("filters", vec![filters(&rows)]),
        ("runs", vec![runs(&rows)]),
        ("others", vec![others(compared)]),
    ];
    filled(TEMPLATE, &parts)
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

fn groups(compared: &[Compared<'_>]) -> Markup {
    let percent = |ppm: Option<u64>| ppm.map_or_else(String::new, |ppm| signless(ppm.into()));
    let headings = [
        "Runs",
        "Published",
        "Compared",
        "Steady within 1 % or 100 MiB",
        "Peak: median error",
        "90 % within",
        "Worst",
    ];
    let rows = summaries(compared).into_iter().map(|s| {
        let steady = match s.steady {
            0 => String::new(),
            all => format!("{} of {all}", s.steady_close),
        };
        let cells = [
            s.runs.to_string(),
            s.compared.to_string(),
            steady,
            percent(s.peak_median_ppm),
            percent(s.peak_p90_ppm),
            percent(s.peak_worst_ppm),
        ];
        let name = tag("th").with("scope", "row").text(s.group);
        tag("tr").child(name).children(cells.map(number))
    });
    table("groups-title", &headings, rows.collect())
}

fn filters(rows: &[Row<'_>]) -> Markup {
    let choice = |id: &'static str, label: &'static str, of: &dyn Fn(&Row<'_>) -> String| {
        let mut names: Vec<String> = rows.iter().map(of).collect();
        names.sort();
        names.dedup();
        let any = tag("option").with("value", "").text("any");
        let options = names.into_iter().map(|name| tag("option").text(name));
        let select = tag("select").with("id", id).child(any).children(options);
        tag("label").child(tag("span").text(label)).child(select)
    };
    let words = tag("input")
        .with("id", "words")
        .with("type", "search")
        .with("placeholder", "moe, H100, …");
    tag("form")
        .class("filters")
        .with("hidden", "")
        .with("aria-label", "Filters")
        .child(choice("group", "Source", &|row| row.run.group.clone()))
        .child(choice("measure", "Measured", &|row| row.measure.to_owned()))
        .child(choice("confidence", "Confidence", &|row| {
            row.run.confidence.letter().to_owned()
        }))
        .child(choice("hardware", "GPU", &hardware))
        .child(tag("label").child(tag("span").text("Words")).child(words))
        .child(tag("output").with("role", "status"))
}

fn hardware(row: &Row<'_>) -> String {
    row.run
        .hardware
        .clone()
        .unwrap_or_else(|| String::from("not said"))
}

fn runs(rows: &[Row<'_>]) -> Markup {
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
        "Job",
    ];
    table("runs-title", &headings, rows.iter().map(row).collect())
}

fn row(row: &Row<'_>) -> Markup {
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
        _ => {
            let sign = if ppm < 0 { '−' } else { '+' };
            format!("{sign}{}", signless(ppm.unsigned_abs().into()))
        }
    };
    let gpus = run
        .gpus
        .map_or_else(String::new, |gpus| format!("{gpus} × "));
    let open = tag("a")
        .with("href", format!("./{}", link(run, c)))
        .text("open");
    let named = open.with("aria-label", format!("Open the job of {}", run.id));
    tag("tr")
        .with("data-group", run.group.clone())
        .with("data-measure", row.measure)
        .with("data-confidence", run.confidence.letter())
        .with("data-hardware", hardware(row))
        .child(name(run))
        .child(tag("td").text(format!("{gpus}{}", hardware(row))))
        .child(number(c.pp_rank.to_string()))
        .child(tag("td").text(row.measure))
        .child(tag("td").text(run.confidence.letter()))
        .child(number(SCALE.number(row.measured)).with("title", exact(row.measured)))
        .child(number(predicted).with("title", exact(low)))
        .child(number(error).class(if row.error.is_close() { "close" } else { "far" }))
        .child(number(amount(c.frameworks.megatron_lm)))
        .child(number(amount(c.frameworks.megatron_bridge)))
        .child(tag("td").child(named))
}

/// The run's name with its source, and what must be known about it.
fn name(run: &Run) -> Markup {
    let source = if run.source.starts_with("http") {
        tag("a")
            .with("href", run.source.clone())
            .with("rel", "noreferrer")
    } else {
        tag("span")
    };
    let mut cell = tag("th")
        .with("scope", "row")
        .child(tag("span").class("model").text(run.model.clone()))
        .child(source.text(run.id.clone()));
    let inferred = run.gpus_inferred.then(|| {
        String::from("The number of GPUs is not published and was found by matching the memory after a step.")
    });
    let stale = run
        .stale
        .as_ref()
        .map(|why| format!("Stale, not counted: {why}"));
    let remarks: Vec<String> = [stale, inferred, run.assumed.clone(), run.note.clone()]
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
            job: run.job().cloned().unwrap_or_default(),
        },
        compare: None,
        view: View {
            tab: None,
            stage: u16::try_from(comparison.pp_rank)
                .ok()
                .map(|pp_rank| Place { module: 0, pp_rank }),
        },
    };
    share_url::encode(&state)
}

fn others(compared: &[Compared<'_>]) -> Markup {
    let missing = compared
        .iter()
        .filter(|(run, comparison)| comparison.is_none() || run.peak_not_compared.is_some());
    let rows = missing.map(|(run, comparison)| {
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
        let why = run.not_compared().unwrap_or("The job is refused");
        tag("tr")
            .child(name(run))
            .child(tag("td").text(measured.join(", ")))
            .child(tag("td").class("why").text(why.to_owned()))
    });
    table(
        "others-title",
        &["Run", "Measured", "Why not"],
        rows.collect(),
    )
}

fn table(title: &'static str, headings: &[&'static str], rows: Vec<Markup>) -> Markup {
    let heading = |text: &&'static str| tag("th").with("scope", "col").text(*text);
    let head = tag("tr").children(headings.iter().map(heading));
    let table = tag("table")
        .with("aria-labelledby", title)
        .child(tag("thead").child(head))
        .child(tag("tbody").children(rows));
    tag("div")
        .class("table-scroll")
        .with("tabindex", "0")
        .with("role", "group")
        .with("aria-labelledby", title)
        .child(table)
}

fn number(text: String) -> Markup {
    tag("td").class("number").text(text)
}

/// Millionths as percent with two decimals.
fn signless(ppm: u128) -> String {
    let hundredths = (ppm + 50) / 100;
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}
