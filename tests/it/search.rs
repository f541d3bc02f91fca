//! Every layout that fits: counts by hand, and against asking about every combination one by one.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::share_url::visit;
use megatron_memory::memory::estimate;
use megatron_memory::memory::savings::Choice;
use megatron_memory::search::{
    Axis, Candidate, Keep, Options, Pick, Searcher, Slice, Space, Split, Unsearchable, search, suggestion,
};
use megatron_memory::value::Value;
use proptest::prelude::*;

mod alternatives;
mod brute_force;
mod frontier;
mod measured_pairs;
mod ranking;
mod table;
mod ties;
mod training;

const DENSE: &str = r#"{"num_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 512, "seq_length": 64,
    "max_position_embeddings": 64, "swiglu": true, "ffn_hidden_size": 192, "world_size": 8, "micro_batch_size": 1,
    "global_batch_size": 8, "bf16": true, "use_distributed_optimizer": true}"#;

fn job(json: &str) -> RawJob {
    RawJob::from_value(&serde_json::from_str(json).unwrap())
}

fn with(json: &str, more: &str) -> RawJob {
    let mut job = job(json);
    job.shared.overlay(&self::job(more).shared);
    job
}

fn vary(axes: &[Axis]) -> Options {
    Options {
        vary: axes.to_vec(),
        ..Options::default()
    }
}

fn all(space: &Space) -> Slice {
    let slice = search(space, 0..space.total(), u32::MAX, Keep::Legal);
    assert_eq!(slice.next, None);
    slice
}

/// The sizes of a combination.
fn sizes(space: &Space, candidate: &Candidate) -> Vec<u64> {
    let size = |pick: Pick| match pick {
        Pick::Size(size) => size,
        Pick::Recompute(_) | Pick::Training(_) => 0,
    };
    space.picks(candidate.index).into_iter().map(size).collect()
}

/// What Megatron runs of all combinations of the given sizes, asked one by one. Each axis comes with its sizes in
/// ascending order: all that are legal in some combination, and some that never are.
fn runs(job: &RawJob, axes: &[(Axis, &[u64])]) -> Vec<Vec<u64>> {
    let mut found = Vec::new();
    let mut places = vec![0; axes.len()];
    loop {
        let chosen = axes.iter().zip(&places);
        let sizes: Vec<u64> = chosen.map(|((_, sizes), at)| sizes[*at]).collect();
        let mut other = job.clone();
        for ((axis, _), size) in axes.iter().zip(&sizes) {
            other.put(0, axis.field(), Value::Int((*size).into()));
            if *axis == Axis::Tensor {
                other.put(0, FieldId::sequence_parallel, Value::Bool(*size > 1));
            }
        }
        let checked = check(&other);
        let unscheduled = |rule: &str| ["microbatches_fill_group", "last_group"].contains(&rule);
        if checked.config.is_some() && !checked.warnings().any(|p| unscheduled(p.rule)) {
            found.push(sizes);
        }
        let more = |at: &usize| places[*at] + 1 < axes[*at].1.len();
        let Some(at) = (0..places.len()).rev().find(more) else {
            return found;
        };
        places[at] += 1;
        places[at + 1..].fill(0);
    }
}

/// A search over these axes lists exactly what runs of all combinations of the given sizes.
fn is_complete(job: &RawJob, axes: &[(Axis, &[u64])], at_least: usize) {
    let varied: Vec<Axis> = axes.iter().map(|(axis, _)| *axis).collect();
    let space = Space::new(job, &vary(&varied)).unwrap();
    let found = all(&space);
    let listed: Vec<Vec<u64>> = found.candidates.iter().map(|c| sizes(&space, c)).collect();
    assert_eq!(listed, runs(job, axes));
    assert!(listed.len() > at_least, "{}", listed.len());
    adds_up(&space, &found);
}

/// Every combination is dealt with exactly once.
fn adds_up(space: &Space, slice: &Slice) {
    let sum = |counts: &[u64]| counts.iter().sum::<u64>();
    let refused: Vec<u64> = slice.refused.iter().map(|(_, count)| *count).collect();
    let outside: Vec<u64> = slice.out_of_bounds.iter().map(|(_, count)| *count).collect();
    assert_eq!(slice.looked_at, space.total());
    assert_eq!(
        sum(&refused) + sum(&outside) + slice.cannot_fit + slice.legal,
        space.total()
    );
}

