//! `svg`: a chart of a job.

use std::path::PathBuf;

use clap::Args;
use megatron_memory::export::{ChartError, ChartOptions, chart_file};
use megatron_memory::report::amount::Unit;

use super::exit::{Failure, Status};
use super::job::JobArgument;
use super::output;

/// Arguments of `svg`.
#[derive(Debug, Args)]
pub(crate) struct DrawChart {
    #[command(flatten)]
    job: JobArgument,
    /// The chart: `bucket_bar`, `stage_bars`, `buckets`, `components`, `timeline`, `rank_map` or `card`
    #[arg(long, default_value = "stage_bars")]
    chart: String,
    /// The width in pixels
    #[arg(long, default_value_t = ChartOptions::default().width)]
    width: u64,
    /// Decimal gigabytes instead of GiB
    #[arg(long)]
    gb: bool,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
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
        let text = chart_file(&loaded.share, &self.chart, &options).map_err(|error| match error {
            ChartError::Invalid(problems) => Failure::cannot_run(&problems),
            other => Failure::usage(other.to_string()),
        })?;
        output::write(&text, self.output.as_deref())?;
        Ok(Status::Success)
    }
}
