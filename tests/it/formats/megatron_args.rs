//! The table of Megatron-LM's flags.

use megatron_memory::formats::megatron_args::{Arity, Known, arity, default_of, find, flags};
use std::collections::BTreeSet;

#[test]
fn names_are_unique_and_well_formed() {
    let names: BTreeSet<_> = flags().map(|spec| spec.name).collect();
    assert_eq!(names.len(), flags().count());
    for spec in flags() {
        assert!(!spec.name.contains('_') && !spec.dest.contains('-'), "{}", spec.name);
        assert_eq!(find(spec.name), Some(Known::Relevant(spec)));
        assert_eq!(find(&spec.name.replace('-', "_")), Some(Known::Relevant(spec)));
        let expected = match spec.arity {
            Arity::Switch => "False",
            Arity::InvertedSwitch => "True",
            Arity::One | Arity::Many => spec.default.as_ref(),
        };
        assert_eq!(spec.default, expected);
    }
}

#[test]
fn fields_arities_and_defaults_are_those_of_the_parser() {
    for (name, dest, expected, default) in [
        ("num-layers", "num_layers", Arity::One, "None"),
        (
            "tensor-model-parallel-size",
            "tensor_model_parallel_size",
            Arity::One,
            "1",
        ),
        (
            "expert-tensor-parallel-size",
            "expert_tensor_parallel_size",
            Arity::One,
            "None",
        ),
        ("disable-bias-linear", "add_bias_linear", Arity::InvertedSwitch, "True"),
        (
            "untie-embeddings-and-output-weights",
            "untie_embeddings_and_output_weights",
            Arity::Switch,
            "False",
        ),
        ("hidden-dropout", "hidden_dropout", Arity::One, "0.1"),
        ("kv-lora-rank", "kv_lora_rank", Arity::One, "32"),
        ("moe-router-topk", "moe_router_topk", Arity::One, "2"),
        (
            "moe-token-dispatcher-type",
            "moe_token_dispatcher_type",
            Arity::One,
            "allgather",
        ),
        (
            "position-embedding-type",
            "position_embedding_type",
            Arity::One,
            "learned_absolute",
        ),
        ("recompute-modules", "recompute_modules", Arity::Many, "None"),
        ("rampup-batch-size", "rampup_batch_size", Arity::Many, "None"),
        ("cp-comm-type", "cp_comm_type", Arity::Many, "p2p"),
        ("fp8-format", "fp8", Arity::One, "None"),
        (
            "apply-layernorm-1p",
            "layernorm_zero_centered_gamma",
            Arity::Switch,
            "False",
        ),
        ("attention-backend", "attention_backend", Arity::One, "auto"),
        (
            "no-overlap-p2p-communication",
            "overlap_p2p_comm",
            Arity::InvertedSwitch,
            "True",
        ),
        (
            "data-parallel-sharding-strategy",
            "data_parallel_sharding_strategy",
            Arity::One,
            "optim_grads_params",
        ),
        ("no-fp8-wgrad", "fp8_wgrad", Arity::InvertedSwitch, "True"),
        ("disable-fp8-wgrad", "fp8_wgrad", Arity::InvertedSwitch, "True"),
    ] {
        let Some(Known::Relevant(spec)) = find(name) else {
            panic!("{name}");
        };
        assert_eq!(
            (spec.dest.as_ref(), spec.arity, spec.default.as_ref()),
            (dest, expected, default),
            "{name}"
        );
    }
    assert_eq!(default_of("make_vocab_size_divisible_by"), Some("128"));
    assert_eq!(default_of("nonsense"), None);
}

#[test]
fn irrelevant_retired_and_unknown_are_told_apart() {
    assert_eq!(find("lr"), Some(Known::Irrelevant(Arity::One)));
    assert_eq!(find("log-throughput"), Some(Known::Irrelevant(Arity::Switch)));
    assert_eq!(find("data-path"), Some(Known::Irrelevant(Arity::Many)));
    assert_eq!(
        find("use-custom-fsdp"),
        Some(Known::Retired {
            arity: Arity::Switch,
            successor: Some("use-megatron-fsdp")
        })
    );
    assert_eq!(find("nun-layers"), None);
    assert_eq!(arity("nun-layers"), None);
}
