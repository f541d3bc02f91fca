//! `svg`: a chart of a job.

use std::path::PathBuf;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Args, ValueHint};
use megatron_memory::export::{ChartError, ChartOptions, chart_file, pictures};
use megatron_memory::report::amount::Unit;

use super::exit::{Failure, Status};
use super::job::JobArgument;
use super::names::one_of;
use super::output;

/// Arguments of `svg`.
#[derive(Debug, Args)]
pub(crate) struct DrawChart {
    #[command(flatten)]
    job: JobArgument,
    /// The chart
    #[arg(long, value_name = "CHART", default_value = "stage_bars", value_parser = charts())]
    chart: &'static str,
    /// The width in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = ChartOptions::default().width)]
    width: u64,
    /// Decimal gigabytes instead of GiB
    #[arg(long)]
    gb: bool,
    /// The file to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

fn charts() -> impl TypedValueParser<Value = &'static str> {
    let named = pictures::names().map(|(id, title)| PossibleValue::new(id).help(title));
    one_of(named, |name| pictures::names().map(|(id, _)| id).find(|id| *id == name))
}

impl DrawChart {
    /// Writes the chart.
    pub(crate) fn run(self) -> Result<Status, Failure> {
        let loaded = self.job.load()?;
        loaded.complete()?;
        let options = ChartOptions {
            width: self.width,
            unit: if self.gb { Unit::Gb } else { Unit::Gib },
            ..ChartOptions::default()
        };
        let text = chart_file(&loaded.share, self.chart, &options).map_err(|error| match error {
            ChartError::Invalid(problems) => Failure::cannot_run(&problems),
            other => Failure::usage(other.to_string()),
        })?;
        output::write(&text, self.output.as_deref())?;
        Ok(Status::Success)
    }
}
