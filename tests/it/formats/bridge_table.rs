//! Our mapping beside Megatron-Bridge's own table of Megatron-LM's flags, flag by flag, both ways.
//!
//! `tests/oracle/bridge_flags.json` has what that table says, and where we say something else, with the reason. A
//! disagreement that is not listed fails, and so does a listed one that is none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use megatron_memory::config::canonical::meaning;
use megatron_memory::config::field::Kind;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, Settings};
use megatron_memory::export::bridge;
use megatron_memory::formats::detect::Format;
use megatron_memory::formats::import::{Import, Options, import};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::value::Value;
use serde::Deserialize;

use crate::ROOT;

#[derive(Deserialize)]
struct Table {
    flags: Vec<(String, Option<String>, Option<String>)>,
    disagreements: BTreeMap<String, String>,
    disagreements_of_exports: BTreeMap<String, String>,
}

fn table() -> Table {
    let path = format!("{ROOT}/tests/oracle/bridge_flags.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn read(text: &str, format: Format) -> Import {
    let options = Options {
        format: Some(format),
        ..Options::default()
    };
    import(text, &options).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What a key of a text does: whether it counts, and what it changes.
fn effect(import: &Import, key: &str, base: &Settings) -> (bool, Vec<String>) {
    let rows = import.report.iter().filter(|row| row.key == key && row.line.is_some());
    let counts = rows.into_iter().any(|row| {
        matches!(
            row.status,
            KeyStatus::Mapped | KeyStatus::Derived | KeyStatus::NotModelled | KeyStatus::Conflicting
        )
    });
    let own = &import.state.setup.job.shared;
    let changed = FieldId::ALL
        .iter()
        .filter(|id| meaning(**id, own.get(**id)) != meaning(**id, base.get(**id)));
    let changed = changed.map(|id| format!("{}={:?}", id.field().name, meaning(*id, own.get(*id))));
    (counts, changed.collect())
}

/// A value that a flag may have.
fn sample(flag: &str) -> String {
    let field = FieldId::by_name(&flag.replace('-', "_"));
    match field.map(|id| id.field().kind) {
        Some(Kind::Choice(names) | Kind::Set(names)) => {
            let id = field.unwrap();
            let other = |name: &&&str| meaning(id, Some(&Value::Text((**name).to_owned()))) != meaning(id, None);
            names.iter().find(other).unwrap().to_string()
        }
        Some(Kind::Decimal { .. }) => "0.5".to_owned(),
        Some(Kind::Text { .. }) if field == Some(FieldId::hybrid_layer_pattern) => "M-|*-".to_owned(),
        Some(Kind::Text { .. }) => "Et*2|t*2L".to_owned(),
        _ => match flag {
            "position-embedding-type" => "rope",
            "normalization" => "RMSNorm",
            "fp8-format" => "hybrid",
            _ => "4",
        }
        .to_owned(),
    }
}

const LM: &str =
    "--num-layers 8 --hidden-size 64 --num-attention-heads 4 --group-query-attention --pipeline-model-parallel-size 2";
const BRIDGE: &str =
    "model.num_layers=8 model.hidden_size=64 model.num_attention_heads=4 model.pipeline_model_parallel_size=2";

#[test]
fn flags_mean_what_the_table_says() {
    let Table {
        flags, disagreements, ..
    } = table();
    assert_eq!(flags.len(), 195);
    let lm_base = read(LM, Format::MegatronFlags).state.setup.job.shared;
    let bridge_base = read(BRIDGE, Format::Overrides).state.setup.job.shared;
    let mut different = BTreeMap::new();
    for (flag, key, how) in &flags {
        let how = how.as_deref().unwrap_or("value");
        let value = sample(flag);
        let (mut lm, mut overrides) = (format!("{LM} --{flag}"), BRIDGE.to_owned());
        let mut key_said = key.clone().unwrap_or_default();
        match (how, key.as_deref()) {
            ("flag", Some("mixed_precision._bf16")) => {
                key_said = "mixed_precision".to_owned();
                overrides.push_str(" mixed_precision=bf16_mixed");
            }
            ("flag", Some("mixed_precision._fp16")) => {
                key_said = "mixed_precision".to_owned();
                overrides.push_str(" mixed_precision=fp16_mixed");
            }
            ("flag", Some(key)) => overrides.push_str(&format!(" {key}=true")),
            ("flag_invert", Some(key)) => overrides.push_str(&format!(" {key}=false")),
            ("swiglu", _) => {
                key_said = "model.gated_linear_unit".to_owned();
                overrides.push_str(" model.gated_linear_unit=true model.activation_func=silu");
            }
            ("squared_relu", _) => {
                key_said = "model.activation_func".to_owned();
                overrides.push_str(" model.activation_func=squared_relu");
            }
            ("skip", _) => {
                if matches!(flag.as_str(), "cuda-graph-scope" | "transformer-impl") {
                    lm.push_str(&format!(" {value}"));
                }
            }
            (how, key) => {
                lm.push_str(&format!(" '{value}'"));
                if how == "hybrid_override_pattern" {
                    key_said = "model.hybrid_layer_pattern".to_owned();
                }
                let written = match (how, flag.as_str()) {
                    // Eight layers on two stages: one virtual stage for every four.
                    ("vpp_from_layers", _) => "1".to_owned(),
                    _ => value,
                };
                if key.is_some() || how == "hybrid_override_pattern" {
                    overrides.push_str(&format!(" '{key_said}=\"{written}\"'"));
                    if written.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
                        overrides = overrides.replace(&format!("\"{written}\""), &written);
                    }
                }
            }
        }
        let ours = effect(&read(&lm, Format::MegatronFlags), &format!("--{flag}"), &lm_base);
        let theirs = if overrides == BRIDGE {
            (false, Vec::new())
        } else {
            effect(&read(&overrides, Format::Overrides), &key_said, &bridge_base)
        };
        if ours != theirs {
            different.insert(flag.clone(), format!("{ours:?} but {key_said}: {theirs:?}"));
        }
    }
    let unlisted: Vec<_> = different
        .iter()
        .filter(|(flag, _)| !disagreements.contains_key(*flag))
        .collect();
    assert!(unlisted.is_empty(), "{unlisted:#?}");
    let agreed: Vec<_> = disagreements
        .keys()
        .filter(|flag| !different.contains_key(*flag))
        .collect();
    assert!(agreed.is_empty(), "no disagreement any more: {agreed:?}");
    assert!(disagreements.values().all(|reason| reason.len() > 40));
}

#[test]
fn fields_are_exported_under_the_keys_of_the_table() {
    let Table {
        flags,
        disagreements_of_exports: listed,
        ..
    } = table();
    let mut compared = 0;
    let mut different = BTreeMap::new();
    for (flag, key, how) in &flags {
        let Some(key) = key else { continue };
        let how = how.as_deref().unwrap_or("value");
        let on = matches!(how, "flag" | "flag_invert");
        let text = if on {
            format!("{LM} --{flag}")
        } else {
            format!("{LM} --{flag} '{}'", sample(flag))
        };
        let lm = read(&text, Format::MegatronFlags);
        let base = read(LM, Format::MegatronFlags);
        if effect(&lm, "", &base.state.setup.job.shared).1.is_empty() {
            continue;
        }
        let lines = |job: &RawJob| -> BTreeSet<String> {
            let keys = bridge::overrides(job);
            let keys = keys
                .lines()
                .map(|line| line.trim_matches('\'').split('=').next().unwrap().to_owned());
            keys.collect()
        };
        let key = match key.as_str() {
            "mixed_precision._bf16" | "mixed_precision._fp16" => "mixed_precision",
            key => key,
        };
        let (job, base) = (&lm.state.setup.job, &base.state.setup.job);
        compared += 1;
        if !lines(job).contains(key) {
            let new: Vec<String> = lines(job).difference(&lines(base)).cloned().collect();
            different.insert(flag.clone(), format!("not {key} but {new:?}"));
        }
    }
    assert!(compared > 60, "{compared}");
    let unlisted: Vec<_> = different
        .iter()
        .filter(|(flag, _)| !listed.contains_key(*flag))
        .collect();
    assert!(unlisted.is_empty(), "{unlisted:#?}");
    let agreed: Vec<_> = listed.keys().filter(|flag| !different.contains_key(*flag)).collect();
    assert!(agreed.is_empty(), "no disagreement any more: {agreed:?}");
}
