//! Calls of cargo and of other programs.

use std::{env, ffi::OsStr, path::PathBuf, process::Command};

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
    let mut command = Command::new(program);
    command.args(arguments);
    let status = command
        .status()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed ({status})").into())
    }
}
