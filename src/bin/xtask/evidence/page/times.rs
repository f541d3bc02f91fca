//! Measured step times beside the predicted ones.
#![allow(clippy::float_arithmetic, reason = "seconds and their shares")]

use megatron_memory::config::gpus;
use megatron_memory::evidence::{FittedProducts, TimeAccuracy, TimeComparison, TimedRun, accuracies};
use megatron_memory::formats::share_url;
use megatron_memory::formats::state::{Setup, ShareState};
use megatron_memory::report::markup::{Markup, tag};
use megatron_memory::report::time::duration;
use megatron_memory::time::Replay;
use megatron_memory::time::coefficients::{Coefficients, Described};

use super::number;
use crate::tables::{folded, table};

/// The name of step times in the filter of the page.
pub(super) const STEP_TIME: &str = "step time";
/// A time that is closer counts as close.
const CLOSE: f64 = 0.1;

/// A run with its prediction.
pub(crate) type Timed = (TimedRun, Option<TimeComparison>);

/// The statistics of every group.
pub(super) fn groups(times: &[Timed]) -> (Vec<TimeAccuracy>, Markup) {
    let headings = [
        "Step times of",
        "Runs",
        "Median error",
        "90 % within",
        "Pairs in order",
        "Fastest among the first three",
        "First suggestion slower by",
        "A random one",
    ];
    let accuracies = accuracies(times, &Coefficients::SHIPPED, Replay::EveryPass);
    let rows = accuracies.iter().map(|a| {
        let of = |[some, all]: [usize; 2]| match all {
            0 => String::new(),
            _ => format!("{some} of {all}"),
        };
        let slower = |part: f64| match a.jobs {
            0 => String::new(),
            _ => percent(part),
        };
        let cells = [
            a.runs.to_string(),
            percent(a.median),
            percent(a.p90),
            of(a.pairs),
            of(a.top_three),
            slower(a.regret),
            slower(a.random),
        ];
        let name = tag("th").with("scope", "row").text(a.group.clone());
        tag("tr").child(name).children(cells.map(number))
    });
    let table = table("times-title", "groups", &headings, rows.collect());
    (accuracies, table)
}

/// Every coefficient with its source and its interval, behind a summary.
pub(super) fn coefficients() -> Markup {
    let headings = [
        "Coefficient",
        "GPUs",
        "Known before from",
        "Value",
        "From",
        "To",
        "Unit",
    ];
    let rows = Coefficients::described().map(|of: Described| {
        let known_from: &str = of.known_from.into();
        let [low, high] = of.interval;
        tag("tr")
            .child(tag("th").with("scope", "row").text(of.name))
            .child(tag("td").text(of.gpus))
            .child(tag("td").text(known_from))
            .children([of.value, low, high].map(|value| number(significant(value))))
            .child(tag("td").text(of.unit))
    });
    let id = "times-coefficients";
    let note = "one set for every dtype and site, each with the interval that the runs leave open while coefficients make up for each other";
    folded(id, "Coefficients", note, table(id, "groups", &headings, rows.collect()))
}

/// The table of how fast each GPU multiplies matrices, folded below its heading.
pub(super) fn products(fitted: &[FittedProducts]) -> Markup {
    let headings = [
        "GPU",
        "Dtype",
        "Part of the peak",
        "From",
        "To",
        "Start, µs",
        "From",
        "To",
        "Source",
    ];
    let rows = fitted.iter().map(|of| {
        let shipped = &of.shipped;
        let name = |id: &'static str| gpus::by_id(id).map_or(id, |gpu| gpu.name);
        let also: Vec<&str> = shipped.also.iter().map(|id| name(id)).collect();
        let gpu = match also.as_slice() {
            [] => name(shipped.gpu).to_owned(),
            also => format!("{} (also for {})", name(shipped.gpu), also.join(", ")),
        };
        let dtype: &str = shipped.dtype.into();
        let part = [shipped.speed.reached, of.reached[0], of.reached[1]];
        let start = [shipped.speed.start, of.start[0], of.start[1]];
        tag("tr")
            .child(tag("th").with("scope", "row").text(gpu))
            .child(tag("td").text(dtype))
            .children(part.map(|value| number(significant(value))))
            .children(start.map(|value| number(format!("{:.1}", 1e6 * value))))
            .child(tag("td").text(format!("{}; from and to of {} releases", of.release, of.releases)))
    });
    let id = "times-products";
    let note = "the part of a GPU's peak that large products reach, and what each takes to start: fitted to the tables of NVIDIA's aiconfigurator, with the least and the most that releases of inference frameworks give";
    let title = "Matrix products by GPU";
    folded(id, title, note, table(id, "groups", &headings, rows.collect()))
}

