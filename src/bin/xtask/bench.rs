//! `cargo xtask bench`: times and sizes, as Markdown.

use std::{fs, path::Path};

use xshell::{Shell, cmd};

use super::{Error, build, tools};

/// The files that a visit of the page loads for its first view.
const PAGE: [&str; 7] = [
    "index.html",
    "style.css",
    "theme.js",
    "loader.js",
    "page.js",
    "page-parts.js",
    "page_bg.wasm",
];

/// What else is measured.
const OTHERS: [&[&str]; 5] = [
    &[
        "embed.html",
        "frame.js",
        "loader.js",
        "light-embed.css",
        "light-embed.js",
        "light-embed-parts.js",
        "light-embed_bg.wasm",
    ],
    &["split_table.wasm"],
    &["search-worker.js", "search-worker_bg.wasm"],
    &["api/megatron_memory.js", "api/megatron_memory_bg.wasm"],
    &["embed.js"],
];

/// Measures everything, one after another, so that nothing disturbs anything.
pub(crate) fn all(shell: &Shell) -> Result<(), Error> {
    tools::for_tests(shell)?;
    build::build(shell)?;
    println!("\n## Natively\n");
    cmd!(
        shell,
        "cargo bench --quiet --package megatron-memory --features bench --bench estimate"
    )
    .run()?;
    println!("\n## The JavaScript API, under Node\n");
    cmd!(shell, "node benches/api.mjs").run()?;
    println!("\n## Visits, in Chromium\n");
    pack()?;
    in_chromium(shell, "loads")?;
    println!("\n## The page, in Chromium\n");
    in_chromium(shell, "page")?;
    println!("\n## Sizes in bytes\n\n| | raw | brotli |\n|---|---:|---:|");
    row("the page", &PAGE)?;
    let files = build::files(Path::new("dist"))?;
    let further = files.iter().filter_map(|file| file.to_str());
    let further: Vec<&str> = further.filter(|file| build::is_further(file)).collect();
    row("what it loads after its first view", &further)?;
    for files in OTHERS {
        row(&files.join(", "), files)?;
    }
    Ok(())
}

/// Runs one of the benches that drive a browser. What they measure is in the browser: they need no optimization.
fn in_chromium(shell: &Shell, name: &str) -> Result<(), Error> {
    let command = cmd!(
        shell,
        "cargo bench --quiet --profile dev --package browser-tests --bench {name}"
    );
    Ok(command.run()?)
}

/// The files of `dist` under Brotli, as hosts send them, in `target/brotli`.
fn pack() -> Result<(), Error> {
    let folder = Path::new("target/brotli");
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir("dist")? {
        let path = entry?.path();
        let name = path.file_name().ok_or("a file without a name")?;
        let is_packed = path
            .extension()
            .is_some_and(|kind| ["html", "js", "css", "wasm"].iter().any(|packed| kind == *packed));
        if is_packed {
            fs::write(folder.join(name), packed(&fs::read(&path)?)?)?;
        }
    }
    Ok(())
}

/// Prints the sizes of some files as a row.
fn row(name: &str, files: &[&str]) -> Result<(), Error> {
    let (mut raw, mut brotli) = (0, 0);
    for file in files {
        let data = fs::read(Path::new("dist").join(file))?;
        raw += data.len();
        brotli += packed(&data)?.len();
    }
    println!("| {name} | {raw} | {brotli} |");
    Ok(())
}

/// `data` compressed with Brotli at its strongest setting, which static hosts use for files that they compress once.
fn packed(data: &[u8]) -> Result<Vec<u8>, Error> {
    let mut packed = Vec::new();
    brotli::BrotliCompress(&mut &*data, &mut packed, &brotli::enc::BrotliEncoderParams::default())?;
    Ok(packed)
}
