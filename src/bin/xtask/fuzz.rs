//! The fuzzing of `tests/fuzz`, optimized and for longer than the tests allow.

use std::process::Command;

use super::{Error, command::finish};

/// How many readers there are, roughly: the executions are shared out among them.
const READERS: u64 = 12;

/// Runs the number of executions asked for, a million by default.
pub(crate) fn from_options(options: &[&str]) -> Result<(), Error> {
    let (millions, reader) = match *options {
        [] => (1, None),
        ["--millions", millions] => (millions.parse::<u64>()?, None),
        ["--millions", millions, reader] => (millions.parse()?, Some(reader)),
        [reader] => (1, Some(reader)),
        _ => return Err("usage: cargo xtask fuzz [--millions N] [READER]".into()),
    };
    let executions = millions.saturating_mul(1_000_000);
    let each = if reader.is_some() {
        executions
    } else {
        executions.div_ceil(READERS)
    };
    let mut cargo = Command::new("cargo");
    cargo.args([
        "test",
        "--release",
        "--no-default-features",
        "--test",
        "fuzz",
    ]);
    cargo
        .args(["--", "--nocapture", "--test-threads", "2"])
        .args(reader);
    cargo
        .env("FUZZ_EXECUTIONS", each.to_string())
        .env("FUZZ_KEEP", "1");
    finish(&mut cargo)
}
