//! `dist/`: the page, its assets, and the JavaScript API under `api/`.
//!
//! Under `v/` and the version's name is all of it again, for links whose numbers must stay.
//!
//! Trunk builds the same folder: it does what [`app`] does here and then calls [`finish`] through its hook.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use wasm_bindgen_cli::wasm_bindgen;

use super::{
    Error,
    command::{WASM, run, target},
    evidence,
    names::{with_short_names, without_names},
    reference,
    split::{OF_EMBED, split},
};

/// The style sheets of what an embed can show.
const EMBEDDED: [&str; 9] = [
    "base.css",
    "embed.css",
    "form.css",
    "notices.css",
    "results-picture.css",
    "results-table.css",
    "results.css",
    "summary.css",
    "tokens.css",
];

/// Fast to build or fast to load.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    Dev,
    Release,
}

impl Mode {
    pub(crate) fn from_dev(dev: bool) -> Self {
        if dev { Self::Dev } else { Self::Release }
    }

    /// The cargo profile that builds for this mode what `release` is the release profile of.
    fn profile(self, release: &'static str) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Release => release,
        }
    }
}

/// Builds everything into `dist`, which is replaced only when all of it has been built.
pub(crate) fn build(mode: Mode, dist: &Path) -> Result<(), Error> {
    let stage = target().join("stage");
    clear(&stage)?;
    app(mode, &stage)?;
    finish(mode, &stage)?;
    clear(dist)?;
    for file in files(&stage)? {
        let to = dist.join(&file);
        fs::create_dir_all(to.parent().unwrap_or(dist))?;
        fs::copy(stage.join(&file), to)?;
    }
    Ok(())
}

/// [`finish`] as Trunk's hook calls it.
pub(crate) fn finish_for_trunk() -> Result<(), Error> {
    let stage =
        env::var_os("TRUNK_STAGING_DIR").ok_or("this task is for Trunk's post_build hook")?;
    let mode =
        Mode::from_dev(env::var_os("TRUNK_PROFILE").is_none_or(|profile| profile != "release"));
    finish(mode, Path::new(&stage))
}

/// The part that Trunk knows how to do: the app and the document that loads it.
fn app(mode: Mode, stage: &Path) -> Result<(), Error> {
    let profile = mode.profile("app");
    run(
        "cargo",
        [
            "build",
            "--quiet",
            "--target",
            WASM,
            "--bin",
            "megatron-memory",
            "--profile",
            profile,
        ],
    )?;
    bind(
        &artifact(profile, "megatron-memory"),
        stage,
        &["--no-typescript"],
    )?;
    fs::copy("index.html", stage.join("index.html"))?;
    Ok(())
}

/// The rest: the API, the embed, style sheets, measured runs, files that ship as they are, and a version on every
/// address.
fn finish(mode: Mode, stage: &Path) -> Result<(), Error> {
    engine(mode, &stage.join("api"))?;
    embed(mode, stage)?;
    let styles = files(Path::new("styles"))?;
    fs::write(stage.join("style.css"), concatenated(mode, &styles)?)?;
    let shown = |file: &PathBuf| EMBEDDED.iter().any(|name| file.as_os_str() == *name);
    let styles: Vec<PathBuf> = styles.into_iter().filter(shown).collect();
    fs::write(stage.join("embed.css"), concatenated(mode, &styles)?)?;
    fs::write(stage.join("evidence.html"), evidence::html()?)?;
    fs::write(stage.join("formulas.html"), reference::html()?)?;
    let web = Path::new("src/web");
    for file in files(web)? {
        fs::copy(web.join(&file), stage.join(&file))?;
        if mode == Mode::Release && file.extension().is_some_and(|kind| kind == "js") {
            rewrite(&stage.join(&file), without_comments)?;
        }
    }
    if mode == Mode::Release {
        let modules = [
            "megatron-memory",
            "megatron-memory-embed",
            "api/megatron_memory",
            "api/megatron_memory_exchange",
        ];
        for name in modules {
            let wasm = stage.join(format!("{name}_bg.wasm"));
            let module = fs::read(&wasm)?;
            let mut module = without_names(&module).ok_or("not a wasm module")?;
            let glue = stage.join(format!("{name}.js"));
            rewrite(&glue, without_comments)?;
            // The API's names are part of its types.
            if !name.starts_with("api/") {
                let script = fs::read_to_string(&glue)?;
                let short = with_short_names(&module, &script).ok_or("not a wasm module")?;
                module = short.0;
                fs::write(&glue, short.1)?;
            }
            fs::write(&wasm, module)?;
        }
    }
    stamp(stage)?;
    keep(stage)
}

