//! `import`: a text as a job in JSON.

use clap::Args;
use megatron_memory::export::{ExportFormat, ExportOptions, export_text};

use super::exit::{Failure, Status};
use super::job::{JobArgument, Loaded};
use super::output;

/// Arguments of `import`.
#[derive(Debug, Args)]
pub(crate) struct ImportText {
    #[command(flatten)]
    job: JobArgument,
    /// Print what became of each key, separated by tabs, instead of the job
    #[arg(long)]
    report: bool,
}

impl ImportText {
    /// Prints the job; open questions go to the standard error.
    pub(crate) fn run(self) -> Result<Status, Failure> {
        let loaded = self.job.load()?;
        if self.report {
            output::print(&report(&loaded))?;
        } else {
            let json = ExportFormat::by_id("json").ok_or_else(|| Failure::usage("there is no format json"))?;
            let text = export_text(&loaded.share, json, &ExportOptions::default());
            output::write(&text.map_err(|error| Failure::usage(error.to_string()))?, None)?;
        }
        let questions = loaded.open_questions();
        for question in &questions {
            output::tell(format_args!("{question}\n"));
        }
        Ok(if questions.is_empty() {
            Status::Success
        } else {
            Status::Unreadable
        })
    }
}

/// What became of each key, one a line.
fn report(loaded: &Loaded) -> String {
    let rows = loaded.import.iter().flat_map(|import| &import.report);
    let lines = rows.map(|row| {
        let line = row.line.map(|line| line.to_string()).unwrap_or_default();
        let field = row.field.map_or("", |field| field.field().name);
        let cells = [&line, &row.key, &row.value, row.status.id(), field, &row.note];
        cells.map(|cell| cell.replace(['\t', '\n', '\r'], " ")).join("\t") + "\n"
    });
    let heading = "line\tkey\tvalue\tstatus\targument\tnote\n".to_owned();
    core::iter::once(heading).chain(lines).collect()
}
