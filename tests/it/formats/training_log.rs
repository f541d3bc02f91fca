//! Training logs: the arguments that Megatron-LM prints are the job of its flags, however the log looks.

use megatron_memory::config::canonical::{differences, normalize};
use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, Settings};
use megatron_memory::formats::detect::{Format, detect};
use megatron_memory::formats::import::{Import, Options, import};
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::value::Value;
use serde_json::Value as Json;

use crate::oracle;

/// Every job: its name, flags, GPUs and the arguments that Megatron-LM prints for it, as pairs of name and value.
fn jobs() -> Vec<(String, String, u64, Vec<(String, String)>)> {
    let oracle = oracle::json("printed_arguments.json");
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let jobs = oracle["jobs"].as_object().unwrap().iter();
    jobs.map(|(name, job)| {
        let mut arguments: Vec<(String, String)> = oracle["defaults"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), text(job["args"].get(name).unwrap_or(value))))
            .collect();
        arguments.sort_by_key(|(name, _)| name.to_lowercase());
        let flags: Vec<String> = job["argv"].as_array().unwrap().iter().map(text).collect();
        let flags = flags.iter().map(|word| match word.as_str() {
            word if word.starts_with("--") => word.to_owned(),
            word => format!("'{word}'"),
        });
        let flags = flags.collect::<Vec<_>>().join(" ");
        (
            name.clone(),
            flags,
            job["world_size"].as_u64().unwrap(),
            arguments,
        )
    })
    .collect()
}

/// The arguments as Megatron-LM prints them.
fn printed(arguments: &[(String, String)]) -> Vec<String> {
    let mut lines = vec!["------------------------ arguments ------------------------".to_owned()];
    lines.extend(arguments.iter().map(|(name, value)| {
        let dots = ".".repeat(48_usize.saturating_sub(name.len()));
        format!("  {name} {dots} {value}")
    }));
    lines.push("-------------------- end of arguments ---------------------".to_owned());
    lines
}

/// The fields in which two jobs differ for Megatron-LM, with both values.
fn different(one: &Settings, other: &Settings) -> Vec<String> {
    let base = Settings::default();
    let (one, other) = (normalize(one, &base), normalize(other, &base));
    let differ = differences(&one, &other).map(|(id, _)| id);
    let missing = differences(&other, &one).map(|(id, _)| id);
    let mut ids: Vec<FieldId> = differ.chain(missing).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.iter()
        .map(|id| {
            format!(
                "{}: {:?} {:?}",
                id.field().name,
                one.get(*id),
                other.get(*id)
            )
        })
        .collect()
}

/// What Megatron would run: with a vocabulary, which most of these jobs leave to their tokenizer.
fn checked(settings: &Settings) -> String {
    let mut shared = settings.clone();
    let sizes = [FieldId::vocab_size, FieldId::padded_vocab_size];
    if sizes
        .iter()
        .all(|id| matches!(shared.get(*id), None | Some(Value::Null)))
    {
        shared.set(FieldId::vocab_size, Value::Int(50_257));
    }
    let checked = check(&RawJob {
        shared,
        ..RawJob::default()
    });
    match checked.config {
        Some(config) => format!("{:?}", megatron_memory::memory::estimate(&config)),
        None => format!(
            "{:?}",
            checked
                .errors()
                .map(|p| p.message.clone())
                .collect::<Vec<_>>()
        ),
    }
}

#[track_caller]
fn read(text: &str) -> Import {
    let found = detect(text).unwrap();
    assert_eq!(found.format, Format::TrainingLog, "{}", found.reason);
    import(text, &Options::default()).unwrap()
}

#[test]
fn printed_arguments_are_the_job_of_their_flags() {
    let mut failed = Vec::new();
    for (name, flags, gpus, arguments) in jobs() {
        let options = ImportOptions {
            gpus: Some(gpus),
            ..ImportOptions::default()
        };
        let of_flags = import_text(&flags, &options).unwrap().import;
        let of_log = read(&printed(&arguments).join("\n"));
        let [of_flags, of_log] = [of_flags, of_log].map(|import| import.state.setup.job.shared);
        if checked(&of_flags) != checked(&of_log) {
            failed.push(format!(
                "{name}: {:#?}\n{}\n{}",
                different(&of_flags, &of_log),
                checked(&of_flags).chars().take(300).collect::<String>(),
                checked(&of_log).chars().take(300).collect::<String>()
            ));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_rows() {
    let mut seen = std::collections::BTreeMap::new();
    for (_, _, _, arguments) in jobs() {
        let of_log = read(&printed(&arguments).join("\n"));
        for row in of_log.report {
            if !matches!(row.status, KeyStatus::Ignored) {
                seen.entry((row.status, row.key, row.note))
                    .or_insert_with(std::collections::BTreeSet::new)
                    .insert(row.value);
            }
        }
    }
    for (k, v) in seen {
        println!("{k:?} {v:?}");
    }
}
