use megatron_memory::memory::StageRef;
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::report::stage_difference::difference_to_fullest;
use serde_json::json;

use super::Job;

/// Every other stage says how much less it needs than the fullest, and which buckets make the difference; the fullest
/// says nothing of itself.
#[test]
fn a_stage_says_what_makes_it_less_than_the_fullest() {
    let job = Job::small(json!({ "pipeline_model_parallel_size": 4, "global_batch_size": 64 }));
    let scale = Scale::fine(Unit::Gib);
    let worst = job.estimate.worst;
    let fullest = job.estimate.worst_stage().unwrap();
    for (pp_rank, stage) in job.estimate.modules[0].stages.iter().enumerate() {
        let words = difference_to_fullest(&job.config, &job.estimate, StageRef { module: 0, pp_rank }, scale);
        if pp_rank == worst.pp_rank {
            assert_eq!(words, None);
            continue;
        }
        let words = words.unwrap();
        let less = scale.amount(fullest.total.saturating_sub(stage.total));
        let start = format!("{less} less than stage {}: ", worst.pp_rank);
        assert!(words.starts_with(&start), "{words}");
        // The bucket that differs most comes first, with its sign.
        let named = words.strip_prefix(&start).unwrap().split(", ").next().unwrap();
        let most = megatron_memory::memory::bucket::Bucket::ALL
            .into_iter()
            .max_by_key(|bucket| fullest.bytes(*bucket).0.abs_diff(stage.bytes(*bucket).0))
            .unwrap();
        assert!(named.starts_with(most.label()), "{words}");
        let sign = if stage.bytes(most) < fullest.bytes(most) {
            '−'
        } else {
            '+'
        };
        assert!(named.contains(sign), "{words}");
    }
}
