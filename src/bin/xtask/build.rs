//! `dist/`: the page, its assets, and the JavaScript API under `api/`, built by Trunk as `Trunk.toml` and `index.html`
//! say.

mod names;
mod offline;
mod split;

pub(crate) use split::is_further;

use std::{
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use xshell::{Shell, cmd};

use super::{Error, tools};

/// Serves the page, and builds it again whenever a source changes, until it is interrupted.
pub(crate) fn serve(shell: &Shell, port: u16, release: bool) -> Result<(), Error> {
    tools::for_build(shell)?;
    let port = port.to_string();
    let release = release.then_some("--release");
    Ok(cmd!(shell, "trunk serve --offline --port {port} {release...}").run()?)
}

/// Builds everything into `dist`, the same bytes on every machine and in every folder.
pub(crate) fn build(shell: &Shell) -> Result<(), Error> {
    tools::for_build(shell)?;
    let _flags = shell.push_env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", remapped()?);
    Ok(cmd!(shell, "trunk build --release --offline").run()?)
}

/// Compiler flags under which the paths of this machine do not get into what is built.
fn remapped() -> Result<String, Error> {
    let home = env::home_dir().ok_or("there is no home folder")?;
    let cargo = env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let rustup = env::var_os("RUSTUP_HOME").map_or_else(|| home.join(".rustup"), PathBuf::from);
    let checkout = env::current_dir()?;
    let flags = [(cargo, "cargo"), (rustup, "rustup"), (checkout, ".")]
        .map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display()));
    Ok(flags.join(" "))
}

/// Trunk's last hook: a version on every address, and a copy of everything below `v/`.
pub(crate) fn finish(shell: &Shell) -> Result<(), Error> {
    let stage = env::var_os("TRUNK_STAGING_DIR").map(PathBuf::from);
    let stage = stage.ok_or("this task is for Trunk's post_build hook")?;
    package(&stage.join("api"))?;
    let release = env::var_os("TRUNK_PROFILE").is_some_and(|profile| profile == "release");
    if release {
        split::split(shell, &stage)?;
        for file in files(&stage)? {
            let path = stage.join(file);
            if path.extension().is_some_and(|kind| kind == "wasm") {
                fs::write(&path, names::without(&fs::read(&path)?)?)?;
            }
        }
    }
    let version = stamp(&stage)?;
    if release {
        offline::write(&stage, &version)?;
        keep(&stage)
    } else {
        reload(&stage)
    }
}

/// The two places of wasm-bindgen's glue that concern a module that is not loaded: its variable, and the question whether
/// it is loaded.
const NOT_LOADED: [&str; 2] = [
    "let wasmModule, wasmInstance, wasm;",
    "if (wasm !== undefined) return wasm;",
];
/// The two places with a variable that answers calls before `init()` with an error that says so.
const SAYS_SO: [&str; 2] = [
    r#"const notLoaded = new Proxy({}, {
    get() {
        throw new Error("megatron-memory is not loaded yet: `await init()` (the default export) before any other call");
    },
});
let wasmModule, wasmInstance, wasm = notLoaded;"#,
    "if (wasm !== notLoaded) return wasm;",
];

/// Lets calls before `init()` throw an error that says so.
fn say_what_is_not_loaded(glue: &Path) -> Result<(), Error> {
    let mut text = fs::read_to_string(glue)?;
    for (from, to) in NOT_LOADED.into_iter().zip(SAYS_SO) {
        if !text.contains(from) {
            return Err(format!("{} has no “{from}”", glue.display()).into());
        }
        text = text.replace(from, to);
    }
    Ok(fs::write(glue, text)?)
}

/// Completes the npm package: its version, where its sources are if that is known, and the texts of its licenses.
fn package(folder: &Path) -> Result<(), Error> {
    say_what_is_not_loaded(&folder.join("megatron_memory.js"))?;
    let manifest = folder.join("package.json");
    let text = fs::read_to_string(&manifest)?;
    let text = text.replace("0.0.0", env!("CARGO_PKG_VERSION"));
    let text = match env!("CARGO_PKG_REPOSITORY") {
        "" => text.replace("  \"repository\": \"REPOSITORY\",\n", ""),
        address => text.replace("REPOSITORY", address),
    };
    fs::write(manifest, text)?;
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(license, folder.join(license))?;
    }
    Ok(())
}

