//! What the files of `dist/` may name.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The one place elsewhere that the page may ask, and only when a button with its address is pressed.
const HUB: &str = "connect-src 'self' https://huggingface.co;";

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}

/// The lines that load something by an address which would break in a folder of another host, or leave it.
fn foreign(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text
        .split(['\n', '>'])
        .filter(|line| !line.trim_start().starts_with("//"));
    pieces.filter(|line| {
        // A link loads nothing before the reader follows it.
        if line.contains("<a ") {
            return false;
        }
        // A host that is reserved for examples.
        let rest = line.replace(HUB, "").replace("http://www.w3.org/", "");
        let rest = rest.replace("https://calculator.example/", "");
        let absolute = [
            "src=\"/",
            "href=\"/",
            "src=/",
            "href=/",
            "url(/",
            "url(\"/",
            "from \"/",
            "import(\"/",
        ];
        rest.contains("://") || absolute.iter().any(|start| line.contains(start))
    })
}

#[test]
fn every_address_is_relative_and_works_in_any_folder_of_any_host() {
    let dist = browser::root().join("dist");
    let mut read = 0;
    for file in files(&dist) {
        let kind = file.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        if ["html", "css", "js", "svg"].contains(&kind) {
            read += 1;
            let text = fs::read_to_string(&file).unwrap();
            assert_eq!(
                foreign(&text).collect::<Vec<_>>(),
                Vec::<&str>::new(),
                "{}",
                file.display()
            );
        }
    }
    assert!(read > 10, "only {read} files");
}

#[test]
fn nothing_that_is_built_names_a_place_of_the_machine() {
    let root = browser::root();
    let home = std::env::home_dir().unwrap();
    for name in ["page_bg.wasm", "api/megatron_memory_bg.wasm"] {
        let wasm = fs::read(root.join("dist").join(name)).unwrap();
        for place in [root.display().to_string(), format!("{}/", home.display())] {
            let found = wasm.windows(place.len()).any(|part| part == place.as_bytes());
            assert!(!found, "{name} names {place}");
        }
    }
}

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
        "<script src=/x.js>",
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
