//! `cargo xtask check` and `cargo xtask test`: every check in one order, and all verdicts at the end.

use std::{
    env,
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Instant,
};

use xshell::{Cmd, Shell, cmd};

use super::{Error, clone, docs, tools, types};

/// The triple of everything that runs in a browser.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// The library optimized for tests, some of which estimate hundreds of thousands of jobs. Not in `Cargo.toml`, since
/// whoever edits the library compiles it more often than that.
const OPTIMIZED: &str = "profile.dev.package.megatron-memory.opt-level=1";

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
        println!("\n== summary\n{}", self.lines.join("\n"));
        if self.failed {
            Err("not everything passed".into())
        } else {
            Ok(())
        }
    }
}

/// Runs a command, lets its output pass, and gives the lines in which cargo's and Node's test runners sum up.
pub(crate) fn summaries(command: Cmd<'_>) -> Result<Vec<String>, Error> {
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
    let clippy = ["clippy", "--quiet"];
    report.step("format", cmd!(shell, "cargo fmt --all --check"));
    report.step(
        "clippy, natively",
        cmd!(
            shell,
            "cargo {clippy...} --workspace --all-features --all-targets -- --deny warnings"
        ),
    );
    let packages = ["megatron-memory-api", "page", "search-worker"].map(|package| ["--package", package]);
    let packages = packages.as_flattened();
    report.step(
        "clippy, for browsers",
        cmd!(
            shell,
            "cargo {clippy...} --target {WASM} {packages...} --lib --bins --test wasm -- --deny warnings"
        ),
    );
    report.step(
        "tests of the core, the command line, the task runner and the page's parts",
        cmd!(shell, "cargo test --config {OPTIMIZED}"),
    );
}

/// All of them.
pub(crate) fn all(shell: &Shell) -> Result<(), Error> {
    tools::for_tests(shell)?;
    tools::for_build(shell)?;
    // Its links keep one core busy for minutes: what does not need the built page goes on beside it.
    let release = Beside::start("build")?;
    let mut report = Report::default();
    quick(shell, &mut report);
    report.work("trunk serve in a fresh clone, and the tests in wasm there", || {
        clone::check(shell)
    });
    report.work("release build, begun before all this", || release.finish());
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
        summaries(cmd!(shell, "cargo test --package browser-tests --test browser").env("AXE_CORE", axe))
    });
    embeds(shell, &mut report);
    report.end()
}

/// A task that runs beside others. Its output comes all at once, at its end.
struct Beside {
    task: &'static str,
    output: PathBuf,
    process: Child,
}

impl Beside {
    fn start(task: &'static str) -> Result<Self, Error> {
        let output = Path::new("target").join(format!("{task}.log"));
        let file = File::create(&output)?;
        // This program itself: cargo would wait for what others compile in the meantime.
        let process = Command::new(env::current_exe()?)
            .arg(task)
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()?;
        Ok(Self { task, output, process })
    }

    /// Waits for its end.
    fn finish(mut self) -> Result<Vec<String>, Error> {
        let status = self.process.wait()?;
        print!("{}", fs::read_to_string(self.output)?);
        if status.success() {
            Ok(Vec::new())
        } else {
            Err(format!("cargo xtask {} ended with {status}", self.task).into())
        }
    }
}

/// Embeds in documentation sites, in a browser.
pub(crate) fn documentation(shell: &Shell) -> Result<(), Error> {
    tools::for_tests(shell)?;
    if !Path::new("dist/embed.html").exists() {
        return Err("build the page first: cargo xtask build".into());
    }
    let mut report = Report::default();
    embeds(shell, &mut report);
    report.end()
}

/// Builds documentation sites with embeds, and looks at them.
fn embeds(shell: &Shell, report: &mut Report) {
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
    report.work("embeds in these sites", || {
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
