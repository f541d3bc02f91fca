//! The layout search as plain data, and its dialog.

use megatron_memory::config::check;
use megatron_memory::config::raw::RawJob;
use megatron_memory::exchange::search;
use megatron_memory::formats::share_url::decode;
use megatron_memory::memory::estimate;

use megatron_memory::value::Value;

use super::{data, list, text};

const LINK: &str = "#v1;m=llama3-8b@1;gpus=16;tp=2;cp=1;gbs=64";

fn int(of: &Value, key: &str) -> i128 {
    match of.get(key) {
        Some(Value::Int(number)) => *number,
        other => panic!("{key} is {other:?}"),
    }
}

fn job() -> Value {
    Value::Text(LINK.to_owned())
}

#[test]
fn every_layout_is_a_job_with_that_estimate() {
    let found = search(&job(), &Value::Null).unwrap();
    assert_eq!(int(&found, "total"), 25);
    assert_eq!(found.get("next"), Some(&Value::Null));
    let layouts = list(found.get("candidates").unwrap());
    assert_eq!(int(&found, "legal"), layouts.len().try_into().unwrap());
    for layout in layouts {
        let mut job = decode(LINK).0.setup.job;
        let settings = RawJob::from_value(layout.get("settings").unwrap());
        job.shared.overlay(&settings.shared);
        let config = check(&job).config.unwrap();
        let estimate = estimate(&config);
        let peak = int(layout, "peak_bytes");
        assert_eq!(peak, estimate.worst_rank.total.0.into());
        let gpu = config.gpu_memory().unwrap();
        assert_eq!(int(layout, "headroom_bytes"), i128::from(gpu.0) - peak);
        let derived = config.modules()[0].derived();
        assert_eq!(
            int(layout, "data_parallel_size"),
            derived.data_parallel_size.into()
        );
        assert_eq!(
            int(layout, "num_microbatches"),
            derived.num_microbatches.into()
        );
    }
}

#[test]
fn a_search_goes_on_where_it_ended() {
    let whole = search(&job(), &Value::Null).unwrap();
    let mut layouts = Vec::new();
    let mut from = 0;
    loop {
        let part = search(&job(), &data(&format!(r#"{{"from": {from}, "steps": 3}}"#))).unwrap();
        layouts.extend_from_slice(list(part.get("candidates").unwrap()));
        match part.get("next") {
            Some(Value::Int(next)) => from = *next,
            _ => break,
        }
    }
    assert_eq!(layouts, list(whole.get("candidates").unwrap()));
}

#[test]
fn options_are_read_or_named() {
    let options = r#"{"vary": ["context_parallel_size", "recompute_granularity"],
        "at_most": {"context_parallel_size": 2}, "split": "rest_in_last_stage", "keep": "fitting"}"#;
    let found = search(&job(), &data(options)).unwrap();
    let axes = list(found.get("vary").unwrap());
    let names: Vec<&str> = axes
        .iter()
        .map(|axis| text(axis.get("symbol").unwrap()))
        .collect();
    assert_eq!(names, ["CP", "Recompute"]);
    let outside = &list(found.get("out_of_bounds").unwrap())[0];
    assert_eq!(text(outside.get("name").unwrap()), "context_parallel_size");
    for wrong in [
        r#"{"vary": "tp"}"#,
        r#"{"vary": ["hidden_size"]}"#,
        r#"{"at_most": {"tensor_model_parallel_size": -1}}"#,
        r#"{"at_most": 3}"#,
        r#"{"keep": "most"}"#,
        r#"{"split": "oddly"}"#,
        r#"{"steps": "all"}"#,
    ] {
        let failure = search(&job(), &data(wrong)).unwrap_err();
        assert_eq!(failure.name, "TypeError", "{wrong}");
    }
    let several = Value::Text("#v1;m=llava-7b@1".to_owned());
    assert_eq!(
        search(&several, &Value::Null).unwrap_err().name,
        "SearchError"
    );
    let broken = data(r#"{"num_layers": 4, "world_size": 8}"#);
    let failure = search(&broken, &Value::Null).unwrap_err();
    assert_eq!(failure.name, "ConfigError");
    assert!(!list(&failure.problems).is_empty());
}
