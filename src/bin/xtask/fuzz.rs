//! The fuzzing of `tests/fuzz`, optimized and for longer than the tests allow.

use xshell::{Shell, cmd};

use super::Error;

/// How many readers there are, roughly: the executions are shared out among them.
const READERS: u64 = 12;

/// Runs so many million executions.
pub(crate) fn run(shell: &Shell, millions: u64, reader: Option<&str>) -> Result<(), Error> {
    let executions = millions.saturating_mul(1_000_000);
    let each = if reader.is_some() {
        executions
    } else {
        executions.div_ceil(READERS)
    };
    let fuzz = ["test", "--release", "--package", "core-tests", "--test", "fuzz"];
    Ok(
        cmd!(shell, "cargo {fuzz...} -- --nocapture --test-threads 2 {reader...}")
            .env("FUZZ_EXECUTIONS", each.to_string())
            .env("FUZZ_KEEP", "1")
            .run()?,
    )
}
