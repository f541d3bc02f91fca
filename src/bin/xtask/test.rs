//! `cargo xtask check` and `cargo xtask test`: every check in one order, and all verdicts at the end.

use std::{
    ffi::OsStr,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use super::{
    Error,
    command::{WASM, watch},
    dist::{self, Mode},
    docs, limits, tools,
};

/// The verdicts so far.
#[derive(Default)]
struct Report {
    lines: Vec<String>,
    failed: bool,
}

impl Report {
    /// Does one step and keeps what it says about itself.
    fn step(&mut self, name: &str, work: impl FnOnce() -> Result<Vec<String>, Error>) -> bool {
        println!("\n== {name}");
        let start = Instant::now();
        let result = work();
        let passed = result.is_ok();
        let (verdict, details) = match result {
            Ok(details) => ("ok", details),
            Err(error) => ("FAILED", vec![error.to_string()]),
        };
        self.note(verdict, name, Some(start.elapsed()), details);
        self.failed |= !passed;
        passed
    }

    fn note(&mut self, verdict: &str, name: &str, time: Option<Duration>, details: Vec<String>) {
        let time = time.map_or(String::new(), |time| format!("{} s", time.as_secs()));
        self.lines.push(format!("{verdict:8} {time:>6}  {name}"));
        self.lines.extend(
            details
                .into_iter()
                .map(|line| format!("                  {line}")),
        );
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

/// One call of cargo; the verdicts of its test runners are kept.
fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, Error> {
    runner(Command::new("cargo").args(arguments))
}

fn runner(command: &mut Command) -> Result<Vec<String>, Error> {
    watch(command, |line| {
        let node = ["# tests", "# pass", "# fail", "ℹ tests", "ℹ pass", "ℹ fail"];
        line.starts_with("test result:") || node.iter().any(|start| line.starts_with(start))
    })
}

/// The quick ones: what to run before every commit.
pub(crate) fn check() -> Result<(), Error> {
    tools::wasm_target()?;
    let mut report = Report::default();
    quick(&mut report);
    report.end()
}

fn quick(report: &mut Report) {
    report.step("format", || cargo(["fmt", "--check"]));
    let deny = ["--", "--deny", "warnings"];
    let clippy = ["clippy", "--quiet"];
    report.step("clippy, native, all features", || {
        cargo(
            clippy
                .into_iter()
                .chain(["--all-features", "--all-targets"])
                .chain(deny),
        )
    });
    report.step("clippy, wasm", || {
        let shipped = [
            "--target",
            WASM,
            "--features",
            "engine,exchange",
            "--lib",
            "--bins",
            "--test",
            "wasm",
        ];
        cargo(clippy.into_iter().chain(shipped).chain(deny))
    });
    report.step("clippy, wasm, the embed", || {
        let shipped = ["--target", WASM, "--no-default-features"];
        let shipped = shipped.into_iter().chain(["--features", "embed", "--lib"]);
        cargo(clippy.into_iter().chain(shipped).chain(deny))
    });
    // Without the page first: a core module that needs the browser fails here.
    report.step("core tests", || cargo(["test", "--no-default-features"]));
}

/// All of them.
pub(crate) fn all() -> Result<(), Error> {
    tools::wasm_target()?;
    tools::for_tests()?;
    let mut report = Report::default();
    quick(&mut report);
    report.step("task runner tests", || {
        cargo([
            "test",
            "--no-default-features",
            "--features",
            "xtask",
            "--bin",
            "xtask",
        ])
    });
    report.step("native tests with the page and the engine", || {
        cargo(["test", "--features", "engine"])
    });
    report.step("native tests of the embed", || {
        let embed = ["test", "--no-default-features", "--features", "embed"];
        cargo(embed.into_iter().chain(["--lib"]))
    });
    report.step("tests in wasm", || {
        cargo([
            "test",
            "--target",
            WASM,
            "--no-default-features",
            "--features",
            "engine",
            "--test",
            "wasm",
        ])
    });
    let dist = Path::new("dist");
    let built = report.step("release build", || {
        dist::build(Mode::Release, dist).map(|()| Vec::new())
    });
    if built {
        report.step("what dist/ holds", || limits(dist));
        report.step("engine in Node", || {
            let tests =
                ["engine", "modules", "exchange"].map(|name| format!("tests/{name}.test.mjs"));
            runner(Command::new("node").arg("--test").args(tests))
        });
        report.step("built page in a browser", || browser(&[], ""));
        let name = "accessibility of the built page";
        match tools::axe() {
            Ok(axe) => {
                let ignored = ["--", "--ignored", "no_barriers"];
                report.step(name, || browser(&ignored, &axe));
            }
            Err(error) => report.note("SKIPPED", name, None, vec![error.to_string()]),
        }
    }
    report.end()
}

/// Embeds in the documentation sites that can be built here, in a browser.
pub(crate) fn documentation() -> Result<(), Error> {
    tools::for_tests()?;
    let mut report = Report::default();
    if !Path::new("dist/embed.html").exists() {
        return Err("build the page first: cargo xtask build".into());
    }
    let axe = tools::axe()?;
    for (site, built) in docs::build() {
        match built {
            Ok(()) => report.note("ok", site, None, Vec::new()),
            Err(error) => report.note("SKIPPED", site, None, vec![error.to_string()]),
        }
    }
    report.step("embeds in these sites", || {
        let mut command = Command::new("cargo");
        command.args(["test", "--no-default-features", "--features", "browser"]);
        command.args(["--test", "browser", "--", "--ignored", "docs::"]);
        command.env("AXE_CORE", axe);
        runner(command.env("DOCS_SITES", docs::sites().canonicalize()?))
    });
    report.end()
}

fn limits(dist: &Path) -> Result<Vec<String>, Error> {
    let table = limits::table(&limits::sizes(dist)?);
    println!("{table}");
    let broken = limits::broken(dist)?;
    if broken.is_empty() {
        Ok(table.lines().map(str::to_owned).collect())
    } else {
        Err(broken.join("\n").into())
    }
}

/// The tests of the built page; `axe` is the accessibility checker's script.
fn browser(options: &[&str], axe: impl AsRef<OsStr>) -> Result<Vec<String>, Error> {
    let mut command = Command::new("cargo");
    command.args([
        "test",
        "--no-default-features",
        "--features",
        "browser",
        "--test",
        "browser",
    ]);
    runner(command.args(options).env("AXE_CORE", axe))
}
