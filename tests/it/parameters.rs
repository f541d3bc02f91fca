//! The parameter inventory against the real model's, rank by rank, component by component.

use std::collections::BTreeMap;

use megatron_memory::config::check;
use megatron_memory::config::choices::TransformerImpl;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::job::{Config, Module};
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::parameters::Parameters;
use megatron_memory::memory::{StageEstimate, estimate};
use megatron_memory::model::tensor::Sharding;
use megatron_memory::value::Value;
use serde_json::Value as Json;

use crate::oracle;

fn counts(parameters: &Parameters) -> BTreeMap<String, u64> {
    parameters
        .components()
        .map(|(component, mtp, n)| (component.id(mtp).to_owned(), n))
        .collect()
}

/// The counts of a case. The standalone norm on compressed queries of sparse attention is listed there among those on
/// queries and keys, here among those of MLA.
fn expected(counts: &Json, latent: bool) -> BTreeMap<String, u64> {
    let mut counts: BTreeMap<String, u64> = serde_json::from_value(counts.clone()).unwrap();
    for prefix in ["", "mtp_"] {
        if latent && let Some(norm) = counts.remove(&format!("{prefix}qk_layernorm")) {
            *counts.entry(format!("{prefix}mla_layernorm")).or_default() += norm;
        }
    }
    counts
}

#[test]
fn every_gpt_model_is_exact_on_every_rank() {
    assert_eq!(check_folder("params", 80), 2);
}

#[test]
fn every_hybrid_model_is_exact_on_every_rank() {
    assert_eq!(check_folder("params_hybrid", 50), 3);
}

#[test]
fn every_variant_is_exact_on_every_rank() {
    assert_eq!(check_folder("params_variants", 20), 5);
}

/// Published models whose layers differ, built by Megatron-LM's and Megatron-Bridge's own modules.
#[test]
fn every_published_architecture_is_exact_on_every_rank() {
    assert_eq!(check_folder("params_models", 4), 0);
}

/// In a chunk without decoder layers Megatron-LM has no last layer to repeat, and builds one with experts.
#[test]
fn an_mtp_layer_without_a_decoder_layer_beside_it_has_experts() {
    let layers = |layout: &str| {
        let mut freq = vec![1; 15];
        freq.push(0);
        let change = serde_json::json!({
            "moe_layer_freq": freq, "mtp_num_layers": 1, "position_embedding_type": "rope",
            "pipeline_model_parallel_layout": layout,
        });
        let job = crate::config::with(crate::config::moe(), change);
        let config: Value = serde_json::from_value(job).unwrap();
        let config = check(&RawJob::from_value(&config)).config.unwrap();
        let parameters = &estimate(&config).modules[0].parameters;
        let counts = counts(parameters);
        ["mtp_dense_mlp", "mtp_routed_experts"].map(|id| counts.contains_key(id))
    };
    assert_eq!(layers("Et*4|t*4|t*4|t*4mL"), [true, false]);
    assert_eq!(layers("Et*6|t*6|t*4|mL"), [false, true]);
}

/// Cases whose layers were put together by hand: no layer spec of Megatron-LM builds them.
const NO_SPEC: &str = "syn_mhc";

/// Compares all cases of a folder, of which there must be more than `least`; returns how many are refused.
fn check_folder(folder: &str, least: usize) -> usize {
    let mut refused = 0;
    let files = oracle::files(folder);
    assert!(files.len() > least, "{} cases", files.len());
    for file in files {
        let case = oracle::json(&file);
        let config: Value = serde_json::from_value(case["config"].clone()).unwrap();
        let checked = check(&RawJob::from_value(&config));
        if case.get("error").is_some_and(|error| !error.is_null()) || file.contains(NO_SPEC) {
            assert!(checked.config.is_none(), "{file} should be refused");
            refused += 1;
            continue;
        }
        let Some(config) = checked.config else {
            panic!("{file}: {:?}", checked.problems)
        };
        let latent = config.modules()[0].args().multi_latent_attention;
        let estimate = estimate(&config);
        let module = &estimate.modules[0];
        for rank in case["ranks"].as_array().unwrap() {
            let pp_rank = usize::try_from(rank["pp_rank"].as_u64().unwrap()).unwrap();
            let vp_stage = usize::try_from(rank["vpp"].as_u64().unwrap_or(0)).unwrap();
            let chunk = &module.stages[pp_rank].chunks[vp_stage];
            let place = format!("{file} pp_rank {pp_rank} chunk {vp_stage}");
            assert_eq!(counts(&chunk.parameters), expected(&rank["counts"], latent), "{place}");
            assert_eq!(chunk.parameters.total(), rank["total"].as_u64().unwrap(), "{place}");
            for (name, holding) in [
                ("tp_sharded", Sharding::TpSharded),
                ("replicated", Sharding::Replicated),
                ("expert", Sharding::Expert),
            ] {
                let expected = rank["by_sharding"][name].as_u64().unwrap_or(0);
                assert_eq!(chunk.parameters.held(holding), expected, "{place} {name}");
            }
            let layers: Vec<u32> = serde_json::from_value(rank["layers"].clone()).unwrap();
            assert_eq!(chunk.layers.clone().collect::<Vec<_>>(), layers, "{place}");
        }
        assert_eq!(
            counts(&module.parameters),
            expected(&case["global_counts"], latent),
            "{file}"
        );
        assert_eq!(
            module.parameters.total(),
            case["global_total_parameters"].as_u64().unwrap(),
            "{file}"
        );
    }
    refused
}

