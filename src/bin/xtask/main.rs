//! Everything between the sources and a running page or a test result: `cargo xtask help`.
//!
//! Nothing has to be installed for it but rustup: wasm-bindgen is linked in as a library, and what the
//! tests need beyond that (a browser and its driver, Node) is fetched from the system's packages.
#![allow(clippy::print_stdout, reason = "a command-line tool talks to its user")]

mod bench;
mod command;
mod dist;
mod docs;
mod evidence;
mod fuzz;
mod html;
mod limits;
mod names;
mod oembed;
mod reference;
mod serve;
mod server;
mod split;
mod svg;
mod test;
mod tools;
mod types;

use std::{env, path::Path, process::ExitCode};

use dist::Mode;
use megatron_memory::presets::settings;
use wasm_bindgen_cli::{wasm_bindgen, wasm_bindgen_test_runner};

/// What went wrong, in words for the terminal.
type Error = Box<dyn std::error::Error>;

const HELP: &str = "\
cargo xtask serve [--port N] [--release]   build, serve and reload the page while you edit
cargo xtask test                           every test, in the built page too
cargo xtask test docs                      embeds in real documentation sites, each built with its own tools
cargo xtask test types                     the types of the JavaScript API, with TypeScript's compiler
cargo xtask check                          the quick part of that: format, lints, core tests
cargo xtask build [--dev]                  the page and the JavaScript API, in dist/
cargo xtask build --at ADDRESS             the same with a page for every preset, for sites that know oEmbed
cargo xtask bench                          times and sizes, as Markdown
cargo xtask evidence                       every measured run beside its prediction; updates README.md
cargo xtask presets                        the fields of every preset, from the presets' files
cargo xtask svg LINK [--chart NAME]        the picture of a link, for pages without scripts
cargo xtask fuzz [--millions N] [READER]   every reader, or one, fed with mutations of tests/corpus
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
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let dist = Path::new("dist");
    match words[..] {
        ["build"] => tools::wasm_target().and_then(|()| dist::build(Mode::Release, dist)),
        ["build", "--dev"] => tools::wasm_target().and_then(|()| dist::build(Mode::Dev, dist)),
        ["build", "--at", address] => tools::wasm_target()
            .and_then(|()| dist::build(Mode::Release, dist))
            .and_then(|()| oembed::write(dist, address)),
        ["serve", ref options @ ..] => serve::from_options(options),
        ["check"] => test::check(),
        ["test"] => test::all(),
        ["test", "docs"] => test::documentation(),
        ["test", "types"] => types::check(),
        ["bench"] => bench::all(),
        ["evidence"] => evidence::report(),
        ["presets"] => presets(),
        ["fuzz", ref options @ ..] => fuzz::from_options(options),
        ["svg", ref options @ ..] => svg::print(options),
        ["finish"] => dist::finish_for_trunk(),
        ["wasm-test-runner", ..] => Ok(wasm_bindgen_test_runner::run_cli_with_args(&arguments)?),
        // For Trunk where it cannot download its own: a script `wasm-bindgen` on the path that calls this.
        ["wasm-bindgen", ..] => Ok(wasm_bindgen::run_cli_with_args(&arguments)?),
        ["help" | "--help"] | [] => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(format!("no task is called {:?}\n\n{HELP}", arguments.join(" ")).into()),
    }
}

/// Writes down what the readers make of the presets' files.
fn presets() -> Result<(), Error> {
    let lines = settings::lines().ok_or("a preset cannot be read")?;
    Ok(std::fs::write(settings::PATH, lines)?)
}
