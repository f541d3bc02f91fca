//! The parameter inventory against the real model's, rank by rank, component by component.

use std::collections::BTreeMap;

use megatron_memory::config::check;
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::estimate;
use megatron_memory::memory::parameters::Parameters;
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

/// Mixers that the calculator refuses because it does not model them.
const NOT_MODELLED: [&str; 3] = ["syn_hyb_dsa", "syn_hyb_gdn2", "syn_hyb_gdp_h3"];

/// Compares all cases of a folder, of which there must be more than `least`; returns how many are refused.
fn check_folder(folder: &str, least: usize) -> usize {
    let mut refused = 0;
    let files = oracle::files(folder);
    assert!(files.len() > least, "{} cases", files.len());
    for file in files {
        let case = oracle::json(&file);
        let config: Value = serde_json::from_value(case["config"].clone()).unwrap();
        let checked = check(&RawJob::from_value(&config));
        if NOT_MODELLED.iter().any(|name| file.contains(name)) {
            assert!(checked.config.is_none(), "{file} should be refused");
            continue;
        }
        if case.get("error").is_some() {
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
            assert_eq!(
                counts(&chunk.parameters),
                expected(&rank["counts"], latent),
                "{place}"
            );
            assert_eq!(
                chunk.parameters.total(),
                rank["total"].as_u64().unwrap(),
                "{place}"
            );
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
