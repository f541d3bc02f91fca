//! `estimate`: the memory of every pipeline stage.

use clap::{Args, ValueEnum};
use megatron_memory::config::job::Config;
use megatron_memory::export::{ExportFormat, ExportOptions, export_text, json};
use megatron_memory::memory::reserved::{ReservedRange, reserved};
use megatron_memory::memory::{self, Estimate, JobMoment};
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::report::summary::{Standing, Verdict};
use megatron_memory::report::table::{Order, Table};
use megatron_memory::report::{packing, time};
use megatron_memory::time::step_time;
use megatron_memory::{config, report};

use super::exit::{Failure, Status};
use super::job::JobArgument;
use super::output;

/// Arguments of `estimate`.
#[derive(Debug, Args)]
pub(crate) struct EstimateJob {
    #[command(flatten)]
    job: JobArgument,
    /// The form of the result
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
    /// Print the job with its result as JSON, as --format json does
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Decimal gigabytes instead of GiB, in text and in TSV
    #[arg(long)]
    gb: bool,
}

/// The forms of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Lines for people.
    Text,
    /// The job with its result, in bytes.
    Json,
    /// Every stage and bucket as a table, in bytes.
    Csv,
    /// The result as Markdown.
    Markdown,
    /// Every stage and bucket, separated by tabs.
    Tsv,
}

impl EstimateJob {
    /// Prints the estimate.
    pub(crate) fn run(self) -> Result<Status, Failure> {
        let loaded = self.job.load()?;
        loaded.complete()?;
        let checked = config::check(&loaded.share.setup.job);
        let Some(config) = &checked.config else {
            return Err(Failure::cannot_run(&checked.problems));
        };
        let estimate = memory::estimate(config);
        let replayed = || reserved(config, &estimate.worst_rank, JobMoment::default());
        let unit = if self.gb { Unit::Gb } else { Unit::Gib };
        let format = if self.json { Form::Json } else { self.format };
        let text = match format {
            Form::Text => text(config, &estimate, replayed().as_ref(), unit),
            Form::Tsv => Table::new(config, &estimate, &Standing::new(config, &estimate), unit).tsv(),
            Form::Json => json::write_with_reserved(&loaded.share, Some((config, &estimate)), replayed().as_ref()),
            Form::Csv => exported(&loaded.share, "csv")?,
            Form::Markdown => exported(&loaded.share, "markdown")?,
        };
        match format {
            Form::Text => output::print_lines(&text)?,
            Form::Json | Form::Csv | Form::Markdown | Form::Tsv => output::print(&text)?,
        }
        for reason in config.refused_at_launch() {
            output::tell(format_args!("Cannot run: {reason}\n"));
        }
        for mark in config.not_modelled() {
            output::tell(format_args!("Estimate of another job: {mark}\n"));
        }
        Ok(match Standing::by_factors(config, &estimate).verdict {
            verdict @ (Verdict::Refused(_) | Verdict::NotThisJob) => Status::of(verdict),
            // Whether the job fits is what `check` is asked for.
            Verdict::Fits | Verdict::Tight | Verdict::DoesNotFit | Verdict::Unknown => Status::Success,
        })
    }
}

/// The job with its result in a format of the export.
fn exported(share: &megatron_memory::formats::state::ShareState, id: &str) -> Result<String, Failure> {
    let format = ExportFormat::by_id(id).ok_or_else(|| Failure::usage(format!("there is no format {id}")))?;
    let text = export_text(share, format, &ExportOptions::default());
    text.map_err(|error| Failure::usage(error.to_string()))
}

/// The headline with what the fullest GPU reserves, and a line for every stage with its largest buckets.
fn text(config: &Config, estimate: &Estimate, reserved: Option<&ReservedRange>, unit: Unit) -> String {
    /// How many buckets a line names.
    const LARGEST: usize = 4;
    let by_factors = Standing::by_factors(config, estimate);
    let summary = by_factors.settled_by(config, estimate, reserved);
    let (coarse, fine) = (Scale::coarse(unit), Scale::fine(unit));
    let mut lines = vec![format!(
        "{}: on the fullest GPU {} {}.",
        summary.verdict.words(),
        coarse.amount(summary.total),
        summary.device_words(coarse)
    )];
    lines.extend(reserved.map(|reserved| {
        let by_replay = by_factors.by_replay(config, estimate, reserved);
        report::reserved::sentences(reserved, &by_replay, coarse)
    }));
    lines.extend(packing::batches(config, estimate, coarse));
    lines.push(time::sentence(config, &step_time(config, estimate)));
    lines.push(String::new());
    let table = Table::new(config, estimate, &summary, unit).sorted(Order::Stage);
    let width = table
        .rows
        .iter()
        .map(|row| row.name.chars().count())
        .max()
        .unwrap_or_default();
    for row in &table.rows {
        let mut parts: Vec<_> = table.buckets.iter().zip(&row.bytes).collect();
        parts.sort_by_key(|(_, bytes)| core::cmp::Reverse(**bytes));
        let parts = parts.into_iter().take(LARGEST);
        let parts: Vec<String> = parts
            .map(|(bucket, bytes)| format!("{} {}", bucket.label(), fine.number(*bytes)))
            .collect();
        lines.push(format!(
            "{:width$}  {:>12}  {}",
            row.name,
            fine.amount(row.total),
            parts.join(", ")
        ));
    }
    lines.join("\n") + "\n"
}
