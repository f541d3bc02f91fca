//! `cargo xtask check` and `cargo xtask test`: every check in one order, and all verdicts at the end.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use xshell::{Cmd, Shell, cmd};

use super::{Error, build, docs, tools, types};

/// The triple of everything that runs in a browser.
const WASM: &str = "wasm32-unknown-unknown";

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
    let mut report = Report::default();
    quick(shell, &mut report);
    report.step(
        "tests in wasm",
        cmd!(
            shell,
            "cargo test --target {WASM} --package megatron-memory-api --test wasm"
        ),
    );
    report.work("release build", || build::build(shell).map(|()| Vec::new()));
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
    report.work("trunk serve in a fresh clone", || serves_a_clone(shell));
    report.end()
}

/// How long `trunk serve` may take to build and to answer.
const PATIENCE: Duration = Duration::from_mins(20);

/// Runs `trunk serve` in a copy of the sources, where nothing has ever been built, and asks it for the page.
fn serves_a_clone(shell: &Shell) -> Result<Vec<String>, Error> {
    let clone = Path::new("target/clone");
    if clone.exists() {
        fs::remove_dir_all(clone)?;
    }
    for entry in fs::read_dir(".")? {
        let name = entry?.file_name();
        if !["target", "dist", ".git"].iter().any(|made| name == *made) {
            build::copy(Path::new(&name), &clone.join(&name))?;
        }
    }
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
    let mut trunk = Command::from(cmd!(shell, "trunk serve --offline --port {port}"))
        .current_dir(clone)
        // Outside the folder of this checkout's own builds: cargo would take what the clone builds for theirs.
        .env("CARGO_TARGET_DIR", env::current_dir()?.join("target/clone-builds"))
        // Nobody looks for mistakes in it, or edits it.
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0")
        .spawn()?;
    let start = Instant::now();
    let address = format!("127.0.0.1:{port}");
    let outcome = loop {
        thread::sleep(Duration::from_millis(500));
        if let Some(status) = trunk.try_wait()? {
            return Err(format!("trunk serve ended with {status}").into());
        }
        match get(&address, "/") {
            Ok(page) if page.contains("loader.js") => {
                break get(&address, "/page_bg.wasm");
            }
            _ if start.elapsed() > PATIENCE => break Err("trunk serve does not answer".into()),
            _ => {}
        }
    };
    trunk.kill()?;
    trunk.wait()?;
    if !outcome?.contains("application/wasm") {
        return Err("trunk serve does not say that the module is WebAssembly".into());
    }
    Ok(Vec::new())
}

/// The answer to a request, with its head, as far as it is text.
fn get(address: &str, path: &str) -> Result<String, Error> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
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
