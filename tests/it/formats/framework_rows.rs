//! Commands, scripts and configurations of frameworks, against the values that each framework's own code makes of them.
//!
//! A file of `tests/oracle/frameworks` has the rows of a framework at a revision. Each row is imported as a user pastes
//! it, and the estimate of every stage is compared with that of the same job with the framework's values in it. What is
//! not met within 0.1 GiB stands in `exceptions.json` with the reason: a row that is met stands there no more, and a
//! new exception fails the test.

use std::collections::BTreeMap;

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::import::{Import, Question};
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::memory::estimate;
use megatron_memory::value::Value;
use serde_json::{Map, Value as Json};

use crate::oracle;

const GIB: f64 = 1_073_741_824.0;

/// The rows that are not met: the outcome and the reason of each.
const EXCEPTIONS: &str = "exceptions.json";

/// A text as a user has it, with the model that the user chooses for it.
struct Row {
    name: String,
    text: String,
    /// The id of a preset, or the text of a `config.json`.
    model: Option<String>,
    values: Map<String, Json>,
}

/// The rows of a framework. A script of slime takes its model from another file: it is a row alone, with a model that
/// the user chooses, and another with the arguments of that file pasted in front, where nobody is asked for a model.
fn rows(framework: &Json) -> Vec<Row> {
    let mut rows = Vec::new();
    for row in framework["rows"].as_array().unwrap() {
        let mut values = framework["common_values"].as_object().unwrap().clone();
        values.extend(row["values"].as_object().unwrap().clone());
        let name = row["name"].as_str().unwrap().to_owned();
        let text = row["text"].as_str().unwrap();
        let chosen = row["model"].as_str();
        let model = chosen.map(|id| match &framework["models"][id] {
            Json::Null => id.to_owned(),
            config => config.to_string(),
        });
        if let Some(file) = row["model_arguments"].as_str() {
            let arguments = framework["model_arguments"][file].as_str().unwrap();
            rows.push(Row {
                name: format!("{name}, pasted"),
                text: format!("MODEL_ARGS=({arguments})\n{text}"),
                model: None,
                values: values.clone(),
            });
            if model.is_some() {
                rows.push(Row {
                    name,
                    text: format!("source models/{file}\n{text}"),
                    model,
                    values,
                });
            }
        } else {
            rows.push(Row {
                name,
                text: text.to_owned(),
                model,
                values,
            });
        }
    }
    rows
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(on) => Value::Bool(*on),
        Json::Number(number) => number
            .as_i64()
            .map_or_else(|| Value::Text(number.to_string()), |number| Value::Int(number.into())),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(_) => panic!("{json}"),
    }
}

/// The peak of every stage of every module, in GiB.
fn stages(job: &RawJob) -> Result<Vec<f64>, String> {
    let checked = check(job);
    let Some(config) = &checked.config else {
        let errors: Vec<_> = checked.errors().map(|problem| problem.message.clone()).collect();
        return Err(errors.join("; "));
    };
    let modules = estimate(config).modules;
    let stages = modules.iter().flat_map(|module| &module.stages);
    #[allow(clippy::cast_precision_loss, reason = "a difference of whole GiB is looked for")]
    let stages = stages.map(|stage| stage.total.0 as f64 / GIB).collect();
    Ok(stages)
}

/// Imports a row. The number of GPUs and the tokens of images are answered where they are asked for.
fn imported(row: &Row) -> Result<Import, String> {
    let mut options = ImportOptions {
        model: row.model.clone(),
        ..ImportOptions::default()
    };
    let read = |options: &ImportOptions| {
        let imported = import_text(&row.text, options).map_err(|error| error.to_string())?;
        Ok::<Import, String>(imported.import)
    };
    let import = read(&options)?;
    if import.questions.contains(&Question::Gpus) {
        options.gpus = row.values["world_size"].as_u64();
    }
    let tokens = FieldId::image_tokens_per_sample;
    let asks = |asked: &Question| matches!(asked, Question::Field { field, .. } if *field == tokens);
    if import.questions.iter().any(asks) {
        options.fields.push((tokens, Value::Int(1_024)));
    }
    read(&options)
}

/// The job with the framework's values in it.
fn with_values_of_framework(job: &RawJob, row: &Row) -> RawJob {
    let mut own = job.clone();
    for (name, json) in &row.values {
        put(&mut own, name, json);
    }
    own
}

fn put(job: &mut RawJob, name: &str, json: &Json) {
    let field = FieldId::by_name(name).unwrap_or_else(|| panic!("{name}"));
    if json.is_null() {
        job.place(0, field).unset(field);
    } else {
        job.put(0, field, value(json));
    }
}

