//! Times of single kernels, which step times start from, and what sparse attention computes.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::job::Config;
use megatron_memory::evidence::{MeasuredOperations, MeasuredProducts, OperationKind};
use megatron_memory::memory::estimate;
use megatron_memory::presets::by_id;
use megatron_memory::time::hardware::{TENSORWISE, shipped_products};
use megatron_memory::time::{Part, step_time};
use megatron_memory::value::Value;

fn measured() -> MeasuredOperations {
    MeasuredOperations::read(include_str!("../../../src/evidence/step_times/operations.json")).unwrap()
}

#[test]
fn kernels_of_every_kind_were_measured_and_none_is_much_faster_than_the_data_sheet() {
    for kind in OperationKind::all() {
        let of_kind = measured().over_nominal(kind).unwrap();
        let [low, median, high] = of_kind.quantiles;
        // The cache holds a part of what small kernels read.
        assert!(0.8 < low && low <= median && median <= high, "{kind:?}: {of_kind:?}");
        assert!(median < 3.0, "{kind:?}: {of_kind:?}");
    }
    assert!(MeasuredOperations::read("{}").is_err());
}

#[test]
fn fp8_products_with_one_scale_reach_what_was_measured() {
    let share = measured().quantized_share().unwrap();
    assert!((share - TENSORWISE).abs() < 0.005, "{share}");
}

/// What is shipped is what a fit to the measured tables gives, in the digits that it has.
#[test]
fn products_reach_what_was_measured() {
    let text = include_str!("../../../src/evidence/step_times/products.json");
    let fitted = MeasuredProducts::read(text).unwrap().fitted();
    let shipped: Vec<_> = fitted.iter().map(|of| of.shipped.clone()).collect();
    assert_eq!(shipped, shipped_products().collect::<Vec<_>>());
    for of in fitted {
        let speed = of.shipped.speed;
        assert!((of.fit.reached - speed.reached).abs() < 0.0006, "{of:?}");
        assert!((of.fit.start - speed.start).abs() < 0.06e-6, "{of:?}");
        assert!(of.releases > 3 && of.fit.error < 0.15, "{of:?}");
        assert!(
            of.reached[0] <= of.fit.reached && of.fit.reached <= of.reached[1],
            "{of:?}"
        );
        assert!(of.start[0] <= of.fit.start && of.fit.start <= of.start[1], "{of:?}");
    }
    assert!(MeasuredProducts::read("{}").is_err());
}

fn sparse(changes: &[(FieldId, Value)]) -> Config {
    let mut job = by_id("deepseek-v3.2").unwrap().contents().unwrap().raw_job();
    for (field, value) in changes {
        job.put(0, *field, value.clone());
    }
    let checked = check(&job);
    checked.config.unwrap_or_else(|| panic!("{:?}", checked.problems))
}

/// Attention by fused kernels takes a time that grows with the number of picked tokens, and that of PyTorch's operations,
/// which compute all pairs, does not.
#[test]
fn sparse_attention_takes_longer_with_more_tokens_that_are_picked() {
    let attention = |backend: &str, topk: u64| {
        let config = sparse(&[
            (FieldId::gpu, Value::Text("b200".into())),
            (FieldId::dsa_kernel_backend, Value::Text(backend.into())),
            (FieldId::dsa_indexer_topk, Value::Int(topk.into())),
        ]);
        let time = step_time(&config, &estimate(&config)).unwrap();
        time.part(Part::Attention)
    };
    let [few, many] = [512, 2048].map(|topk| attention("tilelang", topk));
    assert!(few > 0.0 && many > 1.5 * few, "{few}, {many}");
    let [few, all] = [512, 2048].map(|topk| attention("none", topk));
    assert!((all / few - 1.0).abs() < 1e-9 && all > many, "{few}, {all}, {many}");
}
