//! The documentation sites of `tests/embed`, each built with its own tools, which are fetched once, into `target/docs`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use xshell::{Shell, cmd};

use super::{Error, svg, tools};

const PYTHON: [&str; 5] = [
    "sphinx==9.0.4",
    "myst-parser==5.2.0",
    "nvidia-sphinx-theme==0.0.9.post1",
    "sphinx-copybutton==0.5.2",
    "mkdocs-material==9.8.1",
];
const MDBOOK: &str = "0.4.52";

/// Where the tools and the built sites are.
const WORK: &str = "target/docs";

/// Where the built sites are.
pub(crate) fn sites() -> PathBuf {
    Path::new(WORK).join("sites")
}

/// Builds a site from its sources into an empty folder.
type Builder = fn(&Shell, &Path, &Path) -> Result<(), Error>;

/// Builds every site; the outcome of each by name.
pub(crate) fn build(shell: &Shell) -> Vec<(&'static str, Result<(), Error>)> {
    let all: [(_, Builder); 5] = [
        ("plain", plain),
        ("sphinx", sphinx),
        ("mkdocs", mkdocs),
        ("mdbook", mdbook),
        ("docusaurus", docusaurus),
    ];
    let one = |(name, builder): (&'static str, Builder)| {
        println!("\n-- {name}");
        let result = Path::new("tests/embed").join(name).canonicalize();
        let result = result.map_err(Error::from).and_then(|source| {
            let site = empty(&sites().join(name))?;
            builder(shell, &source, &site)
        });
        (name, result)
    };
    all.map(one).into()
}

/// Makes a folder an empty one; its whole path.
fn empty(folder: &Path) -> Result<PathBuf, Error> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    Ok(folder.canonicalize()?)
}

fn plain(_: &Shell, source: &Path, site: &Path) -> Result<(), Error> {
    fs::copy(source.join("index.html"), site.join("index.html"))?;
    Ok(fs::write(
        site.join("llama.svg"),
        svg::of_link("#v1;m=llama3-8b@1;tp=2")?,
    )?)
}

fn sphinx(shell: &Shell, source: &Path, site: &Path) -> Result<(), Error> {
    let sphinx = python(shell)?.join("sphinx-build");
    Ok(cmd!(shell, "{sphinx} -q -W -d {WORK}/doctrees {source} {site}").run()?)
}

fn mkdocs(shell: &Shell, source: &Path, site: &Path) -> Result<(), Error> {
    let (mkdocs, settings) = (python(shell)?.join("mkdocs"), source.join("mkdocs.yml"));
    Ok(cmd!(
        shell,
        "{mkdocs} build --quiet --strict --config-file {settings} --site-dir {site}"
    )
    .run()?)
}

fn mdbook(shell: &Shell, source: &Path, site: &Path) -> Result<(), Error> {
    tools::cargo_install(shell, "mdbook", "mdbook", MDBOOK, &["--locked"])?;
    Ok(cmd!(shell, "mdbook build --dest-dir {site} {source}").run()?)
}

/// Built in a copy, beside its packages.
fn docusaurus(shell: &Shell, source: &Path, site: &Path) -> Result<(), Error> {
    let work = Path::new(WORK).join("docusaurus");
    fs::create_dir_all(work.join("docs"))?;
    for file in ["package.json", "docusaurus.config.js", "docs/index.mdx"] {
        fs::copy(source.join(file), work.join(file))?;
    }
    let _work = shell.push_dir(&work);
    if !work.join("node_modules/@docusaurus/core").exists() {
        cmd!(shell, "npm install --silent --no-audit --no-fund").run()?;
    }
    let program = "node_modules/@docusaurus/core/bin/docusaurus.mjs";
    Ok(cmd!(shell, "node {program} build --out-dir {site}").run()?)
}

/// The folder with the Python programs.
fn python(shell: &Shell) -> Result<PathBuf, Error> {
    let folder = Path::new(WORK).join("venv");
    let programs = folder.join("bin");
    if !programs.join("mkdocs").exists() {
        cmd!(shell, "python3 -m venv {folder}").run()?;
        let pip = programs.join("pip");
        cmd!(shell, "{pip} install --quiet {PYTHON...}").run()?;
    }
    Ok(programs)
}
