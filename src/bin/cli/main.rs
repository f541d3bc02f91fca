//! The command line: `megatron-memory`. It reads what the page's import reads, and answers from the same core.
//!
//! Results go to the standard output, all else to the standard error, and the exit status is the verdict
//! ([`exit::Status`]), so that a script can ask whether a changed job still fits.

mod amount;
mod calibrate;
mod check;
mod estimate;
mod exit;
mod export;
mod fit;
mod import;
mod job;
mod limits;
mod names;
mod output;
mod presets;
mod progress;
mod search;
mod svg;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use exit::Failure;

/// How much GPU memory a Megatron training job needs, on every pipeline stage, in every bucket, and why.
#[derive(Debug, Parser)]
#[command(name = "megatron-memory", version, after_help = exit::HELP, max_term_width = 120)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say whether jobs fit the GPU; the exit status is the verdict.
    #[command(after_help = exit::HELP)]
    Check(check::Check),
    /// Print the memory of every pipeline stage.
    Estimate(estimate::EstimateJob),
    /// Print a text as a job in JSON, or what became of each of its keys.
    Import(import::ImportText),
    /// Write a job in another form: flags, YAML, a recipe, a link, an embed.
    Export(export::ExportJob),
    /// List changes with which a job fits its GPU, those that cost least first.
    Fit(fit::FitJob),
    /// Print factors on predicted step times, from logs of runs on the same GPUs.
    Calibrate(calibrate::Calibrate),
    /// Print how far a job can go on its GPU: the longest sequence, the largest micro batch, the fewest GPUs.
    Limits(limits::JobLimits),
    /// List the parallel layouts of a job, the best first.
    Search(search::SearchLayouts),
    /// Draw a chart of a job as SVG.
    Svg(svg::DrawChart),
    /// List the presets.
    Presets,
    /// Print completions for a shell.
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Prints completions for a shell.
fn completions(shell: Shell) -> Result<exit::Status, Failure> {
    let mut command = CommandLine::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(exit::Status::Success)
}

fn main() -> ExitCode {
    let done = match CommandLine::parse().command {
        Command::Check(command) => command.run(),
        Command::Estimate(command) => command.run(),
        Command::Import(command) => command.run(),
        Command::Export(command) => command.run(),
        Command::Search(command) => command.run(),
        Command::Svg(command) => command.run(),
        Command::Fit(command) => command.run(),
        Command::Limits(command) => command.run(),
        Command::Calibrate(command) => command.run(),
        Command::Presets => presets::run(),
        Command::Completions { shell } => completions(shell),
    };
    let status = done.unwrap_or_else(|Failure { status, message }| {
        output::tell(format_args!("{message}\n"));
        status
    });
    status.into()
}
