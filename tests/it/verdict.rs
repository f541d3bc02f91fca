//! One verdict in one place: checks, layout searches and changes say the same of a job.

use megatron_memory::config::check;
use megatron_memory::config::raw::RawJob;
use megatron_memory::fit::OfferSearch;
use megatron_memory::memory::estimate;
use megatron_memory::search::{Axis, Keep, Options, Space, search};
use megatron_memory::verdict::{Headroom, ReservedBy, Standing, Verdict};
use proptest::prelude::*;

use crate::ROOT;

/// The verdict on a job, and its standing where it has one.
fn verdict(job: &RawJob) -> (Verdict, Option<Standing>) {
    let checked = check(job);
    let (verdict, standing) = Standing::of_checked(&checked);
    let refused = checked.refusals().next().is_some();
    assert_eq!(
        matches!(verdict, Verdict::Refused(_)),
        refused,
        "{:?}",
        checked.problems
    );
    (verdict, standing)
}

/// Numbers that look random, and are the same in every run.
struct Numbers(u64);

impl Numbers {
    /// One of these.
    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let at = usize::try_from((self.0 >> 33) % values.len() as u64).unwrap();
        values[at]
    }
}

/// A random job with every kind of standing among its settings.
fn random_job(numbers: &mut Numbers) -> serde_json::Value {
    let (pp, vpp) = (numbers.one_of(&[1, 2, 4]), numbers.one_of(&[1, 2, 3]));
    let mut job = serde_json::json!({
        "num_layers": 12, "hidden_size": 2048, "num_attention_heads": numbers.one_of(&[16, 16, 16, 15]),
        "vocab_size": 32000, "seq_length": numbers.one_of(&[2048, 4096]), "world_size": 16, "bf16": true,
        "use_distributed_optimizer": true, "global_batch_size": numbers.one_of(&[8, 12, 24, 64]),
        "tensor_model_parallel_size": numbers.one_of(&[1, 2, 4]), "pipeline_model_parallel_size": pp,
        "context_parallel_size": numbers.one_of(&[1, 2]), "max_position_embeddings": numbers.one_of(&[2048, 4096]),
        "position_embedding_type": "rope",
    });
    let mut set = |key: &str, value: serde_json::Value| job[key] = value;
    if vpp > 1 && pp > 1 {
        set("num_layers_per_virtual_pipeline_stage", (12 / pp / vpp).max(1).into());
    }
    if let Some(mib) = numbers.one_of(&[None, Some(3_000), Some(6_000), Some(7_000), Some(12_000), Some(80_000)]) {
        set("gpu_memory_mib", mib.into());
    }
    if numbers.one_of(&[true, false, false, false, false]) {
        set("perform_rl_step", true.into());
    }
    if numbers.one_of(&[true, false, false]) {
        set("launcher", "megatron_lm".into());
    }
    if numbers.one_of(&[true, true, false]) {
        set("micro_batch_size", 1.into());
    }
    job
}

/// The lines of the table of standings, which the command line, the JavaScript API and the page are held to.
fn table_of_standings() -> String {
    let mut numbers = Numbers(29);
    let line = |_| {
        let job = random_job(&mut numbers);
        let verdict = verdict(&serde_json::from_value(job.clone()).unwrap()).0;
        let refused_by = match verdict {
            Verdict::Refused(refusal) => Some(refusal.id()),
            _ => None,
        };
        serde_json::json!({"job": job, "verdict": verdict.id(), "refused_by": refused_by}).to_string() + "\n"
    };
    (0..120).map(line).collect()
}

#[test]
#[ignore = "writes the table"]
fn write_the_table_of_standings() {
    std::fs::write(format!("{ROOT}/tests/standings.jsonl"), table_of_standings()).unwrap();
}

#[test]
fn the_table_of_standings_is_what_checks_say() {
    let table = include_str!("../standings.jsonl");
    assert_eq!(table, table_of_standings());
    for standing in [
        "fits",
        "tight",
        "does_not_fit",
        "not_this_job",
        "rules",
        "schedule",
        "launcher",
    ] {
        assert!(table.contains(&format!("\"{standing}\"")), "{standing}");
    }
    assert!(table.contains("\"verdict\":null"));
}

fn any_job() -> impl Strategy<Value = RawJob> {
    any::<u64>().prop_map(|seed| {
        let job = random_job(&mut Numbers(seed));
        serde_json::from_value(job).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// What a search says of a layout is what a check says of it, once a replay has settled what the factors leave open.
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
            Some(own) => prop_assert_eq!(space.verdict(&space.settled(own)), verdict_of_job),
            None => prop_assert!(matches!(verdict_of_job, Verdict::Refused(_)), "{:?}", verdict_of_job),
        }
        for layout in search(&space, 0..space.total(), u32::MAX, Keep::Legal).candidates {
            let mut other = job.clone();
            for (field, value) in space.settings(layout.index) {
                other.shared.set(field, value);
            }
            let (verdict, standing) = verdict(&other);
            let settled = space.settled(layout);
            prop_assert_eq!(space.verdict(&settled), verdict);
            if let Some(standing) = standing {
                prop_assert_eq!((settled.least, settled.most), standing.device);
            }
            let leaves_open = space.verdict(&layout) == Verdict::Tight;
            prop_assert!(leaves_open || settled == layout, "{:?}", layout);
        }
    }

    /// A replay settles what the factors leave open, and nothing else.
    #[test]
    fn a_replay_settles_what_the_factors_leave_open(job in any_job()) {
        let Some(config) = check(&job).config else { return Ok(()) };
        let estimate = estimate(&config);
        let (standing, by_factors) = (Standing::new(&config, &estimate), Standing::by_factors(&config, &estimate));
        if by_factors.verdict == Verdict::Tight {
            prop_assert_eq!(standing.reserved_by, ReservedBy::Replay);
            prop_assert_eq!(standing.total, by_factors.total);
            // No stage shows more than the fullest one, which shows what the job does.
            for stage in &estimate.modules[0].stages {
                let device = standing.device_of(&config, 0, stage.total, stage.graphs);
                prop_assert!(device.0 <= standing.device.0 && device.1 <= standing.device.1);
                prop_assert!(stage.total != standing.total || device == standing.device);
            }
        } else {
            prop_assert_eq!(standing, by_factors);
        }
    }
}
