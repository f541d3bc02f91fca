//! Calls of cargo and of other programs.

use std::{
    env,
    ffi::OsStr,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
};

use super::Error;

/// The triple of everything that runs in a browser.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

/// Runs `program` and waits for it.
///
/// # Errors
///
/// When it cannot be started or ends with anything but success.
pub(crate) fn run<I: IntoIterator<Item: AsRef<OsStr>>>(
    program: &str,
    arguments: I,
) -> Result<(), Error> {
    finish(Command::new(program).args(arguments))
}

/// As [`run`], for a command that needs more than arguments.
pub(crate) fn finish(command: &mut Command) -> Result<(), Error> {
    let status = command
        .status()
        .map_err(|error| cannot_start(command, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{} ended with {status}", text(command)).into())
    }
}

/// Runs `command`, lets its output pass, and gives those lines of it that `keep` chooses.
pub(crate) fn watch(
    command: &mut Command,
    keep: impl Fn(&str) -> bool,
) -> Result<Vec<String>, Error> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| cannot_start(command, &error))?;
    let mut kept = Vec::new();
    for line in child
        .stdout
        .take()
        .into_iter()
        .flat_map(|output| BufReader::new(output).lines())
    {
        let line = line?;
        println!("{line}");
        if keep(&line) {
            kept.push(line);
        }
    }
    let status = child.wait()?;
    if status.success() {
        Ok(kept)
    } else {
        Err(format!("{} ended with {status}", text(command)).into())
    }
}

/// Whether a program of this name can be started.
pub(crate) fn exists(program: &str) -> bool {
    let quiet = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    quiet.is_ok_and(|status| status.success())
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Error {
    format!("cannot start {}: {error}", text(command)).into()
}

/// The command as one would type it.
fn text(command: &Command) -> String {
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    words
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}