#[test]
fn a_space_is_counted_by_hand() {
    // Sizes are 1, 2, 4, 8. Four heads take TP up to 4, four layers PP up to 4.
    let space = Space::new(&job(DENSE), &vary(&[Axis::Tensor, Axis::Pipeline])).unwrap();
    assert_eq!(space.total(), 16);
    let found = all(&space);
    // TP 1, 2, 4 by PP 1, 2, 4 without 4 by 4, which takes 16 GPUs.
    assert_eq!(found.legal, 8);
    // PP 8 has no layers for every stage, whatever TP; TP 8 is refused for each of the other PP.
    let refused = [("heads_by_tp", 3), ("world_holds_one_copy", 1), ("stages", 4)];
    assert_eq!(found.refused, refused.map(|(rule, count)| (rule.to_owned(), count)));
    adds_up(&space, &found);
    let flat = found.candidates.iter().find(|c| sizes(&space, c) == [1, 1]).unwrap();
    assert_eq!((flat.replica, flat.dp, flat.num_microbatches), (1, 8, 1));
    let deep = found.candidates.iter().find(|c| sizes(&space, c) == [4, 2]).unwrap();
    // (4 - 1) / 8 micro batches, and the other stages wait for the one with the output layer.
    assert_eq!((deep.replica, deep.dp, deep.num_microbatches), (8, 1, 8));
    assert!(deep.bubble_ppm > 375_000, "{}", deep.bubble_ppm);
}

#[test]
fn bounds_are_counted_apart_from_rules() {
    let options = Options {
        at_most: vec![(Axis::Tensor, 2)],
        ..vary(&[Axis::Tensor, Axis::Pipeline])
    };
    let space = Space::new(&job(DENSE), &options).unwrap();
    let found = all(&space);
    assert_eq!(found.out_of_bounds, [(Axis::Tensor, 6)]);
    assert_eq!(found.refused, [("stages".to_owned(), 4)]);
    assert_eq!(found.legal, 6);
    adds_up(&space, &found);
}

#[test]
fn a_dense_space_is_complete() {
    let axes: [(Axis, &[u64]); 5] = [
        (Axis::Pipeline, &[1, 2, 3, 4]),
        (Axis::Virtual, &[1, 2, 3, 4]),
        (Axis::Tensor, &[1, 2, 3, 4, 8]),
        (Axis::Context, &[1, 2, 4, 8]),
        (Axis::MicroBatch, &[1, 2, 3, 4, 8]),
    ];
    is_complete(&job(DENSE), &axes, 40);
}

#[test]
fn a_space_with_experts_is_complete() {
    let axes: [(Axis, &[u64]); 4] = [
        (Axis::Pipeline, &[1, 2, 3, 4, 6]),
        (Axis::Tensor, &[1, 2, 3, 4]),
        (Axis::Expert, &[1, 2, 3, 5, 6]),
        (Axis::ExpertTensor, &[1, 2, 3, 4, 6, 12]),
    ];
    let job = with(
        DENSE,
        r#"{"num_experts": 6, "moe_router_topk": 2, "moe_ffn_hidden_size": 96, "world_size": 12, "global_batch_size": 24,
            "num_layers": 6, "add_bias_linear": false, "context_parallel_size": 2}"#,
    );
    is_complete(&job, &axes, 20);
}

