//! The project's tasks: `cargo xtask help`.
//!
//! Only rustup and a C linker have to be there. Trunk and wasm-bindgen are put into `target/tools` where they are
//! missing ([`tools`]), and what only the tests need (browsers, their drivers, Node) comes from the system's packages.
#![allow(clippy::print_stdout, reason = "a command-line tool talks to its user")]

mod bench;
mod build;
mod docs;
mod evidence;
mod fewest_gpus;
mod filters;
mod fit_time;
mod fuzz;
mod guide;
mod html;
mod oembed;
mod readme;
mod recipes;
mod reference;
mod serve;
mod site;
mod svg;
mod tables;
mod test;
mod tools;
mod types;

use std::{env, fs, path::Path, process::ExitCode};

use lexopt::{Arg, Parser, ValueExt};
use megatron_memory::formats::preset_files::{self, settings};
use xshell::Shell;

/// What went wrong, in words for the terminal.
type Error = Box<dyn std::error::Error>;

const HELP: &str = "\
cargo xtask serve [--port N] [--release]   build, serve and reload the page while you edit
cargo xtask test                           every test, in the built page too
cargo xtask test page                      those of the built page alone: in Chromium, Firefox and Node
cargo xtask test sites                     what the tests of the page need: browsers, and documentation sites to embed it in
cargo xtask test docs                      embeds in real documentation sites, each built with its own tools
cargo xtask test types                     the types of the JavaScript API, with TypeScript's compiler
cargo xtask check                          the quick part of the tests: format, lints, core tests
cargo xtask build                          the page and the JavaScript API, in dist/
cargo xtask release ADDRESS                the same with a page for every preset, for sites that know oEmbed
cargo xtask bench                          times and sizes, as Markdown
cargo xtask evidence                       every measured run beside its prediction; updates README.md
cargo xtask evidence check [FILE…]         records of runs that were measured and submitted, in these files and folders
cargo xtask recipes                        what becomes of every recipe of Megatron-Bridge
cargo xtask fewest-gpus [PRESET…]          the fewest GPUs that the table has not or that no longer fit, or all of these presets
cargo xtask fit-time                       the coefficients of step times, from the measured runs in src/evidence/step_times
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
    // Cargo says where the package is when it runs this.
    let package = env::var_os("CARGO_MANIFEST_DIR").ok_or("run this as `cargo xtask`")?;
    env::set_current_dir(Path::new(&package).join("../../.."))?;
    let shell = Shell::new()?;
    // rustup fetches the pinned toolchain at the first call of cargo, unless the environment forbids it.
    shell.set_var("RUSTUP_AUTO_INSTALL", "1");
    let options = Options::read(Parser::from_env())?;
    let words: Vec<&str> = options.words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve"] => build::serve(&shell, options.port, options.release),
        ["test"] => test::all(&shell),
        ["test", "page"] => test::page(&shell),
        ["test", "sites"] => test::sites(&shell),
        ["test", "docs"] => test::documentation(&shell),
        ["test", "types"] => types::check(&shell),
        ["check"] => test::check(&shell),
        ["build"] => build::build(&shell),
        ["release", address] => {
            build::build(&shell)?;
            oembed::write(Path::new("dist"), address)
        }
        ["bench"] => bench::all(&shell),
        ["evidence"] => evidence::report(),
        ["evidence", "check", ref paths @ ..] => evidence::check(paths),
        ["recipes"] => recipes::report(),
        ["fit-time"] => fit_time::run(),
        ["presets"] => {
            let lines = preset_files::lines().ok_or("a preset cannot be read")?;
            Ok(fs::write(settings::PATH, lines)?)
        }
        ["fewest-gpus", ref words @ ..] => fewest_gpus::search(words),
        ["svg", link] => svg::print(link, options.chart.as_deref()),
        ["fuzz"] => fuzz::run(&shell, options.millions, None),
        ["fuzz", reader] => fuzz::run(&shell, options.millions, Some(reader)),
        // Trunk's hooks.
        ["site"] => site::write(),
        ["finish"] => build::finish(&shell),
        ["help"] | [] => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(format!("no task is called {:?}\n\n{HELP}", words.join(" ")).into()),
    }
}

/// The command line: the task with its arguments, and the options of all tasks.
struct Options {
    words: Vec<String>,
    port: u16,
    release: bool,
    chart: Option<String>,
    millions: u64,
}

impl Options {
    fn read(mut arguments: Parser) -> Result<Self, Error> {
        let mut options = Self {
            words: Vec::new(),
            port: 8080,
            release: false,
            chart: None,
            millions: 1,
        };
        while let Some(argument) = arguments.next()? {
            match argument {
                Arg::Long("port") => options.port = arguments.value()?.parse()?,
                Arg::Long("release") => options.release = true,
                Arg::Long("chart") => options.chart = Some(arguments.value()?.string()?),
                Arg::Long("millions") => options.millions = arguments.value()?.parse()?,
                Arg::Long("help") | Arg::Short('h') => options.words.insert(0, "help".to_owned()),
                Arg::Value(word) => options.words.push(word.string()?),
                Arg::Long(_) | Arg::Short(_) => return Err(argument.unexpected().into()),
            }
        }
        Ok(options)
    }
}
