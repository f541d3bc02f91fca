//! What layouts cost, and their order.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::job::Config;
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::share_url::visit;
use megatron_memory::memory::estimate;
use megatron_memory::memory::savings::choice_of;
use megatron_memory::search::{Axis, Candidate, GroupKind, Keep, Options, Space, bubble_ppm, group, search, traffic};
use megatron_memory::value::Value;
use megatron_memory::verdict::Verdict;

use super::{DENSE, all, vary, with};

fn preset(link: &str) -> RawJob {
    visit(link).state.setup.job
}

fn config(job: &RawJob) -> Config {
    let checked = check(job);
    checked.config.unwrap_or_else(|| panic!("{:?}", checked.problems))
}

/// The layouts that NVIDIA publishes for H100, as the presets have them and as `perf` recipes of Megatron-Bridge do: some
/// are among the first five of those that fit, and every better one says what it gains.
#[test]
fn published_layouts_are_among_the_best_or_the_better_ones_say_why() {
    let mut first = 0;
    for link in [
        "v1;m=deepseek-v3@2",
        "v1;m=qwen3-235b-a22b@2",
        "v1;m=qwen3-235b-a22b@2;gpus=256;tp=2;pp=8;vpp=4;cp=1;ep=32;gbs=8192;fp8=hybrid",
        "v1;m=llama3.1-405b@1",
        "v1;m=mixtral-8x22b@1",
    ] {
        let job = preset(link);
        let space = Space::new(&job, &Options::usual(&job)).unwrap();
        let own = space.own_candidate().unwrap_or_else(|| panic!("{link}"));
        let found = search(&space, 0..space.total(), u32::MAX, Keep::Fitting);
        let mut better: Vec<&Candidate> = found.candidates.iter().filter(|c| c.is_before(&own)).collect();
        better.sort_by(|a, b| a.order(b));
        first += usize::from(better.len() < 5);
        for candidate in better {
            let gains = candidate.gains_over(&own);
            assert!(!gains.is_empty(), "{link} {}", space.sizes(candidate.index));
            for gain in gains {
                let text = gain.text(|bytes| bytes.0.to_string());
                assert!(text.chars().any(char::is_alphanumeric), "{link} {text}");
            }
        }
    }
    assert!(first >= 1, "{first}");
}

#[test]
fn a_replica_spans_the_ranks_that_hold_all_experts() {
    let job = preset("v1;m=qwen3-235b-a22b@2;gpus=128");
    let options = vary(&[Axis::Pipeline, Axis::Tensor, Axis::Context, Axis::Expert]);
    let space = Space::new(&job, &options).unwrap();
    let found = all(&space);
    for candidate in &found.candidates {
        let config = config(&space.job(candidate.index));
        let m = &config.modules()[0];
        let derived = m.derived();
        let size = |field| space.job(candidate.index).number(0, field).unwrap_or(1);
        let dense = size(FieldId::tensor_model_parallel_size) * size(FieldId::context_parallel_size);
        let experts = derived.expert_tensor_parallel_size * size(FieldId::expert_model_parallel_size);
        let pp = size(FieldId::pipeline_model_parallel_size);
        assert_eq!(u64::from(candidate.replica), dense.max(experts) * pp);
    }
}

/// Stages of equal work wait as the formula of interleaved 1F1B says.
#[test]
fn the_bubble_of_equal_stages_is_the_formula() {
    // A vocabulary of one row leaves the last stage hardly more than its layers.
    for (pp, vpp, batch) in [(2, 1, 8), (4, 1, 4), (4, 1, 64), (4, 2, 16), (2, 4, 64), (8, 1, 128)] {
        let more = format!(
            r#"{{"num_layers": 16, "hidden_size": 4096, "num_attention_heads": 32, "ffn_hidden_size": 16384, "world_size": {pp},
                "vocab_size": 1, "make_vocab_size_divisible_by": 1, "global_batch_size": {batch},
                "pipeline_model_parallel_size": {pp}, "virtual_pipeline_model_parallel_size": {}}}"#,
            if vpp > 1 { vpp.to_string() } else { "null".to_owned() }
        );
        let config = config(&with(DENSE, &more));
        let m = &config.modules()[0];
        let formula = (pp - 1) * 1_000_000 / (vpp * batch);
        let replayed = bubble_ppm(m, choice_of(m));
        assert!(
            replayed.abs_diff(formula) < 1_000,
            "PP {pp} VPP {vpp} of {batch}: {replayed} instead of {formula}"
        );
    }
}

/// Only some groups of micro batches are replayed; the others add what the slowest stage needs.
#[test]
fn a_long_step_waits_for_its_slowest_stage() {
    let job = |batch: u64| {
        let more = format!(
            r#"{{"world_size": 4, "pipeline_model_parallel_size": 4, "global_batch_size": {batch},
                "vocab_size": 4096}}"#
        );
        let config = config(&with(DENSE, &more));
        let m = &config.modules()[0];
        bubble_ppm(m, choice_of(m))
    };
    // Fifteen, sixteen and seventeen micro batches lie on both sides of what is replayed.
    let bubbles: Vec<u64> = [15, 16, 17, 18, 32, 1024].map(job).to_vec();
    assert!(bubbles.is_sorted_by(|a, b| a >= b), "{bubbles:?}");
    // The last stage multiplies 64 by 4,096 for the logits beside the 53,248 of a layer, and the others wait for it.
    let (layer, logits) = (4 * 64 * 64 + 2 * 64 * 64 + 3 * 64 * 192, 64 * 4096);
    let waits = 3 * logits * 1_000_000 / (4 * layer + logits);
    assert!(bubbles[5].abs_diff(waits) < 30_000, "{bubbles:?} {waits}");
}