/// The calculator of an embed, in two parts. A build for development leaves the second empty, since what is in its way
/// there is no size.
fn embed(mode: Mode, stage: &Path) -> Result<(), Error> {
    // Names that tell what generic code was made for.
    library("embed", mode, &["-Csymbol-mangling-version=v0"])?;
    let module = artifact(mode.profile("embed"), "megatron_memory");
    let options = ["--no-typescript", "--out-name", "megatron-memory-embed"];
    bind(&module, stage, &options)?;
    let later = match mode {
        Mode::Dev => &[],
        Mode::Release => OF_EMBED,
    };
    let whole = stage.join("megatron-memory-embed_bg.wasm");
    let parts = split(&fs::read(&whole)?, later)?;
    fs::write(whole, parts.first)?;
    Ok(fs::write(
        stage.join("megatron-memory-embed_rest.wasm"),
        parts.second,
    )?)
}

/// Puts a copy of everything where links to this version lead. A host adds the folder to those of earlier versions, and
/// never changes one.
fn keep(stage: &Path) -> Result<(), Error> {
    let version = Path::new("v").join(env!("CARGO_PKG_VERSION"));
    for file in files(stage)? {
        let to = stage.join(&version).join(&file);
        fs::create_dir_all(to.parent().unwrap_or(stage))?;
        fs::copy(stage.join(file), to)?;
    }
    Ok(())
}

/// Replaces a text file by what becomes of it.
fn rewrite(file: &Path, change: fn(&str) -> String) -> Result<(), Error> {
    Ok(fs::write(file, change(&fs::read_to_string(file)?))?)
}

/// JavaScript without lines of comments, empty lines and indentation. None of ours has a text of several lines.
fn without_comments(script: &str) -> String {
    let mut inside = false;
    let code = script.lines().map(str::trim).filter(|line| {
        inside = inside || line.starts_with("/**");
        let kept = !inside && !line.is_empty() && !line.starts_with("//");
        inside = inside && !line.ends_with("*/");
        kept
    });
    code.flat_map(|line| [line, "\n"]).collect()
}

/// The library for JavaScript, in `api`: the engine, the module for import and export that it loads when needed, and the
/// files that make the folder a package.
fn engine(mode: Mode, api: &Path) -> Result<(), Error> {
    library("engine", mode, &[])?;
    let module = artifact(mode.profile("engine"), "megatron_memory");
    bind(&module, api, &[])?;
    library("exchange", mode, &[])?;
    let module = artifact(mode.profile("exchange"), "megatron_memory");
    bind(&module, api, &["--out-name", "megatron_memory_exchange"])?;
    let source = Path::new("src/engine");
    for (from, to) in [
        ("exchange.js", "megatron_memory.js"),
        ("exchange.d.ts", "megatron_memory.d.ts"),
    ] {
        let mut text = fs::read_to_string(api.join(to))?;
        text.push_str(&fs::read_to_string(source.join(from))?);
        fs::write(api.join(to), text)?;
    }
    for example in ["example.html", "example.js"] {
        fs::copy(source.join(example), api.join(example))?;
    }
    let package = fs::read_to_string(source.join("package.json"))?;
    Ok(fs::write(
        api.join("package.json"),
        package.replace("0.0.0", env!("CARGO_PKG_VERSION")),
    )?)
}

