//! Texts and files as output.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use megatron_memory::config::problem::Problem;
use serde::Serialize;

use super::exit::Failure;

/// What Megatron refuses, one a line where there are several.
pub(crate) fn lines(problems: &[Problem]) -> String {
    let errors = problems.iter().filter(|problem| problem.keeps_from_training());
    let errors: Vec<String> = errors.map(ToString::to_string).collect();
    match errors.as_slice() {
        [only] => only.clone(),
        all => listed(all),
    }
}

/// Lines, each indented on a line of its own below what stands before them.
pub(crate) fn listed(lines: &[String]) -> String {
    format!("\n  {}", lines.join("\n  "))
}

/// Prints a text. A reader who has seen enough, such as `head`, ends the program without a message.
pub(crate) fn print(text: &str) {
    let mut output = std::io::stdout().lock();
    if let Err(error) = output.write_all(text.as_bytes()).and_then(|()| output.flush())
        && error.kind() != ErrorKind::BrokenPipe
    {
        eprintln!("the result cannot be printed: {error}");
    }
}

/// Writes a text to a file, or prints it where there is none.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write(text: &str, file: Option<&Path>) -> Result<(), Failure> {
    match file {
        None => print(text),
        Some(file) => fs::write(file, text).map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?,
    }
    Ok(())
}

/// Prints a value as JSON.
///
/// # Errors
/// Never for the types that commands print, which have no map keys but strings.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::usage(error.to_string()))?;
    print(&(text + "\n"));
    Ok(())
}
