//! The page in several modules: what only its lazy functions call is linked into modules of their own, which the page
//! loads after its first view.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use wasm_split_cli_support::{Options, transform};
use xshell::{Shell, cmd};

use crate::{Error, tools};

/// The scripts that load the modules and name each other.
pub(super) const SCRIPTS: [&str; 2] = ["page.js", LOADER];

/// The script that loads the further modules, by the name that the splitting gives it.
const LOADER: &str = "__wasm_split.js";

/// Whether a file of `dist/` is a module that the page loads after its first view: of one lazy function, or shared by some.
pub(crate) fn is_further(file: &str) -> bool {
    ["split_", "chunk_"].iter().any(|kind| file.starts_with(kind))
}

/// How the script starts a module, and how it does so where a host sends modules under another type than theirs.
const STREAMED: &str = "WebAssembly.instantiateStreaming(src, imports)";
const OF_ANY_TYPE: &str = "WebAssembly.instantiate(await (await src).arrayBuffer(), imports)";

/// Splits the page as the linker has left it, and puts it into `stage` in place of the one whole module there.
pub(super) fn split(shell: &Shell, stage: &Path) -> Result<(), Error> {
    tools::for_modules(shell)?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let linked = fs::read(target.join("wasm32-unknown-unknown/app/page.wasm"))?;
    let main = target.join("page.wasm");
    let mut options = Options::new(&linked);
    options.output_dir = stage;
    options.main_out_path = &main;
    options.main_module = "./page.js";
    transform(options)?;
    let options = ["--target", "web", "--no-typescript", "--out-name", "page"];
    // The further modules import functions of the first one by the names that the linker gave them.
    let names = ["--keep-lld-exports", "--no-demangle"];
    cmd!(shell, "wasm-bindgen {options...} {names...} --out-dir {stage} {main}").run()?;
    let loader = stage.join(LOADER);
    let text = fs::read_to_string(&loader)?;
    if !text.contains(STREAMED) {
        return Err(format!("{LOADER} has no “{STREAMED}”").into());
    }
    Ok(fs::write(loader, text.replace(STREAMED, OF_ANY_TYPE))?)
}
