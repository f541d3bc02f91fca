use megatron_memory::config::check;
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::StageRef;
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::report::savings::{Kind, rows};
use megatron_memory::search::savings;
use megatron_memory::value::Value;
use serde_json::json;

#[test]
fn the_ledger_lists_what_saves_most_first_and_what_is_refused_last() {
    let settings = json!({
        "num_layers": 8, "hidden_size": 512, "num_attention_heads": 8, "seq_length": 2048, "padded_vocab_size": 1024,
        "bf16": true, "attention_backend": "unfused", "tensor_model_parallel_size": 2, "world_size": 2,
        "fine_grained_activation_offloading": true, "offload_modules": ["core_attn"],
        "transformer_impl": "transformer_engine",
    });
    let value: Value = serde_json::from_value(settings).unwrap();
    let checked = check(&RawJob::from_value(&value));
    assert!(checked.config.is_some(), "{:?}", checked.problems);
    let stage = StageRef { module: 0, pp_rank: 0 };
    let found = savings(&RawJob::from_value(&value), stage);
    let rows = rows(&found, Scale::fine(Unit::Gib));
    assert_eq!(rows.len(), found.len());
    assert!(rows.is_sorted_by_key(|row| row.kind));
    assert_eq!(rows.iter().filter(|row| row.current).count(), 1);
    let full = rows.iter().find(|row| row.name == "full, every layer").unwrap();
    let nothing = rows.iter().find(|row| row.name == "nothing").unwrap();
    assert_eq!((full.kind, nothing.kind), (Kind::Less, Kind::More));
    assert!(nothing.saves.starts_with('+'), "{}", nothing.saves);
    assert_eq!(nothing.again, "0.0 %");
    assert_ne!(full.again, "0.0 %");
}

#[test]
fn what_the_fullest_gpu_has_no_room_for_comes_after_what_fits() {
    let job = |mib: u64| {
        let value: Value = serde_json::from_value(json!({
            "num_layers": 8, "hidden_size": 512, "num_attention_heads": 8, "seq_length": 2048, "padded_vocab_size": 1024,
            "bf16": true, "attention_backend": "unfused", "world_size": 1, "gpu_memory_mib": mib,
        }))
        .unwrap();
        rows(
            &savings(&RawJob::from_value(&value), StageRef { module: 0, pp_rank: 0 }),
            Scale::fine(Unit::Gib),
        )
    };
    assert!(job(80 * 1024).iter().all(|row| !row.too_large));
    let none = job(64);
    assert!(none.iter().any(|row| row.kind == Kind::Less));
    let refused = |kind| kind == Kind::Refused;
    for row in none {
        assert_eq!(row.too_large, !refused(row.kind), "{}", row.name);
        assert_eq!(row.fullest.ends_with(", does not fit"), row.too_large);
    }
    let some = job(2 * 1024);
    assert!(some.iter().any(|row| row.too_large) && some.iter().any(|row| !row.too_large));
    let kept = some.iter().filter(|row| !refused(row.kind));
    assert!(kept.is_sorted_by_key(|row| row.too_large));
}

#[test]
fn a_choice_says_how_much_longer_a_step_gets_than_in_the_job_as_it_is() {
    let on = |gpu: &str| {
        let value: Value = serde_json::from_value(json!({
            "num_layers": 8, "hidden_size": 2048, "num_attention_heads": 16, "seq_length": 4096, "padded_vocab_size": 32000,
            "bf16": true, "world_size": 1, "gpu": gpu, "transformer_impl": "transformer_engine",
        }))
        .unwrap();
        let found = savings(&RawJob::from_value(&value), StageRef { module: 0, pp_rank: 0 });
        rows(&found, Scale::fine(Unit::Gib))
    };
    let timed = on("h100-80gb");
    let step = |name: &str| timed.iter().find(|row| row.name == name).unwrap().step.as_str();
    assert_eq!(step("nothing"), "the same");
    let longer: u64 = step("full, every layer")
        .trim_start_matches('+')
        .trim_end_matches(" %")
        .parse()
        .unwrap();
    // All that the layers compute comes from a forward pass again, at most a third more: the output layer's does not.
    assert!((10..=34).contains(&longer), "{longer}");
    assert!(on("").iter().all(|row| row.step.is_empty()));
}
