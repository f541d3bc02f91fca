//! Laws that hold for every input.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, RawModule};
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::line::{Line, stage_lines};
use megatron_memory::memory::{StageRef, estimate};
use megatron_memory::model::tensor::Sharding;
use megatron_memory::units::Bytes;
use megatron_memory::value::Value;
use proptest::prelude::*;
use serde_json::json;

use super::{checked, moe, with};

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i128>().prop_map(Value::Int),
        (0..5000_i128).prop_map(Value::Int),
        any::<f64>().prop_map(Value::Float),
        "[-0-9eEk.,_ ]{0,12}".prop_map(Value::Text),
        r"[\[\]()*+01,Etml|]{0,24}".prop_map(Value::Text),
        "\\PC{0,16}".prop_map(Value::Text),
        proptest::sample::select(
            FieldId::ALL
                .iter()
                .flat_map(|id| id.aliases().iter().copied())
                .collect::<Vec<_>>()
        )
        .prop_map(|s| Value::Text(s.to_owned())),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| {
        proptest::collection::vec(inner, 0..4).prop_map(Value::List)
    })
}

fn any_settings() -> impl Strategy<Value = Vec<(FieldId, Value)>> {
    proptest::collection::vec((proptest::sample::select(FieldId::ALL), any_value()), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Checking never panics, and gives a job exactly when nothing is wrong.
    #[test]
    fn any_raw_job_is_checked(shared in any_settings(), modules in proptest::collection::vec(("[a-z]{0,9}", any_value(), any_settings()), 0..3)) {
        let modules = modules.into_iter().map(|(name, offset, settings)| RawModule {
            name, rank_offset: Some(offset), settings: settings.into_iter().collect(),
        });
        let raw = RawJob { shared: shared.into_iter().collect(), modules: modules.collect(), unknown: Vec::new(), not_modelled: Vec::new() };
        let checked = check(&raw);
        prop_assert_eq!(checked.config.is_none(), checked.errors().next().is_some());
    }

    /// A legal job with a few fields replaced never panics, and what it estimates adds up.
    #[test]
    fn what_is_accepted_is_estimated(changes in proptest::collection::vec((proptest::sample::select(FieldId::ALL), any_value()), 0..4)) {
        let value: Value = serde_json::from_value(moe()).unwrap();
        let mut raw = RawJob::from_value(&value);
        for (field, value) in changes {
            raw.shared.set(field, value);
        }
        if let Some(config) = check(&raw).config {
            let estimate = estimate(&config);
            for stage in &estimate.modules[0].stages {
                prop_assert_eq!(stage.memory.iter().copied().sum::<Bytes>(), stage.total);
            }
        }
    }

    /// Every parameter is somewhere, and the parts on all ranks make up the whole model.
    #[test]
    fn shards_over_all_ranks_sum_to_the_whole(tp in 0..3_u32, pp in 0..3_u32, ep in 0..3_u32, etp in 0..2_u32, mtp in 0..2_u64, freq in 1..4_u64, latent in any::<bool>()) {
        let job = with(moe(), json!({
            "tensor_model_parallel_size": 1 << tp, "pipeline_model_parallel_size": 1 << pp, "expert_model_parallel_size": 1 << ep,
            "expert_tensor_parallel_size": 1 << etp, "mtp_num_layers": mtp, "position_embedding_type": "rope", "moe_layer_freq": freq, "world_size": 128,
            "global_batch_size": 128, "untie_embeddings_and_output_weights": true, "sequence_parallel": tp > 0,
            "moe_shared_expert_intermediate_size": 512, "make_vocab_size_divisible_by": 128 >> tp,
            "moe_latent_size": latent.then_some(256),
        }));
        let checked = checked(&job);
        let Some(config) = checked.config else { return Err(TestCaseError::fail(format!("{:?}", checked.problems))) };
        let estimate = estimate(&config);
        let module = &estimate.modules[0];
        let mut whole = [0_u64; 3];
        for stage in &module.stages {
            for (_, _, holding, count) in stage.parameters().iter() {
                let copies = match holding {
                    Sharding::TpSharded => 1 << tp,
                    Sharding::Replicated => 1,
                    Sharding::Expert => 1 << (ep + etp),
                };
                whole[holding as usize] += count.elements * copies;
            }
        }
        // The MTP stage's word embedding is a second tensor beside the first stage's.
        let copy = if mtp > 0 && pp > 0 { module.parameters.components().find(|(c, _, _)| c.id(false) == "embedding").unwrap().2 } else { 0 };
        prop_assert_eq!(whole[0], module.parameters.held(Sharding::TpSharded) + copy);
        prop_assert_eq!(whole[1], module.parameters.held(Sharding::Replicated));
        prop_assert_eq!(whole[2], module.parameters.held(Sharding::Expert));
    }

    /// The lines of a stage add up to its buckets, level by level.
    #[test]
    fn children_sum_to_parents(pp_rank in 0..4_usize, optimizer in proptest::sample::select(vec!["adam", "sgd", "muon", "lion"]), shard in any::<bool>()) {
        let shard = shard && optimizer != "sgd";
        let job = with(moe(), json!({"optimizer": optimizer, "use_distributed_optimizer": shard}));
        let config = checked(&job).config.unwrap();
        let estimate = estimate(&config);
        let stage = &estimate.modules[0].stages[pp_rank];
        let lines = stage_lines(&config, &estimate, StageRef { module: 0, pp_rank });
        for bucket in Bucket::ALL {
            let line = lines.iter().find(|line| line.id == bucket.id());
            prop_assert_eq!(line.map_or(Bytes::ZERO, |line| line.bytes), stage.bytes(bucket));
        }
        for line in &lines {
            adds_up(line)?;
        }
    }
}

fn adds_up(line: &Line) -> Result<(), TestCaseError> {
    if line.children.is_empty() {
        prop_assert!(line.formula.is_some(), "{} has neither parts nor a formula", line.id);
        return Ok(());
    }
    prop_assert_eq!(
        line.children.iter().map(|c| c.bytes).sum::<Bytes>(),
        line.bytes,
        "{}",
        &line.id
    );
    line.children.iter().try_for_each(adds_up)
}

/// 18 bytes a parameter without sharding, 6 + 12 / shard with it: both emerge from the itemised states.
#[test]
fn the_bytes_of_a_parameter_emerge() {
    for (dp, sharded) in [(1, true), (4, true), (4, false)] {
        let job = with(
            moe(),
            json!({
                "num_experts": null, "moe_ffn_hidden_size": null, "expert_model_parallel_size": 1, "expert_tensor_parallel_size": null,
                "world_size": 8 * dp, "global_batch_size": 64, "use_distributed_optimizer": sharded,
            }),
        );
        let config = checked(&job).config.unwrap();
        for stage in &estimate(&config).modules[0].stages {
            let n = stage.parameters().total();
            let states: Bytes = Bucket::ALL
                .into_iter()
                .filter(|b| b.state().is_some())
                .map(|b| stage.bytes(b))
                .sum();
            let expected = if sharded {
                6 * n + 3 * 4 * n.div_ceil(dp)
            } else {
                18 * n
            };
            assert_eq!(states.0, expected, "DP {dp}, sharded {sharded}");
        }
    }
}

/// No product of the largest legal values leaves the range of whole numbers in a way that wraps.
#[test]
fn the_largest_values_do_not_wrap() {
    use megatron_memory::config::field::Kind;
    let mut raw = RawJob::default();
    for id in FieldId::ALL {
        if let Kind::Int { max, .. } = id.field().kind {
            raw.shared.set(*id, Value::Int(max.into()));
        }
    }
    assert!(check(&raw).config.is_none());
    for id in [
        FieldId::num_layers,
        FieldId::hidden_size,
        FieldId::ffn_hidden_size,
        FieldId::vocab_size,
        FieldId::seq_length,
    ] {
        let value: Value = serde_json::from_value(super::dense()).unwrap();
        let mut raw = RawJob::from_value(&value);
        let Kind::Int { max, .. } = id.field().kind else {
            continue;
        };
        raw.shared.set(id, Value::Int(i128::from(max / 2 * 2)));
        raw.shared.set(FieldId::max_position_embeddings, Value::Null);
        raw.shared.set(FieldId::kv_channels, Value::Int(64));
        raw.shared
            .set(FieldId::position_embedding_type, Value::Text(String::from("rope")));
        let checked = check(&raw);
        if let Some(config) = checked.config {
            let total = estimate(&config).modules[0].stages[0].total;
            assert!(total > Bytes(1_000_000), "{id:?}: {total}");
        }
    }
}
