//! The types of the JavaScript API, read by TypeScript: a program that uses all of them, and real results.

use std::path::Path;

use xshell::{Shell, cmd};

use super::{Error, build::copy, tools};

/// Puts a program of `tests/types` beside the built package, as npm would, and lets the compiler read both.
pub(crate) fn check(shell: &Shell) -> Result<(), Error> {
    let api = Path::new("dist/api");
    if !api.join("package.json").exists() {
        return Err("build the package first: cargo xtask build".into());
    }
    let compiler = tools::npm(shell, "typescript@5.9.3", "typescript/bin/tsc")?;
    let source = Path::new("tests/types");
    let work = Path::new("target/types");
    copy(source, work)?;
    copy(api, &work.join("node_modules/megatron-memory"))?;
    let (writer, results) = (source.join("results.mjs"), work.join("results.ts"));
    cmd!(shell, "node {writer} {results}").run()?;
    Ok(cmd!(shell, "node {compiler} --project {work}").run()?)
}
