//! Reports of checked jobs, and the reasons why they differ from the estimate.

use megatron_memory::framework_reports::differences::{Difference, Effect, Framework, differences};
use megatron_memory::framework_reports::job::{megatron_bridge_input, megatron_lm_arguments, moe_layer_freq, reports};
use megatron_memory::framework_reports::python::PyValue;
use megatron_memory::framework_reports::{megatron_bridge, megatron_lm};
use serde_json::{Value as Json, json};

use crate::oracle;
use crate::report::Job;

/// A case of the ground truth as the records of the reports run it.
fn case(name: &str, changes: Json) -> Job {
    let mut all = json!({
        "use_distributed_optimizer": true, "micro_batch_size": 1,
        "sequence_parallel": true, "recompute_granularity": "selective",
    });
    all.as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    Job::case(name, all)
}

fn records(file: &str) -> Vec<(String, Json)> {
    let records = oracle::json(&format!("reference/{file}.json"))["records"].clone();
    let records = records.as_array().unwrap().iter();
    let named = records.filter_map(|r| {
        let case = r["id"].as_str().unwrap().strip_suffix("/do_none")?.to_owned();
        let file = oracle::folder().join(format!("params/{case}.json"));
        let legal = file.exists() && oracle::json(&format!("params/{case}.json")).get("error").is_none();
        legal.then(|| (case, r.clone()))
    });
    named.collect()
}

#[test]
fn megatron_lm_gets_the_arguments_of_its_own_records() {
    let records = records("megatron_lm_theoretical_memory");
    assert!(records.len() >= 50, "{}", records.len());
    for (name, record) in records {
        let job = case(&name, json!({}));
        let module = &job.config.modules()[0];
        let freq = moe_layer_freq(module);
        let report = megatron_lm::report(&megatron_lm_arguments(module, &freq), PyValue::None);
        let report = super::megatron_lm_record(&report);
        for field in [
            "weight_and_optimizer_bytes",
            "activation_bytes",
            "activation_bytes_without_sp",
        ] {
            assert_eq!(report[field], record[field], "{name} {field}");
        }
    }
}

#[test]
fn megatron_bridge_gets_the_input_of_its_own_records() {
    let records = records("megatron_bridge_estimate");
    assert!(records.len() >= 50, "{}", records.len());
    for (name, record) in records {
        let job = case(&name, json!({}));
        let module = &job.config.modules()[0];
        let freq = moe_layer_freq(module);
        let report = megatron_bridge::report(&megatron_bridge_input(module, &freq));
        let report = super::megatron_bridge_record(&report);
        for field in ["components", "total_parameters", "weight_and_optimizer_bytes"] {
            assert_eq!(report[field], record[field], "{name} {field}");
        }
    }
}

fn found(job: &Job) -> Vec<Difference> {
    differences(&job.config.modules()[0], &job.estimate.modules[0])
}

/// How much more (or less) a report has than the fullest stage, without activations.
fn gap(job: &Job, framework: Framework) -> f64 {
    let reports = reports(&job.config.modules()[0]);
    let bytes = match framework {
        Framework::MegatronLm => reports.megatron_lm.weight_and_optimizer_bytes.unwrap(),
        Framework::MegatronBridge => reports.megatron_bridge.estimate.unwrap().weight_and_optimizer_bytes,
    };
    let stages = job.estimate.modules[0].stages.iter();
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let total = stages.map(|stage| stage.states().0).max().unwrap() as f64;
    bytes - total
}

/// What the reasons together explain.
fn explained(job: &Job, framework: Framework) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let signed = |effect: Effect| match effect {
        Effect::Less(bytes) => -(bytes.0 as f64),
        Effect::More(bytes) => bytes.0 as f64,
        Effect::Unsaid => 0.0,
    };
    let found = found(job);
    let ours = found.iter().filter(|d| d.frameworks.contains(&framework));
    ours.map(|d| signed(d.effect)).sum()
}

/// Where the reasons do not touch the placement of layers, they explain every byte of the gap but for
/// the last byte of a shard.
#[test]
fn reasons_explain_the_whole_gap() {
    use Framework::{MegatronBridge, MegatronLm};
    for (name, changes, framework) in [
        ("syn_dense_base", json!({}), MegatronLm),
        ("syn_dense_base", json!({}), MegatronBridge),
        ("syn_dense_cp4", json!({}), MegatronLm),
        ("syn_dense_cp4", json!({}), MegatronBridge),
        ("syn_dense_bias", json!({}), MegatronLm),
        ("syn_dense_bias_tp4", json!({}), MegatronLm),
        ("syn_dense_geglu", json!({}), MegatronLm),
        ("syn_dense_geglu", json!({}), MegatronBridge),
        ("gemma_7b_tp2", json!({}), MegatronLm),
        ("syn_dense_layernorm", json!({}), MegatronBridge),
        ("qwen3_30b_a3b_tp1_ep8", json!({}), MegatronBridge),
        ("qwen3_30b_a3b_tp1_ep8", json!({}), MegatronLm),
        ("gpt_oss_20b_tp1_ep8", json!({}), MegatronLm),
        ("syn_dense_base", json!({"grad_reduce_in_bf16": true}), MegatronLm),
        (
            "syn_dense_base",
            json!({"optimizer": "sgd", "use_distributed_optimizer": false}),
            MegatronLm,
        ),
        ("syn_dense_base", json!({"bf16": false}), MegatronLm),
    ] {
        let job = case(name, changes.clone());
        let (gap, explained) = (gap(&job, framework), explained(&job, framework));
        assert!(
            (gap - explained).abs() < 200.0,
            "{name} {changes} {framework:?}: {gap} but {explained}"
        );
    }
}

#[test]
fn only_reasons_that_apply_are_given() {
    let ids = |job: &Job| -> Vec<&str> { found(job).iter().map(|d| d.id).collect() };
    let plain = json!({"normalization": "LayerNorm", "tensor_model_parallel_size": 1, "sequence_parallel": false, "recompute_granularity": null});
    assert_eq!(ids(&case("syn_dense_gelu", plain)), ["formula_of_megatron_bridge"]);
    let experts = ids(&case("mixtral_8x7b_tp2_ep4_etp2", json!({})));
    let expected = [
        "router",
        "norms",
        "formula_of_megatron_lm",
        "formula_of_megatron_bridge",
    ];
    assert_eq!(experts, expected);
    let uneven = ids(&case("dsv3_tp8_pp16_ep8_etp1_last1", json!({})));
    for id in ["average_stage", "unread_split", "ends_added_up", "latent_attention"] {
        assert!(uneven.contains(&id), "{id} in {uneven:?}");
    }
}

#[test]
fn deepseek_v3_is_explained_in_words() {
    let job = case("dsv3_tp2_pp16_ep64_etp1_layout", json!({}));
    let mut text = String::new();
    for d in found(&job) {
        let names: Vec<_> = d.frameworks.iter().map(|f| f.name()).collect();
        text += &[d.id, &names.join(" and "), &d.text, &format!("{:?}", d.effect)].join("\n  ");
        text.push('\n');
    }
    crate::report::snapshot("differences_deepseek_v3", &text);
}
