//! Real files of other repositories. `tests/corpus/real.json` has the facts of each, never its text: the keys and values of a YAML
//! file, the words of the command that a script starts, the imports of a recipe. From these a text of the same kind is made, and
//! what becomes of it is compared with what is written down there and in `tests/corpus/real.md`.

mod rebuild;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use rebuild::{Answers, text_of, verdict};
use serde_json::Value as Json;

use crate::oracle;

/// A file of the corpus.
fn corpus(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files() -> Vec<Json> {
    let all: Json = serde_json::from_str(&corpus("real.json")).unwrap();
    all.as_array().unwrap().clone()
}

fn text<'a>(file: &'a Json, key: &str) -> &'a str {
    file[key].as_str().unwrap()
}

/// The row of a file in `real.md`.
fn row(file: &Json) -> String {
    let questions = Answers::of(&file["answers"]).count();
    let commit = text(file, "commit").get(..10).unwrap();
    format!(
        "| {} | {} | {commit} | {} | {questions} | {} |",
        text(file, "repository"),
        text(file, "path"),
        text(file, "dialect"),
        text(file, "outcome").replace('|', "\\|"),
    )
}

#[test]
fn every_file_comes_out_as_written_down() {
    let totals = oracle::json("hf_totals.json");
    let models = totals["models"].as_array().unwrap().iter();
    let configs: BTreeMap<&str, String> = models
        .map(|model| (text(model, "id"), model["config"].to_string()))
        .collect();
    let mut wrong = String::new();
    for file in files() {
        let answers = Answers::of(&file["answers"]);
        let options = answers.options(|name| configs.get(name).cloned());
        let found = verdict(&text_of(&file["facts"]), &options);
        if found != text(&file, "outcome") {
            let (path, outcome) = (text(&file, "path"), text(&file, "outcome"));
            writeln!(wrong, "{path}\n  now:    {found}\n  before: {outcome}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_table_has_a_row_for_every_file() {
    let table = corpus("real.md");
    let rows: BTreeSet<&str> = table
        .lines()
        .filter(|line| line.contains(" | "))
        .skip(2)
        .collect();
    let expected: Vec<String> = files().iter().map(row).collect();
    let missing: Vec<_> = expected
        .iter()
        .filter(|row| !rows.contains(row.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
    assert_eq!(rows.len(), expected.len());
    assert!(expected.len() >= 150, "{}", expected.len());
}

/// A job with a number that nothing marks is the model that its file is named after, where the size of that model is published.
#[test]
fn no_file_is_silently_another_model() {
    let mut silent = String::new();
    for file in files() {
        let (Some(published), outcome) = (file["published"].as_f64(), text(&file, "outcome"))
        else {
            continue;
        };
        let Some((total, "")) = outcome.split_once(" parameters") else {
            continue;
        };
        let total: f64 = total.parse().unwrap();
        if (total / published - 1.0).abs() > 0.01 {
            writeln!(
                silent,
                "{}: {total}, published {published}",
                text(&file, "path")
            )
            .unwrap();
        }
    }
    assert!(silent.is_empty(), "{silent}");
}
