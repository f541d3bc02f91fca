//! Layouts of a job that is trained in full, with adapters, and with Megatron FSDP.

use megatron_memory::config::check;
use megatron_memory::formats::share_url::visit;
use megatron_memory::memory::estimate;
use megatron_memory::memory::methods::{TrainingMethod, method};
use megatron_memory::search::{Axis, Candidate, Keep, Pick, Space, Training, search};
use megatron_memory::verdict::Verdict;

use super::{all, vary};

const LINK: &str = "v1;m=llama3-8b@1;gpus=16;tp=2;pp=1;cp=1";

fn training(space: &Space, candidate: &Candidate) -> Training {
    match space.pick(candidate.index, 0) {
        Some(Pick::Training(training)) => training,
        other => panic!("{other:?}"),
    }
}

/// Each layout needs what its job needs, is trained as it says, and can be applied.
#[test]
fn each_way_to_train_is_what_its_estimate_says() {
    use Axis::{Expert, Pipeline, Recompute, Tensor};
    for (link, axes) in [
        (LINK, [Axis::Training, Pipeline, Tensor]),
        ("v1;m=qwen3-30b-a3b@1;gpus=16", [Axis::Training, Expert, Recompute]),
    ] {
        let job = visit(link).state.setup.job;
        let space = Space::new(&job, &vary(&axes)).unwrap();
        let found = all(&space);
        let ways = space.dimensions().first().unwrap().values.len();
        for digit in 0..ways {
            let mut candidates = found.candidates.iter();
            let of_way = |c: &&Candidate| space.digit(c.index, 0) == digit as u64;
            assert!(candidates.any(|c| of_way(&c)), "{link} {digit}");
        }
        for candidate in found.candidates.iter().step_by(3) {
            let mut applied = job.clone();
            for (field, value) in space.settings(candidate.index) {
                applied.put(0, field, value);
            }
            let sizes = space.sizes(candidate.index);
            let config = check(&applied).config.unwrap_or_else(|| panic!("{sizes}"));
            let estimate = estimate(&config);
            assert_eq!(candidate.peak, estimate.worst_rank.total, "{link} {sizes}");
            assert_eq!(candidate.worst, estimate.worst, "{link} {sizes}");
            let m = &config.modules()[0];
            let way = match training(&space, candidate) {
                Training::AsGiven => None,
                Training::Full => Some(TrainingMethod::Full),
                Training::Adapters(_) => Some(TrainingMethod::Adapters),
                Training::Fsdp(strategy) => {
                    assert_eq!(m.args().data_parallel_sharding_strategy, strategy);
                    assert_eq!(m.stages().pp(), 1);
                    Some(TrainingMethod::Fsdp)
                }
            };
            assert_eq!(TrainingMethod::of(m), way, "{link} {sizes}");
            assert_eq!(candidate.adapters, way == Some(TrainingMethod::Adapters));
        }
        let refused = found.refused.iter().any(|(rule, _)| rule == "fsdp_pipeline");
        assert_eq!(refused, axes.contains(&Pipeline), "{link}");
    }
}

/// The job's own layout in each way needs what the comparison of these ways says.
#[test]
fn the_own_layout_in_each_way_is_that_of_the_comparison() {
    let job = visit(LINK).state.setup.job;
    let space = Space::new(&job, &vary(&[Axis::Training])).unwrap();
    assert_eq!(space.given_index(), Some(0));
    assert!(space.settings(0).is_empty());
    let found = all(&space);
    for way in TrainingMethod::EACH {
        let compared = method(&job, 0, way).unwrap().result.unwrap();
        let same = found.candidates.iter().filter(|c| c.peak == compared.peak);
        assert!(same.count() > 0, "{way:?}");
    }
}

/// Adapters alone need less, and are yet no better layout of full training.
#[test]
fn adapters_alone_come_after_all_that_train_every_weight_and_fit() {
    let job = visit(LINK).state.setup.job;
    let axes = [Axis::Training, Axis::Pipeline, Axis::Tensor, Axis::MicroBatch];
    let space = Space::new(&job, &vary(&axes)).unwrap();
    let mut found = search(&space, 0..space.total(), u32::MAX, Keep::Fitting);
    found.candidates.sort_by(Candidate::order);
    let fitting = found.candidates.iter().filter(|c| c.verdict() == Verdict::Fits);
    let adapters: Vec<bool> = fitting.map(|c| c.adapters).collect();
    assert!(adapters.is_sorted(), "{adapters:?}");
    assert!(adapters.contains(&true) && adapters.contains(&false));
}

/// Local CUDA graphs are known of jobs without Megatron FSDP.
#[test]
fn ways_that_are_not_modelled_beside_the_other_settings_are_left_out() {
    let job = visit(&format!("{LINK};cg=local")).state.setup.job;
    let space = Space::new(&job, &vary(&[Axis::Training])).unwrap();
    let found = all(&space);
    let ways = found.candidates.iter().map(|c| training(&space, c));
    let ways: Vec<Training> = ways.collect();
    assert!(ways.contains(&Training::Full), "{ways:?}");
    let fsdp = |way: &Training| matches!(way, Training::Fsdp(_));
    assert!(!ways.iter().any(fsdp), "{ways:?}");
    let left_out = found.refused.iter().find(|(rule, _)| rule == "not_modelled");
    assert_eq!(left_out.map(|(_, count)| *count), Some(4));
}
