//! `cargo xtask check` and `cargo xtask test`: every check in one order, and all verdicts at the end.

use std::{
    env,
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Instant,
};

use xshell::{Cmd, Shell, cmd};

use super::{Error, build, docs, serve, tools, types};

/// The triple of everything that runs in a browser.
const WASM: &str = "wasm32-unknown-unknown";

/// The packages that run in a browser: they are looked at, and tested, as they are compiled for it.
const FOR_BROWSERS: [&str; 3] = ["megatron-memory-api", "page", "search-worker"];

/// The library optimized for tests, some of which estimate hundreds of thousands of jobs. Not in `Cargo.toml`, since
/// whoever edits the library compiles it more often than that.
const OPTIMIZED: &str = "profile.dev.package.megatron-memory.opt-level=1";

/// The heading of the summary at the end, above one line for each step.
const SUMMARY: &str = "\n== summary\n";

/// The verdicts so far.
#[derive(Default)]
struct Report {
    lines: Vec<String>,
    failed: bool,
}

impl Report {
    /// Runs one step and keeps the summaries of its test runners.
    fn step(&mut self, name: &str, command: Cmd<'_>) {
        self.work(name, || summaries(command));
    }

    /// Does one step and keeps the lines that it gives.
    fn work(&mut self, name: &str, work: impl FnOnce() -> Result<Vec<String>, Error>) {
        println!("\n== {name}");
        let start = Instant::now();
        let (verdict, details) = match work() {
            Ok(details) => ("ok", details),
            Err(error) => {
                self.failed = true;
                ("FAILED", vec![error.to_string()])
            }
        };
        let seconds = start.elapsed().as_secs();
        self.lines.push(format!("{verdict:6} {seconds:>5} s  {name}"));
        self.lines
            .extend(details.iter().map(|line| format!("                {line}")));
    }

    fn end(self) -> Result<(), Error> {
        println!("{SUMMARY}{}", self.lines.join("\n"));
        if self.failed {
            Err("not everything passed".into())
        } else {
            Ok(())
        }
    }
}

/// Runs a command, lets its output pass, and gives the lines in which cargo's and Node's test runners sum up.
fn summaries(command: Cmd<'_>) -> Result<Vec<String>, Error> {
    let text = command.to_string();
    println!("$ {text}");
    let mut child = Command::from(command).stdout(Stdio::piped()).spawn()?;
    let mut kept = Vec::new();
    for line in child
        .stdout
        .take()
        .into_iter()
        .flat_map(|output| BufReader::new(output).lines())
    {
        let line = line?;
        println!("{line}");
        let node = ["tests", "pass", "fail"].iter().any(|word| {
            let rest = line.trim_start_matches(['#', 'ℹ', ' ']);
            rest != line && rest.strip_prefix(word).is_some_and(|rest| rest.starts_with(' '))
        });
        if node || line.starts_with("test result:") {
            kept.push(line);
        }
    }
    let status = child.wait()?;
    if status.success() {
        return Ok(kept);
    }
    kept.push(format!("{text} ended with {status}"));
    Err(kept.join("\n                ").into())
}

/// The quick ones: what to run before every commit.
pub(crate) fn check(shell: &Shell) -> Result<(), Error> {
    let mut report = Report::default();
    quick(shell, &mut report);
    report.end()
}

fn quick(shell: &Shell, report: &mut Report) {
    let (lints, denied) = (["clippy", "--quiet"], ["--", "--deny", "warnings"]);
    report.step("format", cmd!(shell, "cargo fmt --all --check"));
    // The same packages as in the tests below, so that both share the macros of their dependencies.
    report.step(
        "clippy: the core, the command line and the task runner",
        cmd!(shell, "cargo {lints...} --all-features --all-targets {denied...}"),
    );
    report.step(
        "clippy: the tests in browsers",
        cmd!(
            shell,
            "cargo {lints...} --package browser-tests --all-targets {denied...}"
        ),
    );
    let packages = FOR_BROWSERS.map(|package| ["--package", package]);
    let packages = packages.as_flattened();
    report.step(
        "clippy: the page, its worker and the JavaScript API",
        cmd!(
            shell,
            "cargo {lints...} --target {WASM} {packages...} --all-targets {denied...}"
        ),
    );
    report.step(
        "tests of the core, the command line and the task runner",
        cmd!(shell, "cargo test --config {OPTIMIZED}"),
    );
}