/// A `GPTModel` written as a pattern: attention and an MLP for each of its layers, in the segments of its chunks.
fn as_pattern(m: &Module) -> Option<String> {
    let attention = if m.args().multi_latent_attention { '+' } else { '*' };
    let letters = |layers: usize| format!("{attention}-").repeat(layers);
    let chunks = m.stages().chunks();
    let mut segments: Vec<(u32, u32, String)> = chunks
        .iter()
        .map(|chunk| (chunk.vp_stage, chunk.pp_rank, letters(chunk.layers.len())))
        .collect();
    segments.sort();
    let last = chunks.iter().max_by_key(|chunk| (chunk.vp_stage, chunk.pp_rank))?;
    let mtp: u32 = chunks.iter().map(|chunk| chunk.mtp).sum();
    // A hybrid model has MTP and the final norm on its last chunk, wherever a layout puts them.
    if last.mtp != mtp || !last.final_layernorm {
        return None;
    }
    let segments: Vec<String> = segments.into_iter().map(|(.., text)| text).collect();
    let depths = format!("/{}", letters(1)).repeat(mtp as usize);
    Some(segments.join("|") + &depths)
}

#[test]
fn dense_models_written_as_patterns_have_the_same_states() {
    let mut compared = 0;
    for file in oracle::files("params") {
        let case = oracle::json(&file);
        let config: Value = serde_json::from_value(case["config"].clone()).unwrap();
        let mut job = RawJob::from_value(&config);
        // The revision that builds hybrid models has the norm on queries in `linear_q_proj`.
        job.shared.set(FieldId::mla_q_proj_layernorm, Value::Bool(true));
        let Some(gpt) = check(&job).config else {
            continue;
        };
        let m = &gpt.modules()[0];
        let dense = m.args().num_experts.is_none() && m.args().transformer_impl == TransformerImpl::TransformerEngine;
        let Some(pattern) = as_pattern(m).filter(|_| dense) else {
            continue;
        };
        for field in [
            FieldId::num_layers,
            FieldId::mtp_num_layers,
            FieldId::multi_latent_attention,
            FieldId::virtual_pipeline_model_parallel_size,
            FieldId::num_layers_per_virtual_pipeline_stage,
            FieldId::num_virtual_stages_per_pipeline_rank,
            FieldId::decoder_first_pipeline_num_layers,
            FieldId::decoder_last_pipeline_num_layers,
            FieldId::account_for_embedding_in_pipeline_split,
            FieldId::account_for_loss_in_pipeline_split,
            FieldId::pipeline_model_parallel_layout,
        ] {
            job.shared.unset(field);
        }
        job.shared
            .set(FieldId::hybrid_layer_pattern, Value::Text(pattern.clone()));
        let checked = check(&job);
        let Some(hybrid) = checked.config else {
            panic!("{file} {pattern}: {:?}", checked.problems)
        };
        let states = |config: &Config| -> Vec<Vec<u64>> {
            let stages = estimate(config).modules[0].stages.clone();
            let of = |stage: &StageEstimate| {
                let buckets = Bucket::ALL.into_iter().filter(|b| b.state().is_some());
                buckets.map(|bucket| stage.bytes(bucket).0).collect()
            };
            stages.iter().map(of).collect()
        };
        assert_eq!(states(&hybrid), states(&gpt), "{file} {pattern}");
        compared += 1;
    }
    assert!(compared > 25, "{compared}");
}

/// Trained and frozen parameters of models with the adapters that Megatron-Bridge puts on them, on every rank.
#[test]
fn every_adapter_is_exact_on_every_rank() {
    let files = oracle::files("peft");
    assert!(files.len() >= 15, "{} cases", files.len());
    for file in files {
        let case = oracle::json(&file);
        let mut job = case["config"].clone();
        job["peft"] = case["peft"].clone();
        let job: Value = serde_json::from_value(job).unwrap();
        let checked = check(&RawJob::from_value(&job));
        let Some(config) = checked.config else {
            panic!("{file}: {:?}", checked.problems)
        };
        let m = &config.modules()[0];
        let estimate = estimate(&config);
        for rank in case["ranks"].as_array().unwrap() {
            let pp_rank = usize::try_from(rank["pp_rank"].as_u64().unwrap()).unwrap();
            let parameters = estimate.modules[0].stages[pp_rank].parameters();
            let trained = parameters.trainable(m);
            let counts = [trained, parameters.total() - trained];
            let expected = ["trainable", "frozen"].map(|key| rank[key].as_u64().unwrap());
            assert_eq!(counts, expected, "{file} pp_rank {pp_rank}");
        }
    }
}