/// Lets the page load again after each build of `trunk serve`.
fn reload(stage: &Path) -> Result<(), Error> {
    fs::write(stage.join("reload.js"), include_str!("build/reload.js"))?;
    let document = stage.join("index.html");
    let text = fs::read_to_string(&document)?;
    let script = "<script src=\"./reload.js\"></script></body>";
    Ok(fs::write(document, text.replace("</body>", script))?)
}

/// Puts a version, made from the contents of all files, on the address of every script, style sheet, picture and module
/// that a document, the manifest or the page's own scripts name, so that a browser's cache never mixes two releases. Returns the version.
fn stamp(stage: &Path) -> Result<String, Error> {
    let mut hasher = DefaultHasher::new();
    for file in files(stage)? {
        (&file, fs::read(stage.join(&file))?).hash(&mut hasher);
    }
    let version = format!("{:016x}", hasher.finish());
    let query = format!("?v={version}");
    for document in files(stage)? {
        let mut scripts = split::PROGRAMS.iter().flat_map(|program| program.scripts);
        let names_others = scripts.any(|script| document == Path::new(script))
            || (document.extension()).is_some_and(|kind| kind == "html" || kind == "webmanifest");
        if names_others && document.parent() == Some(Path::new("")) {
            let path = stage.join(document);
            let text = fs::read_to_string(&path)?;
            let exists = |file: &str| stage.join(file).is_file();
            fs::write(path, stamped(&without_trunk(&text), &query, exists))?;
        }
    }
    Ok(version)
}

/// A document or a script in which every address of an asset ends in `version`.
fn stamped(document: &str, version: &str, exists: impl Fn(&str) -> bool) -> String {
    let mut pieces = document.split("./");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(['"', '\'', ' ', '>']).unwrap_or(piece.len());
        let (file, rest) = piece.split_at(end);
        let asset = [".css", ".js", ".svg", ".wasm", ".webmanifest"]
            .iter()
            .any(|kind| file.ends_with(kind));
        // In a script it may be a key, by which WebAssembly asks for what a file has.
        let is_key = rest.starts_with("\":");
        let version = if asset && !is_key && exists(file) { version } else { "" };
        text.extend(["./", file, version, rest]);
    }
    text
}

/// A document without the element that tells Trunk of the app: Trunk leaves it there where it injects no script.
fn without_trunk(document: &str) -> String {
    let found = document.find("data-trunk").and_then(|at| {
        let start = document.get(..at)?.rfind('<')?;
        let end = at + document.get(at..)?.find('>')? + 1;
        Some((document.get(..start)?, document.get(end..)?))
    });
    found.map_or_else(
        || document.to_owned(),
        |(before, after)| [before.trim_end(), after].concat(),
    )
}

/// Puts a copy of everything where links to this version lead. A host adds the folder to those of earlier versions, and
/// never changes one.
fn keep(stage: &Path) -> Result<(), Error> {
    let version = stage.join("v").join(env!("CARGO_PKG_VERSION"));
    for file in files(stage)? {
        copy(&stage.join(&file), &version.join(file))?;
    }
    Ok(())
}

/// Copies a file, or a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    if from.is_dir() {
        for file in files(from)? {
            copy(&from.join(&file), &to.join(&file))?;
        }
    } else {
        fs::create_dir_all(to.parent().ok_or("a file is in a folder")?)?;
        fs::copy(from, to)?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::{stamped, without_trunk};

    #[test]
    fn assets_that_exist_get_a_version_and_links_do_not() {
        let document =
            "<script src=\"./a.js\"></script><link href=./b.css><a href=\"./formulas.html\"></a><img src='./c.svg'>";
        assert_eq!(
            stamped(document, "?v=1", |file| file != "c.svg"),
            "<script src=\"./a.js?v=1\"></script><link href=./b.css?v=1><a href=\"./formulas.html\"></a><img src='./c.svg'>"
        );
    }

    #[test]
    fn keys_of_a_script_stay() {
        let script = "import * as a from \"./a.js\"; const imports = { \"./a.js\": a };";
        assert_eq!(
            stamped(script, "?v=1", |_| true),
            "import * as a from \"./a.js?v=1\"; const imports = { \"./a.js\": a };"
        );
    }

    #[test]
    fn the_element_for_trunk_goes() {
        assert_eq!(
            without_trunk("<head>\n  <link rel=\"rust\" data-trunk>\n</head>"),
            "<head>\n</head>"
        );
        assert_eq!(without_trunk("<head></head>"), "<head></head>");
    }
}