#[test]
fn the_last_stage_takes_the_rest() {
    let job = with(DENSE, r#"{"num_layers": 5, "global_batch_size": 16}"#);
    let axes = [Axis::Pipeline, Axis::Virtual];
    let even = all(&Space::new(&job, &vary(&axes)).unwrap());
    assert_eq!(even.legal, 1);
    let options = Options {
        split: Split::RestInLastStage,
        ..vary(&axes)
    };
    let space = Space::new(&job, &options).unwrap();
    let found = all(&space);
    let layers: Vec<(u64, Option<Value>)> = found
        .candidates
        .iter()
        .map(|c| {
            let field = FieldId::decoder_last_pipeline_num_layers;
            let job = space.job(c.index);
            (sizes(&space, c)[0], job.shared.get(field).cloned())
        })
        .collect();
    // Three and two; two, two and one leave a fourth stage without any.
    assert_eq!(layers, [(1, None), (2, Some(Value::Int(2)))]);
}

#[test]
fn a_layout_decides_the_virtual_stages() {
    let job = with(
        DENSE,
        r#"{"pipeline_model_parallel_layout": "Et|t|t|tL", "pipeline_model_parallel_size": 2}"#,
    );
    let space = Space::new(&job, &vary(&[Axis::Pipeline, Axis::Virtual])).unwrap();
    assert_eq!(space.dimensions().len(), 1);
    let found = all(&space);
    let listed: Vec<Vec<u64>> = found.candidates.iter().map(|c| sizes(&space, c)).collect();
    // Chunks of a single stage would be no pipeline, and there are no eight stages.
    assert_eq!(listed, [[2], [4]]);
}

#[test]
fn a_job_whose_layout_is_refused_has_others() {
    let refused = with(DENSE, r#"{"tensor_model_parallel_size": 3, "global_batch_size": 8}"#);
    assert!(check(&refused).config.is_none());
    let space = Space::new(&refused, &vary(&[Axis::Tensor])).unwrap();
    assert_eq!(all(&space).legal, 3);
    let broken = with(DENSE, r#"{"hidden_size": 0}"#);
    let Err(Unsearchable::Problems(problems)) = Space::new(&broken, &vary(&[Axis::Tensor])) else {
        panic!("a job without width has layouts");
    };
    assert_eq!(problems[0].fields, [FieldId::hidden_size]);
    let images = job(r#"{"modules": [{"name": "images"}, {"name": "sounds"}]}"#);
    assert_eq!(
        Space::new(&images, &vary(&[Axis::Tensor])).unwrap_err(),
        Unsearchable::NoLanguageModel
    );
}

#[test]
fn what_varies_or_has_to_agree_with_it_refuses_no_search() {
    let job = visit("").state.setup.job;
    let space = |job: &RawJob, options: &Options| Space::new(job, options);
    let usual = Options::usual(&job);
    let whole = space(&job, &usual).unwrap();
    for (field, value) in [
        (FieldId::tensor_model_parallel_size, 3),
        (FieldId::pipeline_model_parallel_size, 7),
        (FieldId::expert_model_parallel_size, 100),
    ] {
        let mut wrong = job.clone();
        wrong.put(0, field, Value::Int(value));
        assert!(check(&wrong).config.is_none());
        let space = space(&wrong, &usual).unwrap();
        assert_eq!(space.dimensions(), whole.dimensions());
        let last = space.total() - 1;
        for index in [0, last / 2, last] {
            assert_eq!(space.job(index), whole.job(index));
        }
    }
    // No batch of the preset is shared evenly among so many: every layout is refused, and says why.
    let mut odd = job.clone();
    odd.put(0, FieldId::world_size, Value::Int(1000));
    let thousand = space(&odd, &usual).unwrap();
    assert_eq!((thousand.world_size(), thousand.total() > 100), (1000, true));
    adds_up(&thousand, &all(&thousand));
    // What stays as it is must be right, and is what is named.
    let mut fixed = job.clone();
    fixed.put(0, FieldId::tensor_model_parallel_size, Value::Int(3));
    fixed.put(0, FieldId::expert_model_parallel_size, Value::Int(100));
    let Err(Unsearchable::Problems(problems)) = space(&fixed, &vary(&[Axis::Tensor])) else {
        panic!("no number of experts is a multiple");
    };
    let named = |field| problems.iter().any(|p| p.fields.contains(&field));
    assert!(named(FieldId::expert_model_parallel_size), "{problems:?}");
    assert!(!named(FieldId::tensor_model_parallel_size), "{problems:?}");
}

#[test]
fn what_follows_from_sizes_stays_what_it_was() {
    let job = job(
        r#"{"num_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 512, "seq_length": 64,
        "max_position_embeddings": 64, "data_parallel_size": 4, "tensor_model_parallel_size": 2, "micro_batch_size": 2}"#,
    );
    let space = Space::new(&job, &vary(&[Axis::Tensor])).unwrap();
    for candidate in all(&space).candidates {
        let config = check(&space.job(candidate.index)).config.unwrap();
        assert_eq!(config.world_size(), 8);
        assert_eq!(config.modules()[0].derived().global_batch_size, 8);
    }
}

#[test]
fn nothing_fits_and_it_says_what_would() {
    let options = vary(&[Axis::Tensor, Axis::Recompute]);
    let long = with(DENSE, r#"{"seq_length": 4096, "max_position_embeddings": 4096}"#);
    let roomy = all(&Space::new(&long, &options).unwrap());
    let least = |of: &Slice| of.candidates.iter().map(|c| c.least).min().unwrap();
    // Between what the best layout needs as it is and what it needs with recompute.
    let plain = all(&Space::new(&long, &vary(&[Axis::Tensor])).unwrap());
    assert!(least(&roomy) < least(&plain));
    let mib = least(&plain).0 / (1 << 20) - 1;
    let mut tight = long.clone();
    tight.shared.set(FieldId::gpu_memory_mib, Value::Int(mib.into()));
    let space = Space::new(&tight, &vary(&[Axis::Tensor])).unwrap();
    let found = search(&space, 0..space.total(), u32::MAX, Keep::Fitting);
    assert_eq!((found.candidates.len(), found.too_large), (0, found.legal));
    let closest = found.closest.unwrap();
    assert_eq!(closest.least, least(&plain));
    // PyTorch alone would fit, but not what the device needs beside it.
    assert!(closest.headroom().unwrap() > 0 && closest.is_too_large());
    let suggestion = suggestion(&space, &closest);
    assert!(!matches!(suggestion.recompute, None | Some(Choice::Nothing)));
    assert_eq!(suggestion.gpu.unwrap().id, "a100-40gb");
}

#[test]
fn a_search_can_stop_anywhere_and_go_on() {
    let axes = [Axis::Pipeline, Axis::Virtual, Axis::Tensor, Axis::MicroBatch];
    let options = Options {
        at_most: vec![(Axis::MicroBatch, 2)],
        ..vary(&axes)
    };
    let space = Space::new(&job(DENSE), &options).unwrap();
    let whole = all(&space);
    for steps in [1, 2, 7] {
        let mut parts = Slice::default();
        let mut at = 0;
        loop {
            let part = search(&space, at..space.total(), steps, Keep::Legal);
            let next = part.next;
            parts.join(part);
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        assert_eq!(sorted(parts), sorted(whole.clone()), "{steps}");
    }
    // The shares that workers take.
    for workers in 1..4 {
        let mut shares = space.shares();
        assert!(shares.left() > workers);
        let (mut parts, mut searcher) = (Slice::default(), Searcher::default());
        for worker in (0..workers).cycle() {
            let Some(share) = shares.next_for(worker) else {
                break;
            };
            parts.join(searcher.search(&space, share, u32::MAX, Keep::Legal));
        }
        assert_eq!(shares.left(), 0);
        parts.candidates.sort_by_key(|candidate| candidate.index);
        assert_eq!(sorted(parts), sorted(whole.clone()), "{workers} workers");
    }
    // Shares that end within what is refused together.
    for share in [1, 3, 5, 64] {
        let mut parts = Slice::default();
        let mut from = 0;
        while from < space.total() {
            let part = search(&space, from..from + share, u32::MAX, Keep::Legal);
            assert_eq!(part.looked_at, share.min(space.total() - from));
            parts.join(part);
            from += share;
        }
        assert_eq!(sorted(parts), sorted(whole.clone()), "{share}");
    }
}

/// With the counts in the order of their names.
fn sorted(mut slice: Slice) -> Slice {
    slice.refused.sort();
    slice.out_of_bounds.sort();
    slice.next = None;
    slice
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever varies and however it is bounded: what is listed is what one by one is not refused, and every number
    /// is what the estimate of that very job says.
    #[test]
    fn every_candidate_is_a_job_like_any_other(
        layers in 1u64..9,
        heads in prop::sample::select(vec![2u64, 4, 6]),
        groups in prop::sample::select(vec![1u64, 2]),
        world in prop::sample::select(vec![4u64, 6, 8, 12, 16]),
        batch in prop::sample::select(vec![4u64, 12, 16, 32]),
        experts in prop::sample::select(vec![0u64, 4, 6]),
        interleave in any::<bool>(),
        axes in prop::sample::subsequence(Axis::ALL.to_vec(), 1..4),
        tensor in 1u64..9,
        rest in any::<bool>(),
    ) {
        let more = format!(
            r#"{{"num_layers": {layers}, "num_attention_heads": {heads}, "kv_channels": 16, "group_query_attention": true,
                "num_query_groups": {groups}, "world_size": {world}, "global_batch_size": {batch}, "seq_length": 192,
                "max_position_embeddings": 192, "num_experts": {experts}, "add_bias_linear": false, "moe_router_topk": 2,
                "sequence_parallel": true, "virtual_pipeline_model_parallel_size": {}, "gpu": "a100-40gb"}}"#,
            if interleave { "2" } else { "null" },
        );
        let options = Options {
            at_most: vec![(Axis::Tensor, tensor)],
            split: if rest { Split::RestInLastStage } else { Split::AsGiven },
            ..vary(&axes)
        };
        let Ok(space) = Space::new(&with(DENSE, &more), &options) else {
            return Ok(());
        };
        let found = all(&space);
        adds_up(&space, &found);
        let mut listed = found.candidates.iter().peekable();
        for index in 0..space.total() {
            let job = space.job(index);
            let checked = check(&job);
            let unscheduled = |rule: &str| ["microbatches_fill_group", "last_group"].contains(&rule);
            let runs = checked.config.filter(|_| !checked.problems.iter().any(|p| unscheduled(p.rule)));
            let inside = space.dimensions().iter().zip(space.picks(index)).all(|(dimension, pick)| {
                dimension.axis != Axis::Tensor || !matches!(pick, Pick::Size(size) if size > tensor)
            });
            let candidate = listed.next_if(|candidate| candidate.index == index);
            prop_assert_eq!(candidate.is_some(), runs.is_some() && inside, "{} {:?}", index, space.picks(index));
            if let (Some(candidate), Some(config)) = (candidate, runs) {
                let estimate = estimate(&config);
                prop_assert_eq!(candidate.peak, estimate.worst_rank.total);
                prop_assert_eq!(candidate.worst, estimate.worst);
                // The settings over the job that was searched are the same job.
                let mut applied = with(DENSE, &more);
                for (field, value) in space.settings(index) {
                    applied.put(0, field, value);
                }
                let config = check(&applied).config.unwrap();
                prop_assert_eq!(candidate.peak, megatron_memory::memory::estimate(&config).worst_rank.total);
            }
        }
        prop_assert_eq!(listed.next(), None);
        // A search for those that fit skips what cannot, and finds the same.
        let fitting = search(&space, 0..space.total(), u32::MAX, Keep::Fitting);
        adds_up(&space, &fitting);
        let all_fitting: Vec<Candidate> =
            found.candidates.iter().filter(|c| !c.is_too_large()).copied().collect();
        prop_assert_eq!(fitting.closest, found.closest);
        prop_assert_eq!(fitting.candidates, all_fitting);
    }
}

/// The pattern of a hybrid model is cut into a segment for each chunk of a layout.
#[test]
fn patterns_are_cut_for_every_layout() {
    let job = with(
        DENSE,
        r#"{"hybrid_layer_pattern": "M-M-|M*M-", "num_layers": null, "mamba_num_heads": 8, "mamba_num_groups": 4,
            "global_batch_size": 16, "pipeline_model_parallel_size": 2, "position_embedding_type": "none"}"#,
    );
    let options = vary(&[Axis::Pipeline, Axis::Virtual, Axis::Tensor]);
    let space = Space::new(&job, &options).unwrap();
    let found = all(&space);
    let mut patterns = Vec::new();
    for candidate in &found.candidates {
        let chosen = space.job(candidate.index);
        let checked = check(&chosen);
        assert!(checked.config.is_some(), "{:?}", checked.problems);
        let pattern = chosen.get(0, FieldId::hybrid_layer_pattern).unwrap();
        let segments = pattern.to_string().matches('|').count() as u64 + 1;
        let [pp, vpp, _] = sizes(&space, candidate)[..] else {
            panic!("three axes");
        };
        assert_eq!(segments, pp * vpp, "{pattern}");
        patterns.push(pattern.to_string());
    }
    for pattern in ["M-M-M*M-", "M-M-|M*M-", "M-|M-|M*|M-", "M|-|M|-|M|*|M|-"] {
        assert!(patterns.iter().any(|p| p.contains(pattern)), "{pattern}");
    }
}
