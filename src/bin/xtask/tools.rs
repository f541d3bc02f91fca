//! What the tests need and cargo cannot provide: looked for, and fetched from the system's packages.

use std::{env, path::PathBuf, process::Command};

use super::{
    Error,
    command::{WASM, exists, finish, run, target},
};

/// The standard library for wasm. rustup adds it by itself, unless that has been switched off.
pub(crate) fn wasm_target() -> Result<(), Error> {
    let mut rustc = Command::new("rustc");
    let folder = rustc
        .args(["--print", "target-libdir", "--target", WASM])
        .output()?
        .stdout;
    if PathBuf::from(String::from_utf8(folder)?.trim()).is_dir() {
        return Ok(());
    }
    run("rustup", ["target", "add", WASM])
}

/// A browser, its driver and Node.
pub(crate) fn for_tests() -> Result<(), Error> {
    let mut packages = Vec::new();
    if !["chromium", "google-chrome", "chromium-browser"]
        .into_iter()
        .any(exists)
    {
        // Without a font a page has no text to look at.
        packages.extend(["chromium", "fonts-dejavu-core"]);
    }
    if !exists("chromedriver") {
        packages.push("chromium-driver");
    }
    if !exists("node") {
        packages.push("nodejs");
    }
    if packages.is_empty() {
        return Ok(());
    }
    println!("installing {}", packages.join(", "));
    apt(&["update", "--quiet"])
        .and_then(|()| {
            apt(&[
                &["install", "--quiet", "--yes", "--no-install-recommends"],
                &packages[..],
            ]
            .concat())
        })
        .map_err(|error| format!("the tests need {}: {error}", packages.join(", ")).into())
}

fn apt(arguments: &[&str]) -> Result<(), Error> {
    // Only root may install; `id` and not $USER, which containers leave unset.
    let root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|id| id.stdout == b"0\n");
    let mut command = Command::new(if root { "apt-get" } else { "sudo" });
    if !root {
        command.args(["--non-interactive", "apt-get"]);
    }
    finish(
        command
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}

/// The accessibility checker's script; see [`npm`].
pub(crate) fn axe() -> Result<PathBuf, Error> {
    npm("axe-core@4.10.3", "axe-core/axe.min.js")
}

/// A file of a package with its version, fetched once.
///
/// # Errors
///
/// Where there is no npm or no network. Nothing else depends on it.
pub(crate) fn npm(package: &str, file: &str) -> Result<PathBuf, Error> {
    // A folder each: npm clears away what it was not asked for.
    let folder = env::current_dir()?.join(target()).join("npm").join(package);
    let file = folder.join("node_modules").join(file);
    if !file.exists() {
        let mut npm = Command::new("npm");
        npm.args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--no-save",
            package,
            "--prefix",
        ]);
        finish(npm.arg(&folder))?;
    }
    Ok(file)
}
