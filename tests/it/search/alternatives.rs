//! Alternatives that no search lists, in the order of searches.

use megatron_memory::config::fields::FieldId;
use megatron_memory::config::gpus::GPUS;
use megatron_memory::config::raw::RawJob;
use megatron_memory::fit::{Sweep, on_gpu};
use megatron_memory::memory::methods::TrainingMethod;
use megatron_memory::report::time::ranked_step;
use megatron_memory::search::{Candidate, MethodAlternative, Room, ranking};

fn job() -> RawJob {
    let job = serde_json::json!({
        "num_layers": 32, "hidden_size": 4096, "ffn_hidden_size": 14336, "num_attention_heads": 32, "num_query_groups": 8,
        "group_query_attention": true, "vocab_size": 128_256, "swiglu": true, "seq_length": 4096,
        "max_position_embeddings": 4096, "world_size": 64, "micro_batch_size": 1, "global_batch_size": 256, "bf16": true,
        "use_distributed_optimizer": true, "tensor_model_parallel_size": 2, "gpu": "h100-80gb",
    });
    RawJob::from_value(&serde_json::from_value(job).unwrap())
}

#[test]
fn ways_of_training_are_ranked_with_all_weights_before_adapters() {
    let job = job();
    let ways = TrainingMethod::EACH.map(|way| MethodAlternative::new(&job, 0, way).unwrap());
    let mut candidates = ways.each_ref().map(|way| way.candidate);
    let ids = |candidates: &[Option<Candidate>]| {
        let ranked = ranking(candidates).into_iter();
        ranked
            .map(|of| (ways[of.index].result.method.id(), of.rank.map(|rank| rank.number)))
            .collect::<Vec<_>>()
    };
    // FSDP has no predicted time, and adapters are another training.
    let expected = [("full", Some(1)), ("fsdp", Some(2)), ("adapters", Some(3))];
    assert_eq!(ids(&candidates), expected);
    // What Megatron refuses comes last and has no rank.
    candidates[0] = None;
    let expected = [("fsdp", Some(1)), ("adapters", Some(2)), ("full", None)];
    assert_eq!(ids(&candidates), expected);
    assert_eq!(ranking(&[]), Vec::new());
}

#[test]
fn alternatives_with_little_memory_free_stand_behind_all_others_that_fit() {
    let like = Candidate::with_settings(0, &job(), 0, &[]).unwrap();
    let gpu = like.gpu.unwrap().least;
    let timed = |index: u64, nanoseconds: u64, peak| {
        Some(Candidate {
            index,
            peak,
            step_nanoseconds: Some(nanoseconds),
            ..like
        })
    };
    let alternatives = [
        timed(0, 1000, gpu),
        timed(1, 1040, like.peak),
        timed(2, 1020, like.peak),
    ];
    let ranked: Vec<_> = ranking(&alternatives)
        .into_iter()
        .map(|of| (of.index, of.rank.unwrap().to_string(), of.is_nearly_full))
        .collect();
    let tie = || "1, a tie".to_owned();
    assert_eq!(
        ranked,
        [(2, tie(), false), (1, tie(), false), (0, "3".to_owned(), true)]
    );
}

#[test]
fn values_of_parallel_sizes_are_ranked_and_others_stay_in_their_order() {
    let sweep = |field| {
        let mut sweep = Sweep::new(&job(), 0, field, None).unwrap();
        while !sweep.step() {}
        sweep
    };
    let sizes = sweep(FieldId::tensor_model_parallel_size);
    let ranking = sizes.ranking();
    assert!(ranking.len() > 2 && ranking.len() == sizes.points.len());
    let ranks: Vec<usize> = ranking.iter().map(|of| of.rank.unwrap().number).collect();
    assert!(ranks.is_sorted() && ranks[0] == 1, "{ranks:?}");
    let fitting = ranking
        .iter()
        .filter(|of| !of.is_nearly_full && sizes.points[of.index].memory.has_room());
    let times: Vec<Option<u64>> = fitting.map(|of| sizes.points[of.index].step_nanoseconds()).collect();
    assert!(times.is_sorted() && times.iter().all(Option::is_some), "{times:?}");
    // A model with fewer layers is another one, and no faster way to train this one.
    let layers = sweep(FieldId::num_layers);
    let places: Vec<usize> = layers.ranking().into_iter().map(|of| of.index).collect();
    assert!(places.len() > 2 && places.iter().copied().eq(0..layers.points.len()));
    assert!(layers.ranking().iter().all(|of| of.rank.is_none()));
}

#[test]
fn gpus_are_ranked_by_predicted_times_with_those_of_unknown_speeds_behind() {
    let job = job();
    let on = (0..).zip(GPUS).map(|(index, gpu)| on_gpu(index, &job, gpu)?.candidate);
    let on: Vec<Option<Candidate>> = on.collect();
    let ranking = ranking(&on);
    let steps = ranking.iter().filter_map(|ranked| {
        let candidate = on[ranked.index].filter(|candidate| candidate.room() == Room::Enough)?;
        Some(candidate.step_nanoseconds.unwrap_or(u64::MAX))
    });
    let steps: Vec<u64> = steps.collect();
    assert!(steps.len() > 6 && steps.is_sorted(), "{steps:?}");
    assert!(steps[0] < u64::MAX && steps.last() == Some(&u64::MAX), "{steps:?}");
    let words = |ranked: usize| ranked_step(on[ranking[ranked].index].as_ref(), &ranking[ranked]);
    let first = words(0).unwrap();
    assert!(
        first.ends_with(" s · rank 1") || first.ends_with(" s · rank 1, a tie"),
        "{first}"
    );
    let without = ranking
        .iter()
        .position(|ranked| on[ranked.index].is_some_and(|candidate| candidate.step_nanoseconds.is_none()));
    assert_eq!(words(without.unwrap()), None);
}
