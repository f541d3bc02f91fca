//! One verdict in one place: checks, layout searches and changes say the same of a job.

use megatron_memory::config::check;
use megatron_memory::config::not_modelled::NotModelled;
use megatron_memory::config::raw::RawJob;
use megatron_memory::fit::OfferSearch;
use megatron_memory::search::{Axis, Keep, Options, Space, search};
use megatron_memory::verdict::{Headroom, Refusal, Standing, Verdict};
use proptest::prelude::*;

/// The verdict on a job, and its standing where it has one.
fn verdict(job: &RawJob) -> (Verdict, Option<Standing>) {
    let checked = check(job);
    let standing = checked.config.as_ref().map(Standing::of);
    let verdict = standing.map_or(Verdict::Refused(Refusal::ByRules), |standing| standing.verdict);
    let refused = checked.refusals().next().is_some();
    assert_eq!(
        matches!(verdict, Verdict::Refused(_)),
        refused,
        "{:?}",
        checked.problems
    );
    (verdict, standing)
}

fn any_job() -> impl Strategy<Value = RawJob> {
    let size = || proptest::sample::select(vec![1_u64, 2, 4]);
    let sizes = (size(), size(), size(), proptest::sample::select(vec![1_u64, 2, 3]));
    let rest = (
        proptest::sample::select(vec![8_u64, 12, 24, 64]),
        proptest::sample::select(vec![None, Some(3_000_u64), Some(6_000), Some(12_000), Some(80_000)]),
        any::<bool>(),
    );
    (sizes, rest).prop_map(|((tp, pp, cp, vpp), (batch, gpu, marked))| {
        let mut job = serde_json::json!({
            "num_layers": 12, "hidden_size": 2048, "num_attention_heads": 16, "vocab_size": 32000,
            "seq_length": 2048, "max_position_embeddings": 2048, "world_size": 16, "micro_batch_size": 1,
            "bf16": true, "use_distributed_optimizer": true, "global_batch_size": batch,
            "tensor_model_parallel_size": tp, "pipeline_model_parallel_size": pp, "context_parallel_size": cp,
        });
        let mut set = |key: &str, value: serde_json::Value| job[key] = value;
        if vpp > 1 {
            set(
                "num_layers_per_virtual_pipeline_stage",
                (12 / pp.max(1) / vpp).max(1).into(),
            );
        }
        if let Some(mib) = gpu {
            set("gpu_memory_mib", mib.into());
        }
        let mut job = RawJob::from_value(&serde_json::from_value(job).unwrap());
        if marked {
            job.not_modelled.push(NotModelled::of_key("perform_rl_step"));
        }
        job
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// What a search says of a layout is what a check says of it.
    #[test]
    fn searches_say_what_checks_say(job in any_job()) {
        let (verdict_of_job, standing) = verdict(&job);
        if let (Ok(moves), Some(standing)) = (OfferSearch::new(&job), standing) {
            prop_assert_eq!(moves.now(), standing);
        }
        if let Some(standing) = standing {
            let expected = match standing.verdict {
                Verdict::Fits => matches!(standing.headroom(), Some(Headroom::Free { .. })),
                Verdict::Tight => matches!(standing.headroom(), Some(Headroom::Uncertain { .. })),
                Verdict::DoesNotFit => matches!(standing.headroom(), Some(Headroom::Missing { .. })),
                Verdict::Unknown | Verdict::NotThisJob | Verdict::Refused(_) => standing.headroom().is_none(),
            };
            prop_assert!(expected, "{:?}", standing);
        }
        let options = Options { vary: vec![Axis::Tensor, Axis::Pipeline], ..Options::default() };
        let Ok(space) = Space::new(&job, &options) else { return Ok(()) };
        match space.own_candidate() {
            Some(own) => prop_assert_eq!(space.verdict(&own), verdict_of_job),
            None => prop_assert!(matches!(verdict_of_job, Verdict::Refused(_)), "{:?}", verdict_of_job),
        }
        for layout in search(&space, 0..space.total(), u32::MAX, Keep::Legal).candidates {
            let mut other = job.clone();
            for (field, value) in space.settings(layout.index) {
                other.shared.set(field, value);
            }
            prop_assert_eq!(space.verdict(&layout), verdict(&other).0);
        }
    }
}
