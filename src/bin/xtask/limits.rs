//! What `dist/` must hold to: how many bytes a visitor loads, and where they may come from.

use std::{fs, path::Path};

use super::{Error, dist::files};

/// What a visitor's browser waits for, and how many bytes of it may cross the network, compressed with brotli.
///
/// The goals are 150 000 for the app and for an embed, and 110 000 for the engine. App and engine are above them; these
/// ceilings keep them from growing until they are brought down, and come down with every step. All leave room for the few
/// hundred bytes by which builds in different folders differ.
const CEILINGS: [(&str, &[&str], usize); 9] = [
    ("app", &["megatron-memory_bg.wasm"], 297_300),
    ("engine", &["api/megatron_memory_bg.wasm"], 154_900),
    (
        "import, export and layouts",
        &["api/megatron_memory_exchange_bg.wasm"],
        398_700,
    ),
    (
        "JavaScript of import, export and layouts",
        &[
            "exchange.js",
            "search.js",
            "search-worker.js",
            "api/megatron_memory_exchange.js",
        ],
        7_000,
    ),
    (
        "JavaScript of the app",
        &["megatron-memory.js", "loader.js"],
        5_500,
    ),
    ("styles", &["style.css"], 8_000),
    (
        "all that an embed loads to be looked at",
        &[
            "embed.html",
            "embed.css",
            "frame.js",
            "loader.js",
            "parts.js",
            "megatron-memory-embed.js",
            "megatron-memory-embed_bg.wasm",
        ],
        150_400,
    ),
    (
        "the rest of an embed",
        &["megatron-memory-embed_rest.wasm"],
        53_000,
    ),
    ("what a host page loads", &["embed.js"], 2_000),
];

/// The sizes of one row of [`CEILINGS`] in bytes.
pub(crate) struct Size {
    pub(crate) name: &'static str,
    pub(crate) raw: usize,
    pub(crate) brotli: usize,
    pub(crate) ceiling: usize,
}

/// Measures `dist`.
pub(crate) fn sizes(dist: &Path) -> Result<Vec<Size>, Error> {
    let size = |&(name, parts, ceiling): &(&'static str, &[&str], usize)| {
        let parts: Vec<_> = parts
            .iter()
            .map(|part| fs::read(dist.join(part)))
            .collect::<Result<_, _>>()?;
        let brotli = parts
            .iter()
            .map(|part| brotli(part))
            .sum::<Result<_, _>>()?;
        Ok(Size {
            name,
            raw: parts.iter().map(Vec::len).sum(),
            brotli,
            ceiling,
        })
    };
    CEILINGS.iter().map(size).collect()
}

/// How many bytes `data` becomes.
fn brotli(data: &[u8]) -> Result<usize, Error> {
    let mut packed = Vec::new();
    // The strongest setting, which is what static hosts use for files that they compress once.
    brotli::BrotliCompress(
        &mut &*data,
        &mut packed,
        &brotli::enc::BrotliEncoderParams::default(),
    )?;
    Ok(packed.len())
}

/// The sizes as a Markdown table.
pub(crate) fn table(sizes: &[Size]) -> String {
    let head = "| | raw | brotli | ceiling |\n|---|---:|---:|---:|\n".to_owned();
    sizes.iter().fold(
        head,
        |table,
         Size {
             name,
             raw,
             brotli,
             ceiling,
         }| { table + &format!("| {name} | {raw} | {brotli} | {ceiling} |\n") },
    )
}

/// Every rule that `dist` or the sources break.
pub(crate) fn broken(dist: &Path) -> Result<Vec<String>, Error> {
    let mut broken = Vec::new();
    for Size {
        name,
        brotli,
        ceiling,
        ..
    } in sizes(dist)?
    {
        if brotli > ceiling {
            broken.push(format!(
                "{name}: {brotli} bytes after brotli, and the ceiling is {ceiling}"
            ));
        }
    }
    for file in files(dist)? {
        if file.extension().is_some_and(|extension| {
            ["html", "css", "js", "svg"]
                .iter()
                .any(|kind| extension == *kind)
        }) {
            broken.extend(
                foreign(&fs::read_to_string(dist.join(&file))?)
                    .map(|line| format!("{}: {line}", file.display())),
            );
        }
    }
    for file in files(Path::new("src"))? {
        // Text that a user wrote must never be read as markup, and this is the only way it could be.
        let raw_markup = ["inner", "html"].join("_");
        if fs::read_to_string(Path::new("src").join(&file))
            .is_ok_and(|text| text.contains(&raw_markup))
        {
            broken.push(format!("src/{}: sets {raw_markup}", file.display()));
        }
    }
    Ok(broken)
}

/// The one place elsewhere that the page may ask, and only when a button with its address is pressed.
const HUB: &str = "connect-src 'self' https://huggingface.co;";

/// The lines that load something by an address which would break in a folder of another host, or leave it.
fn foreign(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .filter(|line| {
            // A link loads nothing before the reader follows it.
            let harmless = line
                .replace(HUB, "")
                .replace("http://www.w3.org/", "")
                .replace("<a href=\"https://", "");
            let elsewhere = harmless.contains("://");
            let absolute = [
                "src=\"/",
                "href=\"/",
                "url(/",
                "url(\"/",
                "from \"/",
                "import(\"/",
            ];
            elsewhere || absolute.iter().any(|start| line.contains(start))
        })
}

#[cfg(test)]
mod tests {
    use super::{brotli, foreign};

    #[test]
    fn only_relative_addresses_pass() {
        for line in [
            "<a href=\"./x\">",
            "<a href=\"https://example.org/x\">",
            "<svg xmlns=\"http://www.w3.org/2000/svg\">",
            "url(\"./x.svg\")",
            "<meta content=\"default-src 'none'; connect-src 'self' https://huggingface.co; base-uri 'none'\">",
        ] {
            assert_eq!(foreign(line).count(), 0, "{line}");
        }
        for line in [
            "<script src=\"/x.js\">",
            "url(https://example.org/x)",
            "import(\"/x.js\")",
            "fetch(\"https://huggingface.co\")",
            "connect-src 'self' https://huggingface.co https://example.org;",
            "connect-src https://huggingface.co;",
            "script-src 'self' https://huggingface.co;",
        ] {
            assert_eq!(foreign(line).count(), 1, "{line}");
        }
    }

    #[test]
    fn repetition_compresses() {
        assert!(brotli(&[b'x'; 10_000]).unwrap() < 50);
    }
}
