//! The page, and small embeds, each in several modules: what only lazy functions call is linked into modules of their own,
//! which are loaded when they are needed.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use wasm_split_cli_support::{Options, transform};
use xshell::{Shell, cmd};

use crate::{Error, tools};

/// A program with lazy functions.
pub(super) struct Program {
    name: &'static str,
    /// The program's JavaScript file, and the one that loads its further modules. Each imports the other.
    pub(super) scripts: [&'static str; 2],
    /// The beginning of the names of modules that several lazy functions share. `wasm_split_cli_support` numbers them, and
    /// begins at 0 for each program.
    chunks: &'static str,
}

/// The page.
const PAGE: Program = Program {
    name: "page",
    scripts: ["page.js", "page-parts.js"],
    chunks: "chunk_page_",
};

/// Every program that is split.
pub(super) const PROGRAMS: [Program; 2] = [
    PAGE,
    Program {
        name: "light-embed",
        scripts: ["light-embed.js", "light-embed-parts.js"],
        chunks: "chunk_light-embed_",
    },
];

/// How the splitting names such modules.
const CHUNKS: &str = "chunk_";

/// Whether a file of `dist/` is a module that the page loads after its first view: of one lazy function, or shared by some.
pub(crate) fn is_further(file: &str) -> bool {
    file.starts_with(PAGE.chunks) || ["split_dialog.wasm", "split_part.wasm"].contains(&file)
}

/// How the script starts a module, and how it does so where a host sends modules under another type than theirs.
const STREAMED: &str = "WebAssembly.instantiateStreaming(src, imports)";
const OF_ANY_TYPE: &str = "WebAssembly.instantiate(await (await src).arrayBuffer(), imports)";

/// Splits each program as the linker has left it, and puts it into `stage` in place of its one whole module there.
pub(super) fn split(shell: &Shell, stage: &Path) -> Result<(), Error> {
    tools::for_modules(shell)?;
    PROGRAMS.iter().try_for_each(|program| split_one(shell, stage, program))
}

fn split_one(shell: &Shell, stage: &Path, program: &Program) -> Result<(), Error> {
    let Program { name, scripts, chunks } = program;
    let [script, loader] = scripts.map(|file| format!("./{file}"));
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let linked = fs::read(target.join("wasm32-unknown-unknown/app").join(format!("{name}.wasm")))?;
    let main = target.join(format!("{name}.wasm"));
    let mut options = Options::new(&linked);
    options.output_dir = stage;
    options.main_out_path = &main;
    options.main_module = &script;
    options.link_name = &loader;
    let modules = transform(options)?.split_modules;
    let options = ["--target", "web", "--no-typescript", "--out-name", *name];
    // The further modules import functions of the first one by the names that the linker gave them.
    let names = ["--keep-lld-exports", "--no-demangle"];
    cmd!(shell, "wasm-bindgen {options...} {names...} --out-dir {stage} {main}").run()?;
    for module in modules {
        let file = module.file_name().and_then(|file| file.to_str()).unwrap_or_default();
        if let Some(number) = file.strip_prefix(CHUNKS) {
            fs::rename(&module, stage.join(format!("{chunks}{number}")))?;
        }
    }
    let path = stage.join(&loader);
    let text = fs::read_to_string(&path)?;
    if !text.contains(STREAMED) {
        return Err(format!("{loader} has no “{STREAMED}”").into());
    }
    let text = text.replace(STREAMED, OF_ANY_TYPE);
    Ok(fs::write(
        path,
        text.replace(&format!("./{CHUNKS}"), &format!("./{chunks}")),
    )?)
}
