//! Jobs that Megatron refuses have no estimate, whichever way they come: they are not replaced by the preset's job.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::export::{ChartOptions, ExportError, ExportFormat, ExportOptions, chart_file, export_text};
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::formats::share_url::{decode, encode};
use megatron_memory::formats::state::{Setup, ShareState};
use megatron_memory::formats::{job_json, json};
use megatron_memory::value::Value;

/// Links of jobs that cannot run: a preset, and settings by the keys of links.
const ILLEGAL: &[(&str, &str)] = &[
    ("qwen3-235b-a22b@2", "gpus=64"),
    ("qwen3-235b-a22b@2", "ep=7"),
    ("qwen3-235b-a22b@2", "k=200"),
    ("qwen3-235b-a22b@2", "pp=17"),
    ("qwen3-235b-a22b@2", "E=some"),
    ("deepseek-v3@2", "gpus=100"),
    ("deepseek-v3@2", "ep=3"),
    ("deepseek-v3@2", "layout=Ex"),
    ("deepseek-v3@2", "layout=Et,t"),
    ("deepseek-v3@2", "freq=2~3"),
    ("deepseek-v3@2", "k=many"),
    ("deepseek-v3@2", "cp=3"),
    ("deepseek-v3@2", "v=0"),
    ("nemotron-h-8b@1", "hyb=M-Mx"),
    ("nemotron-h-8b@1", "hyb=nothing"),
    ("nemotron-h-8b@1", "pp=3"),
    ("llama3-8b@2", "tp=abc"),
    ("llama3-8b@2", "tp=0"),
    ("llama3-8b@2", "tp=-1"),
    ("llama3-8b@2", "tp=2.5"),
    ("llama3-8b@2", "tp=3"),
    ("llama3-8b@2", "tp=100000"),
    ("llama3-8b@2", "pp=33;gpus=33"),
    ("llama3-8b@2", "pp=three"),
    ("llama3-8b@2", "cp=64;gpus=8"),
    ("llama3-8b@2", "gpus=0"),
    ("llama3-8b@2", "gpus=lots"),
    ("llama3-8b@2", "gpus=8;tp=16"),
    ("llama3-8b@2", "L=0"),
    ("llama3-8b@2", "h=huge"),
    ("llama3-8b@2", "nq=0"),
    ("llama3-8b@2", "nkv=5"),
    ("llama3-8b@2", "seq=0"),
    ("llama3-8b@2", "mbs=none"),
    ("llama3-8b@2", "mbs=0"),
    ("llama3-8b@2", "gbs=-5"),
    ("llama3-8b@2", "bf16=maybe"),
    ("llama3-8b@2", "rc=some"),
    ("llama3-8b@2", "opt=adamw9"),
    ("llama3-8b@2", "rc=full;rcm=neither"),
    ("llama3-8b@2", "fp16=1;bf16=1"),
    ("llama3-8b@2", "sp=perhaps"),
];

/// The names of settings instead of their keys in links, for the settings of [`ILLEGAL`].
fn named(settings: &str) -> Vec<(&'static str, String)> {
    let pairs = settings.split(';').map(|pair| pair.split_once('=').unwrap());
    pairs
        .map(|(key, value)| {
            let field = FieldId::by_key(key).unwrap_or_else(|| panic!("no field {key}"));
            // The notation of links for a pattern.
            let value = if value == "2~3" { "[2]*3" } else { value };
            (field.field().name, value.to_owned())
        })
        .collect()
}

#[track_caller]
fn assert_no_number(way: &str, state: &ShareState) {
    let checked = check(&state.setup.job);
    assert!(checked.config.is_none(), "{way} has a number");
    assert!(checked.errors().next().is_some(), "{way}");
    for format in ["csv", "markdown", "link_summary"] {
        let format = ExportFormat::by_id(format).unwrap();
        let text = export_text(state, format, &ExportOptions::default());
        assert!(matches!(text, Err(ExportError::Invalid(_))), "{way}: {text:?}");
    }
    let format = ExportFormat::by_id("json").unwrap();
    let text = export_text(state, format, &ExportOptions::default()).unwrap();
    assert!(text.contains("cannot_run") && !text.contains("result"), "{way}: {text}");
    let chart = chart_file(state, "stage_bars", &ChartOptions::default());
    assert!(chart.is_err(), "{way}");
}

#[test]
fn an_illegal_job_has_no_number_through_links_documents_and_imports() {
    assert!(ILLEGAL.len() >= 40);
    let legal = |(preset, settings): &&(&str, &str)| {
        let job = decode(&format!("#v1;m={preset};{settings}")).0.setup.job;
        check(&job).config.is_some()
    };
    let legal: Vec<_> = ILLEGAL.iter().filter(legal).collect();
    assert!(legal.is_empty(), "{legal:?}");
    for (preset, settings) in ILLEGAL {
        let link = format!("#v1;m={preset};{settings}");
        let state = decode(&link).0;
        assert_no_number(&link, &state);
        assert_no_number(&format!("{link} written again"), &decode(&encode(&state)).0);
        let file = job_json::file(&job_json::document(&state));
        let file = job_json::read(&json::parse(&file).unwrap()).unwrap();
        assert_no_number(&format!("{link} as JSON"), &file.state);
        let imported = import_text(&link, &ImportOptions::default()).unwrap();
        assert_no_number(&format!("{link} imported"), &imported.import.state);
    }
}

#[test]
fn an_illegal_job_has_no_number_as_plain_settings_and_as_overrides_of_a_job() {
    for (preset, settings) in ILLEGAL {
        let way = format!("{preset} with {settings}");
        let mut state = decode(&format!("#v1;m={preset}")).0;
        let onto: Setup = state.setup.clone();
        assert!(check(&onto.job).config.is_some(), "{preset}");
        let settings = named(settings);
        let plain = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::Text(value.clone())));
        let plain = RawJob::from_value(&Value::Map(plain.collect()));
        state.setup.job.shared.overlay(&plain.shared);
        assert_no_number(&way, &state);
        // The settings alone as JSON, put onto the preset's job.
        let lines = settings.iter().map(|(name, value)| format!("model.{name}={value}"));
        let text = lines.collect::<Vec<_>>().join("\n");
        let options = ImportOptions {
            onto: Some(onto),
            ..ImportOptions::default()
        };
        let Ok(imported) = import_text(&text, &options) else {
            continue;
        };
        let changes = imported.changes.unwrap_or_default();
        if changes.len() == settings.len() {
            assert_no_number(&format!("{way} as overrides"), &imported.import.state);
        }
    }
}
