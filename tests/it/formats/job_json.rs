//! Our own JSON: what is written, and that it reads back.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::export::json as json_file;
use megatron_memory::export::provenance::made_by;
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::formats::share_url::decode;
use megatron_memory::formats::state::{Setup, ShareState};
use megatron_memory::formats::{job_json, json};
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::estimate;
use megatron_memory::presets::{PRESETS, by_id};
use megatron_memory::value::Value;

fn read(text: &str) -> job_json::Document {
    job_json::read(&json::parse(text).unwrap()).unwrap()
}

#[test]
fn a_file_has_one_setting_a_line() {
    let link = "#v1;m=llama3-8b@1;tp=2;rcmod=core_attn,mlp;mod=language:0,vision:8;vision.tp=1;vision.L=2;tab=table;stage=1.3;vs;m=null;L=2";
    let state = decode(link).0;
    let file = json_file::write(&state, None);
    let expected = r#"{
  "schema": "megatron-memory/1",
  "preset": "llama3-8b@1",
  "settings": {
    "tensor_model_parallel_size": 2,
    "recompute_modules": ["core_attn","mlp"]
  },
  "modules": [
    {
      "name": "language",
      "rank_offset": 0
    },
    {
      "name": "vision",
      "rank_offset": 8,
      "num_layers": 2,
      "tensor_model_parallel_size": 1
    }
  ],
  "compare": {
    "settings": {
      "num_layers": 2
    }
  },
  "view": {
    "tab": "table",
    "stage": {
      "module": 1,
      "pp_rank": 3
    }
  },
  "made_by": "VERSION"
}
"#;
    // The modules do not fit together.
    let (start, _) = file.split_once(",\n  \"cannot_run\": ").unwrap();
    let file = format!("{start}\n}}\n");
    assert_eq!(file, expected.replace("VERSION", &made_by()));
    assert_eq!(read(&file).state.normalize(), state);
}

#[test]
fn several_pinned_jobs_come_back_in_their_order() {
    let state = decode("#v1;m=llama3-8b@1;vs;tp=2;vs;m=qwen3-8b@1;vs;m=null;L=2").0;
    assert_eq!(state.pinned.len(), 3);
    let file = json_file::write(&state, None);
    let document = read(&file);
    assert_eq!(document.state.normalize(), state);
    let unused = document.report.iter().filter(|row| row.status == KeyStatus::Unknown);
    assert_eq!(unused.count(), 0);
    // What is not a list of jobs pins none, and a preset that does not exist costs only its own job.
    let damaged = file.replace("qwen3-8b@1", "no-such-model@1");
    assert_eq!(read(&damaged).state.pinned.len(), 2);
    let other = r#"{"schema": "megatron-memory/1", "also_compare": 3}"#;
    assert_eq!(read(other).state.pinned, Vec::new());
}

#[test]
fn every_preset_comes_back_with_its_result_beside_it() {
    for preset in PRESETS {
        let mut state = ShareState {
            setup: Setup::of_preset(preset),
            ..ShareState::default()
        };
        let config = check(&state.setup.job).config.unwrap();
        let result = estimate(&config);
        let file = json_file::write(&state, Some((&config, &result)));
        assert_eq!(read(&file).state.normalize(), state, "{}", preset.id);
        // Without the preset's name every setting is written out.
        state.setup.preset = None;
        let file = json_file::write(&state, None);
        assert_eq!(read(&file).state.normalize(), state.normalize(), "{}", preset.id);
        assert!(read(&file).report.iter().all(|row| row.status != KeyStatus::Unknown));
    }
}

#[test]
fn the_result_is_whole_bytes_by_stage_and_bucket() {
    let state = ShareState {
        setup: Setup::of_preset(by_id("llama3-70b").unwrap()),
        ..ShareState::default()
    };
    let config = check(&state.setup.job).config.unwrap();
    let result = estimate(&config);
    let file = json_file::write(&state, Some((&config, &result)));
    let tree: Value = serde_json::from_str(&file).unwrap();
    let written = tree.get("result").unwrap();
    let Some(Value::List(modules)) = written.get("modules") else {
        panic!("{written}")
    };
    let Some(Value::List(stages)) = modules[0].get("stages") else {
        panic!("{written}")
    };
    assert_eq!(stages.len(), result.modules[0].stages.len());
    for (written, stage) in stages.iter().zip(&result.modules[0].stages) {
        assert_eq!(written.get("bytes"), Some(&Value::Int(stage.total.0.into())));
        for bucket in Bucket::ALL {
            let bytes = written.get("buckets").unwrap().get(bucket.id());
            assert_eq!(bytes, Some(&Value::Int(stage.bytes(bucket).0.into())));
        }
    }
    let worst = written.get("worst").unwrap().get("bytes");
    assert_eq!(worst, Some(&Value::Int(result.worst_stage().unwrap().total.0.into())));
}

#[test]
fn the_flat_form_is_read_too() {
    let document = read("{\n\"num_layers\": 4,\n\"hidden-size\": \"4k\",\n\"wrong\": 1\n}");
    let job = &document.state.setup.job;
    assert_eq!(job.shared.get(FieldId::num_layers), Some(&Value::Int(4)));
    assert_eq!(
        job.shared.get(FieldId::hidden_size),
        Some(&Value::Text("4k".to_owned()))
    );
    assert_eq!(job.unknown, [("wrong".to_owned(), Value::Int(1))]);
    let rows: Vec<_> = document
        .report
        .iter()
        .map(|row| (row.key.as_ref(), row.line, row.status))
        .collect();
    assert_eq!(
        rows,
        [
            ("num_layers", Some(2), KeyStatus::Mapped),
            ("hidden-size", Some(3), KeyStatus::Mapped),
            ("wrong", Some(4), KeyStatus::Unknown),
        ]
    );
}

#[test]
fn what_cannot_be_used_is_reported() {
    let document = read(
        "{\"schema\": \"megatron-memory/1\", \"preset\": \"gpt2@99\", \"other\": 1,\n\"settings\": {\"num_layers\": 2, \"num_layers\": 3}}",
    );
    let statuses: Vec<_> = document
        .report
        .iter()
        .map(|row| (row.key.as_ref(), row.status))
        .collect();
    assert_eq!(
        statuses,
        [
            ("schema", KeyStatus::Ignored),
            ("preset", KeyStatus::Conflicting),
            ("other", KeyStatus::Unknown),
            ("settings.num_layers", KeyStatus::Mapped),
            ("settings.num_layers", KeyStatus::Conflicting),
        ]
    );
    let layers = document.state.setup.job.shared.get(FieldId::num_layers);
    assert_eq!(layers, Some(&Value::Int(3)));
}

#[test]
fn other_json_is_refused() {
    for (text, message) in [
        ("{}", "this JSON has no settings of a job"),
        ("[1]", "this JSON has no settings of a job"),
        ("{\"schema\": 3}", "this JSON has no settings of a job"),
        (
            "{\"schema\": \"megatron-memory/2\"}",
            "this file was made by a newer version of the calculator (megatron-memory/2)",
        ),
    ] {
        let error = job_json::read(&json::parse(text).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}