/// Builds the library with one feature, in the profile of the same name, with these options of the compiler.
fn library(feature: &'static str, mode: Mode, options: &[&'static str]) -> Result<(), Error> {
    // The kind is given here and not in the manifest: a native build has no use for a shared library.
    let options = options.iter().copied();
    run(
        "cargo",
        [
            "rustc",
            "--quiet",
            "--no-default-features",
            "--features",
            feature,
            "--lib",
            "--crate-type",
            "cdylib",
            "--target",
            WASM,
            "--profile",
            mode.profile(feature),
            "--",
        ]
        .into_iter()
        .chain(options),
    )
}

/// Where cargo leaves the module `name`.
fn artifact(profile: &str, name: &str) -> PathBuf {
    let folder = if profile == "dev" { "debug" } else { profile };
    target()
        .join(WASM)
        .join(folder)
        .join(name)
        .with_extension("wasm")
}

/// Writes `module` and the JavaScript that loads it to `folder`.
fn bind(module: &Path, folder: &Path, options: &[&str]) -> Result<(), Error> {
    let fixed = [
        "wasm-bindgen".as_ref(),
        "--target=web".as_ref(),
        "--out-dir".as_ref(),
        folder.as_os_str(),
    ];
    let options = options.iter().map(AsRef::as_ref);
    Ok(wasm_bindgen::run_cli_with_args(
        fixed.into_iter().chain(options).chain([module.as_os_str()]),
    )?)
}

/// Makes the document one for browsers: without the line for Trunk, and with a version on every address, made from what
/// the files hold, so that a cache never mixes two releases.
fn stamp(stage: &Path) -> Result<(), Error> {
    let document = stage.join("index.html");
    let source = fs::read_to_string(&document)?;
    let page: String = source
        .split_inclusive('\n')
        .filter(|line| !line.contains("data-trunk"))
        .collect();
    fs::write(&document, &page)?;
    let mut hasher = DefaultHasher::new();
    for file in files(stage)? {
        fs::read(stage.join(file))?.hash(&mut hasher);
    }
    let version = format!("?v={:016x}\"", hasher.finish());
    for document in
        ["index.html", "embed.html", "evidence.html", "formulas.html"].map(|name| stage.join(name))
    {
        let stamped = fs::read_to_string(&document)?.replace("?v=0\"", &version);
        fs::write(document, stamped)?;
    }
    Ok(())
}

/// The style sheets as one text.
fn concatenated(mode: Mode, sheets: &[PathBuf]) -> Result<String, Error> {
    let mut text = String::new();
    for sheet in sheets {
        text.push_str(&fs::read_to_string(Path::new("styles").join(sheet))?);
    }
    Ok(match mode {
        Mode::Dev => text,
        Mode::Release => without_remarks(&text),
    })
}

/// Styles without comments, empty lines and indentation.
fn without_remarks(styles: &str) -> String {
    let mut code = String::new();
    for (at, piece) in styles.split("/*").enumerate() {
        let after = piece.split_once("*/").map_or("", |(_, after)| after);
        code.push_str(if at == 0 { piece } else { after });
    }
    let lines = code.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Every file below `folder`, relative to it, in alphabetical order.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inner))? {
            let entry = entry?;
            let path = inner.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Makes `folder` an empty one.
fn clear(folder: &Path) -> Result<(), Error> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

#[cfg(test)]
mod tests {
    use super::{without_comments, without_remarks};

    #[test]
    fn what_is_written_for_people_stays_behind() {
        let styles = "/* One\n   two. */\n.a {\n  b: c; /* d */\n}\n\n.e {}\n";
        assert_eq!(without_remarks(styles), ".a {\nb: c;\n}\n.e {}\n");
        let script = "/**\n * One.\n */\nf();\n\n  // Two.\n  g(\"//\");\n/** Three. */\nh();\n";
        assert_eq!(without_comments(script), "f();\ng(\"//\");\nh();\n");
    }
}