/// The values of the framework that change the estimate of the import.
fn differing(row: &Row) -> String {
    let Ok(import) = imported(row) else {
        return String::new();
    };
    let mut own = import.state.setup.job;
    let mut names = Vec::new();
    for (name, json) in &row.values {
        let mut changed = own.clone();
        put(&mut changed, name, json);
        if changed != own && stages(&changed) != stages(&own) {
            names.push(name.as_str());
        }
        own = changed;
    }
    names.join(", ")
}

/// How far the import of a row is from the framework: the outcome, and its details.
fn outcome(row: &Row) -> (&'static str, String) {
    let import = match imported(row) {
        Ok(import) => import,
        Err(error) => return ("refused", error),
    };
    let is_open = |question: &&Question| match question {
        Question::Variable { keys, .. } => !keys.is_empty(),
        Question::Branch { taken, .. } => taken.is_none(),
        Question::Gpus | Question::Model { .. } | Question::Field { .. } => true,
    };
    if let Some(question) = import.questions.iter().find(is_open) {
        return ("asks", format!("{question:?}"));
    }
    let job = import.state.setup.job;
    if let Some(mark) = job.not_modelled.first() {
        return ("not modelled", mark.to_string());
    }
    let ours = match stages(&job) {
        Ok(stages) => stages,
        Err(errors) => return ("refused", errors),
    };
    let framework = match stages(&with_values_of_framework(&job, row)) {
        Ok(stages) => stages,
        Err(errors) => panic!("{}: with the framework's values: {errors}", row.name),
    };
    if ours.len() != framework.len() {
        return ("beyond 1 GiB", format!("{} stages", framework.len()));
    }
    let gaps = ours.iter().zip(&framework).map(|(ours, own)| ours - own);
    let gap = gaps.reduce(|worst, gap| if gap.abs() > worst.abs() { gap } else { worst });
    let gap = gap.unwrap_or(0.0);
    let within = match gap.abs() {
        ..=0.01 => "within 0.01 GiB",
        ..=0.1 => "within 0.1 GiB",
        ..=1.0 => "within 1 GiB",
        _ => "beyond 1 GiB",
    };
    (within, format!("{gap:+.2} GiB"))
}

/// What became of rows, by framework and row.
type Outcomes = BTreeMap<String, BTreeMap<String, [String; 2]>>;

#[test]
fn imports_are_the_jobs_that_frameworks_run() {
    let known: Outcomes = serde_json::from_value(oracle::json(&format!("frameworks/{EXCEPTIONS}"))).unwrap();
    let of = |all: &Outcomes, framework: &str, row: &str| all.get(framework)?.get(row).cloned();
    let mut found = Outcomes::new();
    let mut report = String::new();
    for file in oracle::files("frameworks") {
        if file.ends_with(EXCEPTIONS) {
            continue;
        }
        let framework = oracle::json(&file);
        let name = framework["framework"].as_str().unwrap();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for row in rows(&framework) {
            let (outcome, mut details) = outcome(&row);
            *counts.entry(outcome).or_default() += 1;
            if matches!(outcome, "within 0.01 GiB" | "within 0.1 GiB") {
                continue;
            }
            if of(&known, name, &row.name).is_none_or(|[known, _]| known != outcome) && details.ends_with("GiB") {
                details = format!("{details}: {}", differing(&row));
            }
            let of_framework = found.entry(name.to_owned()).or_default();
            of_framework.insert(row.name, [outcome.to_owned(), details]);
        }
        report.push_str(&format!("{name}: {counts:?}\n"));
    }
    for (framework, rows) in &found {
        for (row, [outcome, details]) in rows {
            if of(&known, framework, row).is_none_or(|[known, _]| known != *outcome) {
                report.push_str(&format!("{framework}: {row}: now {outcome}: {details}\n"));
            }
        }
    }
    for (framework, rows) in &known {
        for row in rows.keys().filter(|row| of(&found, framework, row).is_none()) {
            report.push_str(&format!("{framework}: {row}: is met, and no exception any more\n"));
        }
    }
    let is_known = |line: &str| !line.contains(": now ") && !line.contains(": is met, ");
    if !report.lines().all(is_known) {
        // The list as it would be, with the details for reasons.
        let path = std::env::temp_dir().join("framework_exceptions.json");
        std::fs::write(&path, serde_json::to_string_pretty(&found).unwrap()).unwrap();
        panic!(
            "{report}\nthe exceptions differ; {} has them as they are now",
            path.display()
        );
    }
}
