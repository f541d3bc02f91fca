//! `cargo xtask bench`: times and sizes, as Markdown.

use std::path::Path;

use super::{
    Error,
    command::run,
    dist::{self, Mode},
    limits, tools,
};

/// Measures everything, one after another, so that nothing disturbs anything.
pub(crate) fn all() -> Result<(), Error> {
    tools::wasm_target()?;
    tools::for_tests()?;
    let dist = Path::new("dist");
    dist::build(Mode::Release, dist)?;
    println!("\n## Natively\n");
    run(
        "cargo",
        [
            "bench",
            "--quiet",
            "--no-default-features",
            "--features",
            "bench",
            "--bench",
            "estimate",
        ],
    )?;
    println!("\n## In the engine, under Node\n");
    run("node", ["benches/engine.mjs"])?;
    println!("\n## From a key to the painted page, and from a file to its refusal, in Chromium\n");
    run(
        "cargo",
        [
            "bench",
            "--quiet",
            "--no-default-features",
            "--features",
            "browser",
            "--bench",
            "keystroke",
        ],
    )?;
    println!("\n## Sizes in bytes\n");
    println!("{}", limits::table(&limits::sizes(dist)?));
    Ok(())
}
