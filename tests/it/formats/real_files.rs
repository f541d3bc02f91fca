//! Real files of other repositories. `tests/corpus/real.json` has the facts of each, never its text: the keys and
//! values of a YAML file, the words of the command that a script starts, what a recipe calls. From these a text of the
//! same kind is made, and what becomes of it is compared with what is written down there. `tests/corpus/real.md` is the
//! table of it; with `SNAPSHOTS=write` in the environment both are written anew, for their author to read.

mod class;
mod rebuild;
mod table;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use class::Class;
use rebuild::{Answers, text_of, verdict};
use serde_json::Value as Json;

use crate::{ROOT, oracle};

fn path(file: &str) -> PathBuf {
    Path::new(ROOT).join("tests/corpus").join(file)
}

/// A file of the corpus.
fn corpus(file: &str) -> String {
    let path = path(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files() -> Vec<Json> {
    let all: Json = serde_json::from_str(&corpus("real.json")).unwrap();
    all.as_array().unwrap().clone()
}

fn text<'a>(file: &'a Json, key: &str) -> &'a str {
    file[key].as_str().unwrap()
}

/// Whether the files are to be written anew.
fn writes() -> bool {
    std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "write")
}

/// What becomes of each file now.
fn outcomes(files: &[Json]) -> Vec<String> {
    let totals = oracle::json("hf_totals.json");
    let models = totals["models"].as_array().unwrap().iter();
    let configs: BTreeMap<&str, String> = models
        .map(|model| (text(model, "id"), model["config"].to_string()))
        .collect();
    let outcome = |file: &Json| {
        let answers = Answers::of(&file["answers"]);
        let options = answers.options(|name| configs.get(name).cloned());
        verdict(&text_of(&file["facts"]), &options)
    };
    files.iter().map(outcome).collect()
}

#[test]
fn every_file_comes_out_as_written_down() {
    let mut files = files();
    let found = outcomes(&files);
    let mut wrong = String::new();
    for (file, found) in files.iter().zip(&found) {
        if found != text(file, "outcome") {
            let (path, outcome) = (text(file, "path"), text(file, "outcome"));
            writeln!(wrong, "{path}\n  now:    {found}\n  before: {outcome}").unwrap();
        }
    }
    if writes() {
        for (file, found) in files.iter_mut().zip(found) {
            file["outcome"] = found.into();
        }
        let lines: Vec<String> = files.iter().map(Json::to_string).collect();
        fs::write(path("real.json"), format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
        fs::write(path("real.md"), table::of(&files)).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_table_has_what_is_written_down() {
    let files = files();
    assert!(files.len() >= 150, "{}", files.len());
    assert!(corpus("real.md") == table::of(&files), "real.md is old");
}

/// A job with a number that nothing marks is the model that its file is named after: within 1 % where the size of that
/// model is published, within 5 % of the size in its name where only that is known.
#[test]
fn no_file_is_silently_another_model() {
    let (mut silent, mut compared) = (String::new(), 0);
    for file in files() {
        let of_model = |key: &str, share: f64| Some((file[key].as_f64()?, share));
        let size = of_model("published", 0.01).or_else(|| of_model("stated", 0.05));
        let unmarked = matches!(Class::of(&file), Class::Right | Class::MoreQuestions);
        let Some((size, share)) = size.filter(|_| unmarked) else {
            continue;
        };
        let (total, _) = text(&file, "outcome").split_once(' ').unwrap();
        let total: f64 = total.parse().unwrap();
        compared += 1;
        if (total / size - 1.0).abs() > share {
            writeln!(silent, "{}: {total}, not {size}", text(&file, "path")).unwrap();
        }
    }
    assert!(silent.is_empty(), "{silent}");
    assert!(compared >= 90, "{compared}");
}
