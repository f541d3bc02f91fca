//! How optimizers share states, where that differs from dividing by one number.

use megatron_memory::config::job::Config;
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::peak::PassName;
use megatron_memory::memory::{StageRef, estimate, timeline};
use megatron_memory::parallel::groups::process_groups::ProcessGroup;
use serde_json::json;

use super::jobs::{config, with};

/// A mixture of experts on 16 GPUs: TP 2, DP 8, EP 4, so that EDP is 4.
fn experts() -> serde_json::Value {
    json!({
        "num_layers": 2, "hidden_size": 512, "num_attention_heads": 8, "seq_length": 1024, "padded_vocab_size": 1024,
        "max_position_embeddings": 1024, "num_experts": 8, "moe_ffn_hidden_size": 512, "moe_grouped_gemm": true,
        "add_bias_linear": false, "swiglu": true, "world_size": 16, "tensor_model_parallel_size": 2,
        "sequence_parallel": true, "expert_model_parallel_size": 4, "expert_tensor_parallel_size": 1, "bf16": true,
        "position_embedding_type": "rope", "expandable_segments": true,
    })
}

fn bytes(config: &Config, bucket: Bucket) -> u64 {
    estimate(config).worst_stage().unwrap().bytes(bucket).0
}

/// `LayerWiseDistributedOptimizer` deals whole matrices out over `dp_cp`, and those of experts over `expt_dp`.
#[test]
fn distributed_muon_shares_experts_over_their_own_ranks() {
    let config = config(&with(&experts(), &json!({ "optimizer": "dist_muon" })));
    // Two layers of two experts, each with (512, 1024) and (512, 512).
    let elements = 2 * 2 * (512 * 1024 + 512 * 512);
    assert_eq!(bytes(&config, Bucket::WeightsExpert), elements * 2);
    assert_eq!(bytes(&config, Bucket::ExpAvgExpert), elements * 4 / 4);
}

/// `_copy_model_grads_to_main_grads` makes fp32 gradients for the main parameters, moments or not.
#[test]
fn gradients_are_copied_without_moments_too() {
    let transients = |momentum: f64| {
        let sgd = json!({ "optimizer": "sgd", "sgd_momentum": momentum, "grad_reduce_in_bf16": true, "micro_batch_size": 1,
            "seq_length": 64, "vocab_size": 1024 });
        bytes(&config(&with(&experts(), &sgd)), Bucket::Transients)
    };
    assert_eq!(transients(0.0), transients(0.9));
}

/// With two instances of the distributed optimizer, the shard of a rank's states is half as wide, and so is its group.
#[test]
fn instances_of_the_distributed_optimizer_show_in_the_groups() {
    let job = with(
        &experts(),
        &json!({ "use_distributed_optimizer": true, "num_distributed_optimizer_instances": 2 }),
    );
    let config = config(&job);
    let module = &config.modules()[0];
    let shards = |kind| module.rank_grids().unwrap().process_groups(kind).group_size();
    assert_eq!(shards(ProcessGroup::IntraDpCp), module.dense_shard());
    assert_eq!(shards(ProcessGroup::IntraExptDp), module.expert_shard());
    assert_eq!((module.dense_shard(), module.expert_shard()), (4, 2));
}

/// The optimizer's states are on the host while passes run, and there for its step and until the next iteration.
#[test]
fn offloaded_states_are_not_beside_the_passes() {
    let of_optimizer = [
        Bucket::MainParamsDense,
        Bucket::MainParamsExpert,
        Bucket::ExpAvgDense,
        Bucket::ExpAvgExpert,
        Bucket::ExpAvgSqDense,
        Bucket::ExpAvgSqExpert,
    ];
    let sharded = with(&experts(), &json!({ "use_distributed_optimizer": true }));
    let on = json!({ "offload_optimizer_states": true });
    for (micro_batch_size, in_passes) in [(1, false), (64, true)] {
        let job = with(
            &sharded,
            &json!({ "micro_batch_size": micro_batch_size, "seq_length": 16 * micro_batch_size }),
        );
        let (plain, offloaded) = (config(&job), config(&with(&job, &on)));
        let states = |config: &Config| -> u64 { of_optimizer.iter().map(|bucket| bytes(config, *bucket)).sum() };
        let stage = |config: &Config| estimate(config).modules[0].stages[0].clone();
        let (before, after) = (stage(&plain), stage(&offloaded));
        assert_eq!(before.steady, after.steady);
        if in_passes {
            assert_eq!(before.total.0 - after.total.0, states(&plain));
            assert_eq!(states(&offloaded), 0);
        } else {
            // The step is the heaviest moment now.
            assert_eq!(after.moment.pass, PassName::OptimizerStep);
            assert_eq!(states(&offloaded), states(&plain));
        }
        let first = timeline(&offloaded, StageRef { module: 0, pp_rank: 0 }, 8).unwrap();
        let in_step: u64 = first.optimizer_step.iter().map(|bytes| bytes.0).sum();
        let heaviest = first.points.iter().map(|point| point.total.0).max();
        assert_eq!(heaviest.max(Some(in_step)), Some(after.total.0));
    }
}
