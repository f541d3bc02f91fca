//! `export`: a job in another form.

use std::path::PathBuf;

use clap::Args;
use megatron_memory::export::{ExportError, ExportFormat, ExportOptions, export_text};

use super::exit::{Failure, Status};
use super::job::JobArgument;
use super::output;

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct ExportJob {
    #[command(flatten)]
    job: JobArgument,
    /// The form: json, bridge, link and others
    #[arg(long, value_parser = format)]
    to: ExportFormat,
    /// The module to write, where the form holds one model and the job has several
    #[arg(long)]
    module: Option<String>,
    /// The calculator's address, for links
    #[arg(long, value_name = "URL", default_value = "")]
    page: String,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ExportJob {
    /// Writes the job.
    pub(crate) fn run(self) -> Result<Status, Failure> {
        let loaded = self.job.load()?;
        loaded.complete()?;
        let options = ExportOptions {
            page: self.page,
            module: self.module,
            ..ExportOptions::default()
        };
        let text = export_text(&loaded.share, self.to, &options).map_err(|error| match error {
            ExportError::Invalid(problems) => Failure::cannot_run(&problems),
            other => Failure::usage(other.to_string()),
        })?;
        output::write(&text, self.output.as_deref())?;
        Ok(Status::Success)
    }
}

fn format(id: &str) -> Result<ExportFormat, String> {
    ExportFormat::by_id(id).ok_or_else(|| {
        let known: Vec<&str> = ExportFormat::all().map(ExportFormat::id).collect();
        format!("the forms are {}", known.join(", "))
    })
}
