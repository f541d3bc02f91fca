//! `export`: a job in another form.

use std::path::PathBuf;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Args, ValueHint};
use megatron_memory::export::{ExportError, ExportFormat, ExportOptions, export_text};

use super::exit::{Failure, Status};
use super::job::JobArgument;
use super::names::one_of;
use super::output;

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct ExportJob {
    #[command(flatten)]
    job: JobArgument,
    /// The form
    #[arg(long, value_name = "FORM", value_parser = formats())]
    to: ExportFormat,
    /// The module to write, where the form holds one model and the job has several
    #[arg(long, value_name = "NAME")]
    module: Option<String>,
    /// The calculator's address, for links
    #[arg(long, value_name = "URL")]
    page: Option<String>,
    /// The file to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

impl ExportJob {
    /// Writes the job.
    pub(crate) fn run(self) -> Result<Status, Failure> {
        let loaded = self.job.load()?;
        loaded.complete()?;
        let options = ExportOptions {
            page: self.page.unwrap_or_default(),
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

fn formats() -> impl TypedValueParser<Value = ExportFormat> {
    let named = |format: ExportFormat| PossibleValue::new(format.id()).help(format.label());
    one_of(ExportFormat::all().map(named), ExportFormat::by_id)
}
