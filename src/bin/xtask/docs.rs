//! The documentation sites of `tests/embed`, each built with its own tools.
//!
//! The tools are fetched once, into `target/docs`. What cannot be had here is named and left out.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Error,
    command::{exists, finish, target},
    svg,
};

const PYTHON: [&str; 5] = [
    "sphinx==9.0.4",
    "myst-parser==5.2.0",
    "nvidia-sphinx-theme==0.0.9.post1",
    "sphinx-copybutton==0.5.2",
    "mkdocs-material==9.8.1",
];
const MDBOOK: &str = "0.4.52";

/// Where the built sites are.
pub(crate) fn sites() -> PathBuf {
    target().join("docs/sites")
}

/// Builds every site that can be built; the outcome of each by name.
pub(crate) fn build() -> Vec<(&'static str, Result<(), Error>)> {
    [
        ("plain", plain as fn(&Path, &Path) -> Result<(), Error>),
        ("sphinx", sphinx),
        ("mkdocs", mkdocs),
        ("mdbook", mdbook),
        ("docusaurus", docusaurus),
    ]
    .map(|(name, build)| {
        println!("\n-- {name}");
        let result = Path::new("tests/embed").join(name).canonicalize();
        let site = sites().join(name);
        let result = result
            .map_err(Error::from)
            .and_then(|source| fresh(&site).and_then(|site| build(&source, &site)));
        (name, result)
    })
    .into()
}

/// An empty folder, with an address that holds in any other.
fn fresh(folder: &Path) -> Result<PathBuf, Error> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    Ok(folder.canonicalize()?)
}

fn plain(source: &Path, site: &Path) -> Result<(), Error> {
    fs::copy(source.join("index.html"), site.join("index.html"))?;
    Ok(fs::write(
        site.join("llama.svg"),
        svg::of_link("#v1;m=llama3-8b@1;tp=2")?,
    )?)
}

fn sphinx(source: &Path, site: &Path) -> Result<(), Error> {
    let mut sphinx = Command::new(python()?.join("sphinx-build"));
    let doctrees = target().join("docs/doctrees");
    finish(
        sphinx
            .args(["-q", "-W", "-d"])
            .args([&doctrees, source, site]),
    )
}

fn mkdocs(source: &Path, site: &Path) -> Result<(), Error> {
    let mut mkdocs = Command::new(python()?.join("mkdocs"));
    mkdocs.args(["build", "--quiet", "--strict", "--config-file"]);
    finish(
        mkdocs
            .arg(source.join("mkdocs.yml"))
            .arg("--site-dir")
            .arg(site),
    )
}

fn mdbook(source: &Path, site: &Path) -> Result<(), Error> {
    let tools = target().join("docs/tools");
    let own = tools.join("bin/mdbook");
    let program = if exists("mdbook") {
        PathBuf::from("mdbook")
    } else {
        own
    };
    if !exists(&program.to_string_lossy()) {
        let mut install = Command::new("cargo");
        install.args([
            "install",
            "mdbook",
            "--version",
            MDBOOK,
            "--locked",
            "--debug",
        ]);
        install
            .args(["--no-default-features", "--root"])
            .arg(&tools);
        finish(install.env("CARGO_PROFILE_DEV_DEBUG", "0"))?;
    }
    finish(
        Command::new(program)
            .arg("build")
            .arg("--dest-dir")
            .args([site, source]),
    )
}

/// Built in a copy, beside its packages.
fn docusaurus(source: &Path, site: &Path) -> Result<(), Error> {
    let work = target().join("docs/docusaurus");
    fs::create_dir_all(work.join("docs"))?;
    for file in ["package.json", "docusaurus.config.js", "docs/index.mdx"] {
        fs::copy(source.join(file), work.join(file))?;
    }
    if !work.join("node_modules/@docusaurus/core").exists() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund"]);
        finish(npm.current_dir(&work))?;
    }
    let mut build = Command::new("node");
    build.args([
        "node_modules/@docusaurus/core/bin/docusaurus.mjs",
        "build",
        "--out-dir",
    ]);
    finish(build.arg(site).current_dir(&work))
}

/// The folder with the Python programs.
fn python() -> Result<PathBuf, Error> {
    let folder = target().join("docs/venv");
    let programs = folder.join("bin");
    if !programs.join("mkdocs").exists() {
        finish(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let mut pip = Command::new(programs.join("pip"));
        finish(pip.args(["install", "--quiet"]).args(PYTHON))?;
    }
    Ok(programs)
}