/// Four heads of 16 in a hidden size of 64, and 64 tokens of two bytes.
#[test]
fn traffic_is_what_collectives_send() {
    let more = r#"{"tensor_model_parallel_size": 2, "sequence_parallel": true, "pipeline_model_parallel_size": 2, "gpus_per_node": 4,
        "gpu": "h100-80gb"}"#;
    let config = config(&with(DENSE, more));
    let m = &config.modules()[0];
    let estimate = estimate(&config);
    let stage = &estimate.modules[0].stages[0];
    let sent = traffic(m, stage, 0, choice_of(m));
    let of = |kind: GroupKind| sent.iter().find(|of| of.kind == kind).unwrap();
    let micro_batches = 4;
    let hidden = 64 * 64 * 2;
    // Two layers with attention and an MLP: two collectives forward and three backward. The embedding: one each.
    let tensor = micro_batches * (2 * 2 * 5 + 2) * hidden / 2;
    assert_eq!(of(GroupKind::Tensor).traffic.near.0, tensor);
    assert_eq!(of(GroupKind::Tensor).traffic.far.0, 0);
    // Four ranks of a node are one stage; the other stage is on the other node.
    assert_eq!(of(GroupKind::Pipeline).traffic.near.0, 0);
    assert_eq!(of(GroupKind::Pipeline).traffic.far.0, micro_batches * hidden / 2);
    let states = |field: &str| {
        let bucket = megatron_memory::memory::bucket::Bucket::by_id(field).unwrap();
        stage.bytes(bucket).0
    };
    let data = of(GroupKind::Data);
    assert_eq!(data.group.size, 2);
    assert_eq!(
        data.traffic.near.0,
        states("weights_dense").midpoint(states("main_grads_dense"))
    );
}

#[test]
fn groups_lie_on_nodes_and_in_racks() {
    for (gpu, ep, together) in [("h100-80gb", 32, 8), ("gb200", 32, 32), ("gb200", 128, 64)] {
        let link = format!("v1;m=qwen3-235b-a22b@2;gpus=128;tp=1;cp=1;pp=1;ep={ep}");
        let mut job = preset(&link);
        job.put(0, FieldId::gpu, Value::Text(gpu.to_owned()));
        job.put(0, FieldId::account_for_embedding_in_pipeline_split, Value::Null);
        job.put(0, FieldId::account_for_loss_in_pipeline_split, Value::Null);
        let config = config(&job);
        let group = group(&config.modules()[0], GroupKind::Expert);
        assert_eq!((group.size, group.together), (ep, together), "{gpu}");
    }
}

#[test]
fn the_smallest_cluster_that_fits_comes_first() {
    let job = preset("v1;m=llama3-70b@1;gpus=64;gbs=64");
    let options = vary(&[Axis::Gpus, Axis::Pipeline, Axis::Tensor]);
    let space = Space::new(&job, &options).unwrap();
    let mut found = search(&space, 0..space.total(), u32::MAX, Keep::Fitting);
    found.candidates.sort_by(Candidate::order);
    // What is tight comes after all that fits.
    let fitting = found.candidates.iter().filter(|c| c.verdict() == Verdict::Fits);
    let gpus: Vec<u32> = fitting.map(|c| c.gpus).collect();
    assert!(gpus.is_sorted() && gpus[0] < 64, "{gpus:?}");
    // No layout of half as many fits.
    let mut half = job.clone();
    half.put(0, FieldId::world_size, Value::Int((gpus[0] / 2).into()));
    let space = Space::new(&half, &vary(&[Axis::Pipeline, Axis::Tensor])).unwrap();
    let found = search(&space, 0..space.total(), u32::MAX, Keep::Fitting);
    assert_eq!(found.fitting(), 0);
}

/// The sizes of the language model vary on its ranks, and the other modules stay where they are.
#[test]
fn the_language_model_of_several_modules_is_searched() {
    let job = preset("v1;m=qwen2.5-vl-7b@1");
    let space = Space::new(&job, &Options::usual(&job)).unwrap();
    let found = all(&space);
    assert!(found.candidates.len() > 3, "{found:?}");
    for candidate in &found.candidates {
        let job = space.job(candidate.index);
        let config = config(&job);
        let peak = estimate(&config).worst_rank.total;
        assert_eq!((candidate.peak, config.world_size()), (peak, 12));
    }
    let own = space.own_candidate().unwrap();
    assert_eq!(own.peak, estimate(&config(&job)).worst_rank.total);
}

/// Those of several modules are all that a check accepts, each with what its estimate says.
#[test]
fn layouts_of_several_modules_are_what_checks_and_estimates_say() {
    use Axis::{Context, MicroBatch, Pipeline, Recompute, Tensor, Virtual};
    let job = preset("v1;m=qwen2.5-vl-7b@1");
    let axes = [Pipeline, Virtual, Tensor, Context, MicroBatch, Recompute];
    let space = Space::new(&job, &vary(&axes)).unwrap();
    let found = all(&space).candidates;
    assert!(found.len() > 500, "{}", found.len());
    let mut accepted = 0;
    // A step that has no factor in common with the lengths of the axes.
    for index in (0..space.total()).step_by(7) {
        let place = found.binary_search_by_key(&index, |candidate| candidate.index);
        let checked = check(&space.job(index));
        let is_refused = checked.refusals().next().is_some();
        assert_eq!(place.is_err(), is_refused, "{}", space.sizes(index));
        if let Ok(place) = place {
            let estimate = estimate(&checked.config.unwrap());
            assert_eq!(found[place].peak, estimate.worst_rank.total, "{}", space.sizes(index));
            assert_eq!(found[place].worst, estimate.worst, "{}", space.sizes(index));
            accepted += 1;
        }
    }
    assert!(accepted > 80, "{accepted}");
}
