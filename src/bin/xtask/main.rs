//! Everything between the sources and a running page or a test result: `cargo xtask help`.
//!
//! Nothing has to be installed for it but rustup: wasm-bindgen is linked in as a library, and what the
//! tests need beyond that (a browser and its driver, Node) is fetched from the system's packages.
#![allow(clippy::print_stdout, reason = "a command-line tool talks to its user")]

mod cargo;
mod dist;

use std::{env, path::Path, process::ExitCode};

/// What went wrong, in words for the terminal.
type Error = Box<dyn std::error::Error>;

const HELP: &str = "\
cargo xtask build [--dev]   the page and the JavaScript API, in dist/
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Error> {
    // The alias is usable from any folder below the manifest; paths here are relative to the top.
    env::set_current_dir(env!("CARGO_MANIFEST_DIR"))?;
    let mut arguments = env::args_os().skip(1);
    let task = arguments.next().unwrap_or_else(|| "help".into());
    let rest: Vec<_> = arguments.collect();
    let flag = |name: &str| rest.iter().any(|argument| argument == name);
    match task.to_string_lossy().as_ref() {
        "build" => dist::build(dist::Mode::from_dev(flag("--dev")), Path::new("dist")),
        "finish" => dist::finish_for_trunk(),
        "wasm-test-runner" => Ok(
            wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(env::args_os().skip(1))?,
        ),
        "help" | "--help" => {
            print!("{HELP}");
            Ok(())
        }
        unknown => Err(format!("no task is called {unknown:?}\n\n{HELP}").into()),
    }
}
