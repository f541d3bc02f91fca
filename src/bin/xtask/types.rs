//! The types of the JavaScript API, read by TypeScript: a program that uses all of them, and real results.

use std::{fs, path::Path, process::Command};

use super::{
    Error,
    command::{finish, target},
    dist::files,
    tools,
};

/// Puts a program of `tests/types` beside the built package, as npm would, and lets the compiler read both.
pub(crate) fn check() -> Result<(), Error> {
    let api = Path::new("dist/api");
    if !api.join("package.json").exists() {
        return Err("build the package first: cargo xtask build".into());
    }
    let compiler = tools::npm("typescript@5.9.3", "typescript/bin/tsc")?;
    let source = Path::new("tests/types");
    let work = target().join("types");
    copy(source, &work)?;
    copy(api, &work.join("node_modules/megatron-memory"))?;
    let results = work.join("results.ts");
    finish(
        Command::new("node")
            .arg(source.join("results.mjs"))
            .arg(results),
    )?;
    finish(
        Command::new("node")
            .arg(compiler)
            .arg("--project")
            .arg(work),
    )
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to)?;
    for file in files(from)? {
        fs::copy(from.join(&file), to.join(&file))?;
    }
    Ok(())
}