/// A number with three digits or more.
fn significant(value: f64) -> String {
    match value {
        ..0.01 => format!("{value:.4}"),
        ..10.0 => format!("{value:.2}"),
        _ => format!("{value:.1}"),
    }
}

/// The rows of every group, each behind a summary.
pub(super) fn runs(accuracies: &[TimeAccuracy], times: &[Timed]) -> Vec<Markup> {
    let headings = [
        "Run",
        "GPUs",
        "Measures",
        "Confidence",
        "Measured",
        "Predicted",
        "Error",
    ];
    let groups = accuracies.iter().enumerate().map(|(index, accuracy)| {
        let of_group = times.iter().filter(|(run, _)| run.group == accuracy.group);
        let mut errors: Vec<(f64, Markup)> = of_group.filter_map(row).collect();
        errors.sort_by(|(one, _), (other, _)| other.abs().total_cmp(&one.abs()));
        let rows: Vec<Markup> = errors.into_iter().map(|(_, row)| row).collect();
        let id = format!("times-{index}");
        let note = format!(
            "{} step times: median error {}, nine of ten within {}",
            accuracy.runs,
            percent(accuracy.median),
            percent(accuracy.p90)
        );
        let table = table(&id, "runs", &headings, rows);
        folded(&id, &accuracy.group, &note, table)
    });
    groups.collect()
}

/// The name of the GPU of a run, as sources write it.
pub(super) fn hardware((_, comparison): &Timed) -> Option<String> {
    let config = &comparison.as_ref()?.config;
    Some(config.modules().first()?.args().gpu.as_ref()?.to_uppercase())
}

/// The error of a run, and its row.
fn row(timed: &Timed) -> Option<(f64, Markup)> {
    let (run, comparison) = timed;
    let comparison = comparison.as_ref()?;
    let predicted = comparison.seconds(&Coefficients::SHIPPED, Replay::EveryPass);
    let error = predicted / run.seconds - 1.0;
    let state = ShareState {
        setup: Setup {
            preset: None,
            job: run.job.clone(),
        },
        ..ShareState::default()
    };
    let model = tag("a")
        .class("model")
        .with("href", format!("./{}", share_url::encode(&state)))
        .with("title", "Open this job in the calculator")
        .text(run.model.clone());
    let source = tag("a")
        .with("href", run.source.clone())
        .with("rel", "noreferrer")
        .text(run.id.clone());
    let gpu = hardware(timed).unwrap_or_default();
    let sign = if error < 0.0 { '−' } else { '+' };
    let row = tag("tr")
        .with("data-measure", STEP_TIME)
        .with("data-confidence", run.confidence.letter())
        .with("data-hardware", gpu.clone())
        .child(tag("th").with("scope", "row").child(model).child(source))
        .child(tag("td").text(format!("{} × {gpu}", comparison.config.world_size())))
        .child(tag("td").text(STEP_TIME))
        .child(tag("td").text(run.confidence.letter()))
        .child(number(duration(run.seconds)))
        .child(number(duration(predicted)))
        .child(
            number(format!("{sign}{}", percent(error.abs()))).class(if error.abs() <= CLOSE { "close" } else { "far" }),
        );
    Some((error, row))
}

fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}
