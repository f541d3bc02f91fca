//! Rules about the project itself, checked like everything else.

mod circles;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use megatron_memory::config::field::{Default, Group, Kind};
use megatron_memory::config::fields::{FIELDS, FieldId};
use megatron_memory::formats::detect::Format;

use crate::ROOT;

/// Every Rust file below a folder, as a path from the project's root, with its text.
fn rust_files(folder: &str) -> Vec<(String, String)> {
    fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    walk(&Path::new(ROOT).join(folder), &mut paths);
    paths.sort();
    let relative = |path: &Path| path.strip_prefix(ROOT).unwrap().to_string_lossy().replace('\\', "/");
    paths
        .iter()
        .map(|path| (relative(path), fs::read_to_string(path).unwrap()))
        .collect()
}

/// The top-level module of a source file: `memory` for `src/memory/states.rs`.
fn module(path: &str) -> &str {
    let below = path.strip_prefix("src/").unwrap();
    below.split('/').next().unwrap().trim_end_matches(".rs")
}

/// What each module of the library must not know: arrows point down. That it knows no product is its manifest's matter.
#[test]
fn arrows_point_down() {
    let outer = [
        "export", "report", "presets", "evidence", "search", "fit", "time", "verdict",
    ];
    let forbidden = |module: &str| -> Vec<&str> {
        let core = |also: &[&'static str]| -> Vec<&'static str> {
            outer
                .iter()
                .copied()
                .chain(["formats", "framework_reports"])
                .chain(also.iter().copied())
                .collect()
        };
        match module {
            "python" | "value" | "units" | "source" => core(&["config", "parallel", "model", "memory"]),
            "parallel" => core(&["config", "model", "memory"]),
            "config" => core(&["model", "memory"]),
            "model" => core(&["memory"]),
            "memory" | "time" | "verdict" => core(&[]),
            "presets" => vec!["report", "memory", "model", "formats"],
            "formats" => {
                vec!["report", "memory", "model"]
            }
            "search" | "fit" => vec!["export", "report", "presets", "formats"],
            _ => vec![],
        }
    };
    let mut checked = 0;
    for (path, text) in rust_files("src") {
        for other in forbidden(module(&path)) {
            assert!(!text.contains(&format!("crate::{other}")), "{path} knows {other}");
            checked += 1;
        }
        if module(&path) != "ui"
            && module(&path) != "api"
            && module(&path) != "search_worker"
            && !path.starts_with("src/bin")
        {
            for word in ["leptos", "web_sys", "js_sys", "wasm_bindgen"] {
                assert!(!text.contains(&format!("{word}::")), "{path} knows the browser");
            }
        }
        if module(&path) == "ui" && path != "src/ui/browser.rs" && !path.starts_with("src/ui/browser/") {
            assert!(
                !text.contains("web_sys::"),
                "{path} touches the browser; only ui/browser.rs may"
            );
        }
    }
    assert!(checked > 300, "{checked}");
}

/// What runs in browsers is tested as WebAssembly: a test with `#[test]` alone would never run.
#[test]
fn tests_of_the_page_run_as_webassembly() {
    for (path, text) in ["src/ui", "src/api", "src/search_worker"]
        .into_iter()
        .flat_map(rust_files)
    {
        let plain = text.contains("#[test]");
        assert!(
            !plain,
            "{path}: mark its tests with #[wasm_bindgen_test(unsupported = test)]"
        );
    }
}

#[test]
fn files_stay_small() {
    // Each is one list of declarations and reads as a table.
    let tables = ["src/config/fields.rs", "src/source.rs"];
    for (path, text) in rust_files("src") {
        let lines = text.lines().count();
        assert!(
            lines <= 600 || tables.contains(&path.as_str()),
            "{path} has {lines} lines"
        );
        assert!(!path.ends_with("/mod.rs"), "{path}: name the file after its module");
    }
}

/// The type of formats in the JavaScript API has the id of every format, those of the frameworks' files among them.
#[test]
fn the_api_declares_every_format() {
    let api = fs::read_to_string(format!("{ROOT}/src/api/import.rs")).unwrap();
    let (_, list) = api.split_once("export type ImportFormat =").unwrap();
    let (list, _) = list.split_once(';').unwrap();
    let declared: BTreeSet<&str> = list.split('"').skip(1).step_by(2).collect();
    assert_eq!(declared, Format::all().map(Format::id).collect());
}

#[test]
fn every_field_says_what_it_is() {
    let mut names = BTreeSet::new();
    let mut keys = BTreeSet::new();
    for (id, field) in FieldId::ALL.iter().zip(&FIELDS) {
        let name = field.name;
        assert_eq!(format!("{id:?}"), name);
        assert!(
            names.insert(name) && keys.insert(field.key),
            "{name} or its key {} comes twice",
            field.key
        );
        assert!(
            id.help().trim().len() >= 12 && id.help().trim().ends_with('.'),
            "{name} needs a sentence of help"
        );
        assert!(!field.label.is_empty() && Group::ALL.contains(&field.group), "{name}");
        let simple = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c.is_ascii_uppercase();
        assert!(
            field.key.len() <= 8 && field.key.chars().all(simple),
            "{name}: link key {}",
            field.key
        );
        let legal = match (field.kind, field.default) {
            (Kind::Int { min, max }, Default::Int(n)) | (Kind::Decimal { min, max }, Default::Decimal(n)) => {
                (min..=max).contains(&n)
            }
            (Kind::Choice(names), Default::Choice(name)) => names.contains(&name),
            (Kind::Set(names), Default::Set(list)) => {
                list.split(',').filter(|n| !n.is_empty()).all(|n| names.contains(&n))
            }
            (_, default) => matches!(
                (field.kind, default),
                (_, Default::Required | Default::Derived(_))
                    | (Kind::Flag, Default::Flag(_))
                    | (Kind::LayerPattern, Default::Int(1))
            ),
        };
        assert!(legal, "{name}: the default does not fit the kind");
        assert_eq!(FieldId::by_name(name), Some(*id));
        assert_eq!(FieldId::by_key(field.key), Some(*id));
    }
}

/// Every cited source is cited by somebody.
#[test]
fn every_source_is_used() {
    let files = rust_files("src");
    let is_list = |path: &str| path.starts_with("src/source");
    let lists = files.iter().filter(|(path, _)| is_list(path));
    let names = lists
        .flat_map(|(_, list)| list.lines())
        .filter_map(|line| line.trim_start().split_once(" = Citation::"));
    let others: Vec<&str> = files
        .iter()
        .filter(|(path, _)| !is_list(path))
        .map(|(_, text)| text.as_str())
        .collect();
    let mut seen = 0;
    for (name, _) in names {
        let citation = format!("Source::{name}");
        // A longer name cites another source.
        let ends_here = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
        let is_cited = |text: &&str| text.split(&citation).skip(1).any(ends_here);
        assert!(others.iter().any(is_cited), "{name} is never cited");
        seen += 1;
    }
    assert!(seen > 15, "{seen}");
}

/// A reader of one room meets a name once.
#[test]
fn public_types_of_a_room_have_names_of_their_own() {
    let mut seen: BTreeMap<(String, String), String> = BTreeMap::new();
    for (path, text) in rust_files("src") {
        let declared = text.lines().filter_map(|line| {
            let (kind, rest) = line.trim_start().strip_prefix("pub ")?.split_once(' ')?;
            let name = rest.split(|c: char| !c.is_alphanumeric()).next()?;
            // The parameter of a macro is no name.
            let declares = ["enum", "struct", "trait", "type", "union"].contains(&kind) && !name.is_empty();
            declares.then_some(name)
        });
        for name in declared {
            let place = (module(&path).to_owned(), name.to_owned());
            if let Some(other) = seen.insert(place, path.clone()) {
                panic!("{name} is declared in {other} and in {path}");
            }
        }
    }
    assert!(seen.len() > 500, "{}", seen.len());
}

#[test]
fn no_text_is_read_as_markup() {
    // In two pieces: this file is no exception.
    let attribute = ["inner", "html"].join("_");
    for (path, text) in rust_files("src") {
        assert!(!text.contains(&attribute), "{path} sets {attribute}");
    }
}
