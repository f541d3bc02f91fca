//! What holds for every job.

use megatron_memory::memory::allowance::band;
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::line::{Line, stage_lines};
use megatron_memory::memory::{StageRef, estimate, timeline};
use megatron_memory::units::Bytes;
use proptest::prelude::*;
use serde_json::json;

use super::jobs::{any_job, config, with};

fn adds_up(line: &Line) {
    if !line.children.is_empty() {
        let sum: Bytes = line.children.iter().map(|child| child.bytes).sum();
        assert_eq!(sum, line.bytes, "{}", line.id);
        line.children.iter().for_each(adds_up);
    }
}

fn savers() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        Just(json!({})),
        Just(
            json!({"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1})
        ),
        Just(
            json!({"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 3})
        ),
        Just(
            json!({"recompute_granularity": "full", "recompute_method": "block", "recompute_num_layers": 1})
        ),
        Just(json!({"recompute_granularity": "selective", "recompute_modules": ["core_attn"]})),
        Just(
            json!({"recompute_granularity": "selective", "recompute_modules": ["core_attn", "layernorm", "mlp"]})
        ),
        Just(
            json!({"recompute_granularity": "selective", "recompute_modules": ["moe", "shared_experts", "layernorm"]})
        ),
        Just(
            json!({"fine_grained_activation_offloading": true, "offload_modules": ["core_attn", "attn_proj"]})
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn lines_add_up_to_buckets_and_buckets_to_the_peak(job in any_job(), savers in savers()) {
        let config = config(&with(&job, &savers));
        let estimate = estimate(&config);
        for (pp_rank, stage) in estimate.modules[0].stages.iter().enumerate() {
            let sum: Bytes = Bucket::ALL.iter().map(|bucket| stage.bytes(*bucket)).sum();
            prop_assert_eq!(sum, stage.total);
            prop_assert_eq!(stage.peak, stage.total);
            prop_assert!(stage.steady <= stage.peak);
            let place = StageRef { module: 0, pp_rank };
            let timeline = timeline(&config, place, 20).unwrap();
            for point in &timeline.points {
                prop_assert_eq!(point.memory.iter().copied().sum::<Bytes>(), point.total);
            }
            let most = timeline.points.iter().map(|point| point.total).max().unwrap();
            prop_assert_eq!(most.max(timeline.steady), stage.peak);
            let band = band(&config.modules()[0], stage.peak);
            prop_assert!(stage.peak < band.low && band.low < band.high);
            let lines = stage_lines(&config, &estimate, StageRef { module: 0, pp_rank });
            lines.iter().for_each(adds_up);
            for bucket in Bucket::ALL {
                let line = lines.iter().find(|line| line.id == bucket.id());
                let bytes = line.map_or(Bytes::ZERO, |line| line.bytes);
                prop_assert_eq!(bytes, stage.bytes(bucket), "{} at {}", bucket.id(), stage.moment);
            }
        }
    }
}