/// All of them. What needs the built page runs beside the others: neither keeps two cores busy to its end.
pub(crate) fn all(shell: &Shell) -> Result<(), Error> {
    let page = Beside::start(["test", "page"])?;
    let mut report = Report::default();
    quick(shell, &mut report);
    report.work("tools", || tools::for_build(shell).map(|()| Vec::new()));
    report.work("trunk serve", || serve::check(shell).map(|()| Vec::new()));
    report.step(
        "tests of the page's parts, in WebAssembly",
        cmd!(shell, "cargo test --target {WASM} --package page --lib"),
    );
    report.step(
        "tests of the core, in WebAssembly",
        cmd!(
            shell,
            "cargo test --target {WASM} --package megatron-memory-api --test wasm"
        ),
    );
    page.finish(&mut report)?;
    report.end()
}

/// `cargo xtask test page`: the page and the JavaScript API as they are published, in browsers and in Node.
pub(crate) fn page(shell: &Shell) -> Result<(), Error> {
    let sites = Beside::start(["test", "sites"])?;
    let mut report = Report::default();
    report.work("Trunk and wasm-bindgen", || {
        tools::for_build(shell).map(|()| Vec::new())
    });
    report.work("release build", || build::build(shell).map(|()| Vec::new()));
    let built = !report.failed;
    sites.finish(&mut report)?;
    if built {
        // `node --test` looks for files named like these in the folder.
        report.step(
            "the built JavaScript API in Node",
            cmd!(shell, "node --test tests/api/"),
        );
        report.work("types of the JavaScript API, with TypeScript's compiler", || {
            types::check(shell).map(|()| Vec::new())
        });
        report.work("the built page in Chromium and Firefox", || {
            let axe = tools::axe(shell)?;
            // A page waits for frames and timers most of the time: one test more than there are cores.
            let threads = (thread::available_parallelism()?.get() + 1).to_string();
            let browser = cmd!(
                shell,
                "cargo test --package browser-tests --test browser -- --test-threads {threads}"
            );
            summaries(browser.env("AXE_CORE", axe))
        });
        embeds(shell, &mut report);
    }
    report.end()
}

/// `cargo xtask test sites`: what can be made ready for the tests of the page before it is built.
pub(crate) fn sites(shell: &Shell) -> Result<(), Error> {
    let mut report = Report::default();
    report.work("browsers, their drivers and Node", || {
        tools::for_tests(shell).map(|()| Vec::new())
    });
    report.work("documentation sites with embeds, each built with its own tools", || {
        let built = docs::build(shell).into_iter();
        let failed: Vec<String> = built
            .filter_map(|(site, outcome)| Some(format!("{site}: {}", outcome.err()?)))
            .collect();
        if failed.is_empty() {
            Ok(Vec::new())
        } else {
            Err(failed.join("\n                ").into())
        }
    });
    report.end()
}

/// A task that runs beside others. Its output comes all at once, at its end.
struct Beside {
    name: String,
    output: PathBuf,
    process: Child,
}

impl Beside {
    fn start<const N: usize>(task: [&str; N]) -> Result<Self, Error> {
        let output = Path::new("target").join(format!("{}.log", task.join("-")));
        let file = File::create(&output)?;
        // This program itself: cargo would wait for what others compile in the meantime.
        let process = Command::new(env::current_exe()?)
            .args(task)
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()?;
        Ok(Self {
            name: task.join(" "),
            output,
            process,
        })
    }

    /// Waits for its end, and takes over its verdicts.
    fn finish(mut self, report: &mut Report) -> Result<(), Error> {
        let status = self.process.wait()?;
        let text = fs::read_to_string(self.output)?;
        let (output, verdicts) = text.rsplit_once(SUMMARY).unwrap_or((&text, ""));
        println!("\n== {}\n{output}", self.name);
        report.lines.extend(verdicts.lines().map(str::to_owned));
        if !status.success() {
            report.failed = true;
            report.lines.push(format!("FAILED cargo xtask {}: {status}", self.name));
        }
        Ok(())
    }
}

/// `cargo xtask test docs`: embeds in documentation sites, in a browser.
pub(crate) fn documentation(shell: &Shell) -> Result<(), Error> {
    if !Path::new("dist/embed.html").exists() {
        return Err("build the page first: cargo xtask build".into());
    }
    sites(shell)?;
    let mut report = Report::default();
    embeds(shell, &mut report);
    report.end()
}

/// Looks at the embeds in documentation sites that are built.
fn embeds(shell: &Shell, report: &mut Report) {
    report.work("embeds in documentation sites", || {
        let browser = cmd!(
            shell,
            "cargo test --package browser-tests --test browser -- --ignored docs::"
        );
        summaries(
            browser
                .env("AXE_CORE", tools::axe(shell)?)
                .env("DOCS_SITES", docs::sites().canonicalize()?),
        )
    });
}
