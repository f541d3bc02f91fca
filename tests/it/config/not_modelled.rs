//! Keys that change memory and are not modelled mark their job, wherever it goes.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::not_modelled::{Feature, NotModelled, UNKNOWN};
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::share_url::{decode, encode};
use megatron_memory::formats::state::{Setup, ShareState};
use megatron_memory::formats::{job_json, json};
use megatron_memory::memory::estimate;
use megatron_memory::presets::by_id;
use megatron_memory::report::summary::{Standing, Verdict};
use megatron_memory::report::verdict;
use megatron_memory::value::Value;

/// Settings of a job that mark it, as JSON, and the keys of the marks.
const MARKED: &[(&str, &[&str])] = &[
    (r#"{"megatron_fsdp_version": 2}"#, &["megatron_fsdp_version"]),
    (r#"{"perform-rl-step": "True"}"#, &["perform-rl-step"]),
    (r#"{"perform_rl_step": 1}"#, &["perform_rl_step"]),
    (r#"{"lora_rank": 16}"#, &["lora_rank"]),
    (r#"{"tuner_type": "lora"}"#, &["tuner_type"]),
    (
        r#"{"tensor_parallel_num_weight_shards": 8}"#,
        &["tensor_parallel_num_weight_shards"],
    ),
    (r#"{"gtp_weight_remat_size": 2}"#, &["gtp_weight_remat_size"]),
    (r#"{"perform_rl_step": true}"#, &["perform_rl_step"]),
    (r#"{"use_checkpoint_args": true}"#, &["use_checkpoint_args"]),
    (r#"{"extends": ["qwen2.5_base.yaml"]}"#, &["extends"]),
    (
        r#"{"perform_rl_step": true, "actor.model.lora_rank": 8}"#,
        &["actor.model.lora_rank", "perform_rl_step"],
    ),
    (
        r#"{"not_modelled": ["perform_rl_step", {"key": "our,own:kernel", "reason": "it keeps 50 % more"}]}"#,
        &["our,own:kernel", "perform_rl_step"],
    ),
];

/// Settings that turn these keys off.
const UNMARKED: &[&str] = &[
    r#"{"peft": "lora"}"#,
    r#"{"peft": {"dim": 32}}"#,
    r#"{"use_megatron_fsdp": true, "megatron_fsdp_version": 1}"#,
    r#"{"perform_rl_step": false}"#,
    r#"{"perform_rl_step": 0, "lora_rank": 0, "peft": "none"}"#,
    r#"{"tuner_type": "full", "gtp_weight_remat_size": 1, "yaml_cfg": "None"}"#,
    r#"{"activation_offload_fraction": 1.0, "moe_dispatch_fwd_dtype": "bf16"}"#,
    r#"{"not_modelled": []}"#,
];

/// Llama 3 8B on 8 GPUs with further settings.
fn llama(settings: &str) -> Setup {
    let mut setup = Setup::of_preset(by_id("llama3-8b").unwrap());
    let more = RawJob::from_value(&json::parse(settings).unwrap().to_value());
    setup.job.shared.overlay(&more.shared);
    setup.job.shared.set(FieldId::world_size, Value::Int(8));
    setup.job.unknown = more.unknown;
    setup.job.not_modelled = more.not_modelled;
    setup
}

fn keys(job: &RawJob) -> Vec<&str> {
    job.not_modelled.iter().map(|mark| mark.key.as_str()).collect()
}

/// The verdict on a legal job, and its reason.
fn judged(job: &RawJob) -> (Verdict, String) {
    let checked = check(job);
    let config = checked.config.expect("the job is legal");
    let summary = Standing::new(&config, &estimate(&config));
    (summary.verdict, verdict::reason(&config, summary.device))
}

#[test]
fn keys_that_are_not_modelled_mark_their_job_and_the_marks_survive_links_and_json() {
    for (settings, marks) in MARKED {
        let state = ShareState {
            setup: llama(settings),
            ..ShareState::default()
        };
        let link = decode(&encode(&state));
        assert_eq!(link.1, [], "{settings}");
        let file = job_json::file(&job_json::document(&state));
        let file = job_json::read(&json::parse(&file).unwrap()).unwrap();
        let expected = state.normalize().setup.job.not_modelled;
        for state in [&state.normalize(), &link.0, &file.state] {
            let job = &state.setup.job;
            assert_eq!(keys(job), *marks, "{settings}");
            assert_eq!(job.not_modelled, expected, "{settings}");
            assert!(job.unknown.is_empty(), "{settings}");
            let (verdict, reason) = judged(job);
            assert_eq!(verdict, Verdict::NotThisJob, "{settings}");
            for mark in &job.not_modelled {
                assert!(reason.contains(&mark.to_string()), "{settings}: {reason}");
            }
        }
    }
}

#[test]
fn keys_that_are_off_mark_nothing_and_are_not_unknown() {
    for settings in UNMARKED {
        let job = llama(settings).job;
        assert_eq!(keys(&job), [""; 0], "{settings}");
        assert!(job.unknown.is_empty(), "{settings}");
        assert_ne!(judged(&job).0, Verdict::NotThisJob, "{settings}");
    }
}

#[test]
fn a_mark_can_be_removed_and_the_verdict_is_then_that_of_the_numbers() {
    let plain = judged(&llama("{}").job);
    let mut job = llama(r#"{"perform_rl_step": true, "lora_rank": 8}"#).job;
    job.unmark("perform_rl_step");
    assert_eq!(keys(&job), ["lora_rank"]);
    job.unmark("lora_rank");
    assert_eq!(judged(&job), plain);
}

#[test]
fn a_link_names_marks_by_their_keys_and_reasons_only_where_keys_do_not_say_them() {
    let family = Feature::by_id("family").unwrap();
    for (mark, token) in [
        (NotModelled::of_key("perform_rl_step"), "nm=perform_rl_step"),
        (NotModelled::of_key("ddp.perform_rl_step"), "nm=ddp.perform_rl_step"),
        (
            NotModelled::new("model_type: x", family.reason),
            "nm=model_type%3A%20x:family",
        ),
        (NotModelled::new("kernel", "own code"), "nm=kernel:own%20code"),
        (NotModelled::new("kernel", UNKNOWN), "nm=kernel"),
    ] {
        let mut state = ShareState {
            setup: llama("{}"),
            ..ShareState::default()
        };
        state.setup.job.mark(mark.clone());
        let link = encode(&state);
        assert!(link.ends_with(token), "{link}");
        assert_eq!(decode(&link).0.setup.job.not_modelled, [mark], "{link}");
    }
}

#[test]
fn a_pinned_job_has_marks_of_its_own() {
    let marked = llama(r#"{"perform_rl_step": true}"#);
    for (setup, compare) in [(&marked, &llama("{}")), (&llama("{}"), &marked)] {
        let state = ShareState {
            setup: setup.clone(),
            pinned: vec![compare.clone()],
            ..ShareState::default()
        };
        let (back, notices) = decode(&encode(&state));
        assert_eq!((back, notices), (state.normalize(), vec![]));
    }
}

#[test]
fn every_feature_is_told_from_the_others_and_is_no_field() {
    for (index, feature) in Feature::ALL.iter().enumerate() {
        for other in Feature::ALL.iter().skip(index + 1) {
            assert_ne!(feature.id, other.id);
            assert_ne!(feature.reason, other.reason, "{}", feature.id);
        }
        assert!(feature.id.chars().all(|c| c.is_ascii_alphanumeric()), "{}", feature.id);
        for key in feature.keys {
            let found = Feature::of_key(key).map(|found| found.id);
            assert_eq!(found, Some(feature.id), "{key}");
            assert_eq!(
                FieldId::by_name(key),
                None,
                "{key} is modelled as a field: remove it from the list"
            );
        }
    }
}
