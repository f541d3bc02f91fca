//! The critic of PPO beside the trained model.

use megatron_memory::config::job::Config;
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::estimate;
use megatron_memory::memory::states::StateRules;
use serde_json::{Value as Json, json};

use super::jobs::{config, small_model, with};

/// Bytes of the buffers of every stage.
fn buffers(config: &Config) -> Vec<u64> {
    let module = &estimate(config).modules[0];
    let stages = module.stages.iter();
    stages.map(|stage| stage.bytes(Bucket::Buffers).0).collect()
}

/// Bytes of the states of every stage.
fn states(config: &Config) -> Vec<u64> {
    let rules = StateRules::new(&config.modules()[0]);
    let module = &estimate(config).modules[0];
    let stages = module.stages.iter();
    let of_stage = stages.map(|stage| {
        let held = rules.count(&stage.parameters());
        rules.memory(&held).iter().map(|bytes| bytes.0).sum()
    });
    of_stage.collect()
}

#[test]
fn a_critic_has_the_states_of_a_model_with_one_label() {
    let plain = small_model();
    let experts = json!({"num_experts": 8, "moe_ffn_hidden_size": 512, "moe_grouped_gemm": true,
        "expert_model_parallel_size": 2, "sequence_parallel": true});
    let sharded = json!({"use_distributed_optimizer": true});
    let label = json!({"num_labels": 1, "untie_embeddings_and_output_weights": true});
    let jobs: [Json; 3] = [
        plain.clone(),
        with(&plain, &sharded),
        with(&with(&plain, &sharded), &experts),
    ];
    for job in jobs {
        let beside = config(&with(&job, &json!({"critic": true})));
        let (without, beside) = (buffers(&config(&job)), buffers(&beside));
        let states = states(&config(&with(&job, &label)));
        for ((without, beside), states) in without.iter().zip(beside).zip(states) {
            assert_eq!(beside - without, states, "{job}");
        }
    }
}

#[test]
fn a_critic_of_another_kind_is_marked() {
    let job = json!({
        "num_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "seq_length": 1024, "padded_vocab_size": 1024,
        "bf16": true, "position_embedding_type": "rope", "critic": true,
    });
    let marks = |settings: &Json| config(&with(&job, settings)).not_modelled().len();
    assert_eq!(marks(&json!({})), 0);
    assert_eq!(marks(&json!({"peft_type": "lora"})), 1);
    assert_eq!(marks(&json!({"mtp_num_layers": 1})), 1);
}
