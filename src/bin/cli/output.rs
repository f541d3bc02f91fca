//! Texts and files as output.

use core::fmt::Display;
use std::fs;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

use megatron_memory::config::fields::FieldId;
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

/// How to find another layout, where Megatron refuses a job for its own.
pub(crate) fn way_to_layouts(problems: &[Problem]) -> Option<&'static str> {
    let of_layout = |problem: &Problem| problem.keeps_from_training() && problem.fields.contains(&FieldId::world_size);
    let found = problems.iter().any(of_layout);
    found.then_some("`megatron-memory search` lists the layouts that Megatron runs")
}

/// Lines, each indented on a line of its own below what stands before them.
pub(crate) fn listed(lines: &[String]) -> String {
    format!("\n  {}", lines.join("\n  "))
}

/// Prints a text. A reader who has seen enough, such as `head`, ends the program without a message.
///
/// # Errors
/// When it cannot be written, as on a disk that is full.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::not_written(format!("the result cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Says something on the standard error. Where nobody reads it any more, as behind `2>&1 | head`, it is not said.
pub(crate) fn tell(text: impl Display) {
    let _ = write!(std::io::stderr().lock(), "{text}");
}

/// Prints lines for people: on a terminal, those that are wider continue on indented lines.
///
/// # Errors
/// When they cannot be written.
pub(crate) fn print_lines(text: &str) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() {
        print(&wrapped(text, textwrap::termwidth()))
    } else {
        print(text)
    }
}

/// The lines of a text, none wider than `width` unless one word is.
fn wrapped(text: &str, width: usize) -> String {
    let lines = text.lines().map(|line| {
        let own = line.len() - line.trim_start().len();
        let indent = " ".repeat(own + 4);
        let options = textwrap::Options::new(width)
            .subsequent_indent(&indent)
            .break_words(false);
        textwrap::fill(line, options) + "\n"
    });
    lines.collect()
}

/// Writes a text to a file, or prints it where there is none.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write(text: &str, file: Option<&Path>) -> Result<(), Failure> {
    let Some(file) = file else {
        return print(text);
    };
    fs::write(file, text).map_err(|error| Failure::not_written(format!("{}: {error}", file.display())))
}

/// Prints a value as JSON.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::not_written(error.to_string()))?;
    print(&(text + "\n"))
}
