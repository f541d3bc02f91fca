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

fn expected(counts: &Json) -> BTreeMap<String, u64> {
    serde_json::from_value(counts.clone()).unwrap()
}

#[test]
fn every_case_is_exact_on_every_rank() {
    let mut refused = 0;
    let files = oracle::files("params");
    assert!(files.len() > 80, "{} cases", files.len());
    for file in files {
        let case = oracle::json(&file);
        let config: Value = serde_json::from_value(case["config"].clone()).unwrap();
        let checked = check(&RawJob::from_value(&config));
        if case.get("error").is_some() {
            assert!(checked.config.is_none(), "{file} should be refused");
            refused += 1;
            continue;
        }
        let Some(config) = checked.config else {
            panic!("{file}: {:?}", checked.problems)
        };
        let estimate = estimate(&config);
        let module = &estimate.modules[0];
        for rank in case["ranks"].as_array().unwrap() {
            let pp_rank = usize::try_from(rank["pp_rank"].as_u64().unwrap()).unwrap();
            let vp_stage = usize::try_from(rank["vpp"].as_u64().unwrap_or(0)).unwrap();
            let chunk = &module.stages[pp_rank].chunks[vp_stage];
            let place = format!("{file} pp_rank {pp_rank} chunk {vp_stage}");
            assert_eq!(
                counts(&chunk.parameters),
                expected(&rank["counts"]),
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
            expected(&case["global_counts"]),
            "{file}"
        );
        assert_eq!(
            module.parameters.total(),
            case["global_total_parameters"].as_u64().unwrap(),
            "{file}"
        );
    }
    assert_eq!(refused, 2);
}
