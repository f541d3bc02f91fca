//! Changes that make a job fit, and the largest sizes that fit, against trying all values one by one.

use std::collections::BTreeMap;

use megatron_memory::config::choices::{MainGradsDtype, MomentDtype, OffloadModule, RecomputeModule};
use megatron_memory::config::fields::FieldId as F;
use megatron_memory::config::raw::RawJob;
use megatron_memory::config::{NameSet, check};
use megatron_memory::fit::{
    ChangeKind, Cost, Fewest, FitError, LayoutSearch, Offer, OfferSearch, PLOTTED, Sweep, fewest_gpus,
    fewest_in_any_layout, largest_micro_batch, limits, longest_sequence, longest_sequence_is_of_samples, offers,
};
use megatron_memory::formats::share_url::decode;
use megatron_memory::formats::state::Setup;
use megatron_memory::memory::estimate;
use megatron_memory::memory::methods::TrainingMethod;
use megatron_memory::memory::savings::{Choice, choice_of, recomputed_ppm};
use megatron_memory::presets::jobs::JOBS;
use megatron_memory::presets::{PRESETS, Preset, by_id};
use megatron_memory::report::amount::{Scale, Unit, grouped};
use megatron_memory::report::curves::{Curve, Plot, words};
use megatron_memory::report::fewest_gpus::{self as stored, Count};
use megatron_memory::report::offers::OfferRow;
use megatron_memory::report::scene::{Px, Shape};
use megatron_memory::report::summary::{ReservedBy, Standing, Verdict};
use megatron_memory::search::{Candidate, Keep, Options, Space, search};
use megatron_memory::value::Value;

use crate::ROOT;

/// The headline of a job by the factors, which offers and limits go by; `None` where Megatron refuses it, also when its
/// schedule starts.
fn summary(job: &RawJob) -> Option<Standing> {
    let checked = check(job);
    let unscheduled = |rule: &str| ["microbatches_fill_group", "last_group"].contains(&rule);
    let refused = checked.warnings().any(|p| unscheduled(p.rule));
    let config = checked.config.filter(|_| !refused)?;
    Some(Standing::by_factors(&config, &estimate(&config)))
}

fn fits(job: &RawJob) -> bool {
    summary(job).is_some_and(|summary| summary.verdict == Verdict::Fits)
}

/// Jobs of presets on GPUs that have a part, in percent, of the memory that the job may need.
fn jobs_over_the_limit() -> Vec<(String, RawJob)> {
    let parts = [92, 70, 50].into_iter().cycle();
    let again = PRESETS.iter().step_by(8);
    let jobs = PRESETS.iter().take(46).chain(again).zip(parts);
    let jobs = jobs.filter_map(|(preset, percent)| {
        let mut job = Setup::of_preset(preset).job;
        let most = summary(&job)?.device.1;
        let mib = (most.0 >> 20) * percent / 100;
        job.put(0, F::gpu_memory_mib, Value::Int(mib.into()));
        Some((format!("{} at {percent} %", preset.id), job))
    });
    jobs.collect()
}

fn moves(job: &RawJob) -> Vec<Offer> {
    let now = summary(job).unwrap();
    let mut search = OfferSearch::of_standing(job, now).unwrap();
    while !search.advance(7) {}
    let found = search.offers();
    let all = offers(job).unwrap();
    // A job that a replay settles is offered what those that fit are.
    if all.now == now {
        assert_eq!(found, all.offers);
    } else {
        assert_eq!(all.now.reserved_by, ReservedBy::Replay);
    }
    found
}

fn int(value: u64) -> Value {
    Value::Int(value.into())
}

fn with(job: &RawJob, settings: &[(F, Value)]) -> RawJob {
    let mut job = job.clone();
    for (field, value) in settings {
        job.put(0, *field, value.clone());
    }
    job
}

fn name(name: &str) -> Value {
    Value::Text(name.to_owned())
}

fn names<T: Copy>(all: &[T], bits: u32, text: impl Fn(T) -> &'static str) -> Value {
    let chosen = all.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
    Value::List(chosen.map(|(_, item)| name(text(*item))).collect())
}

/// How far a size is from the one that a job has.
fn distance(now: u64, then: u64) -> Cost {
    Cost::Distance(now.max(then) * 1000 / now.min(then), then > now)
}

/// The cheapest cost of every kind with which a job fits, of all values of each setting. Sizes cost their distance from
/// what is set where the job does not fit, and the GPUs of a replica where it has memory left.
fn brute_force(job: &RawJob) -> Vec<(ChangeKind, Cost)> {
    let config = check(job).config.unwrap();
    let has_room = fits(job);
    let m = &config.modules()[0];
    let (a, derived) = (m.args(), m.derived());
    let mut fitting = Vec::new();
    let mut offer = |kind, cost, settings: Vec<(F, Value)>| {
        if fits(&with(job, &settings)) {
            fitting.push((kind, cost));
        }
    };
    let batch = [
        (F::world_size, int(config.world_size())),
        (F::global_batch_size, int(derived.global_batch_size)),
    ];
    if a.recompute_granularity.is_none() {
        let all: Vec<RecomputeModule> = RecomputeModule::ALL.to_vec();
        for bits in 1..1_u32 << all.len() {
            if bits.count_ones() > 2 {
                continue;
            }
            let chosen = all.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
            let set: Vec<RecomputeModule> = chosen.map(|(_, module)| *module).collect();
            let choice = Choice::Selective(NameSet::of(&set));
            let cost = Cost::Recomputed(recomputed_ppm(m, choice));
            let settings = vec![
                (F::recompute_granularity, name("selective")),
                (F::recompute_modules, names(&all, bits, RecomputeModule::name)),
            ];
            offer(ChangeKind::Recompute, cost, settings);
        }
    }
    for layers in 1..=a.num_layers.min(24) {
        let choice = Choice::Block(layers);
        let cost = Cost::Recomputed(recomputed_ppm(m, choice));
        let settings = vec![
            (F::recompute_granularity, name("full")),
            (F::recompute_method, name("block")),
            (F::recompute_num_layers, int(layers)),
        ];
        offer(ChangeKind::Recompute, cost, settings);
    }
    for size in 1..a.micro_batch_size {
        let count = derived.global_batch_size / size / derived.data_parallel_size.max(1);
        let mut settings = batch.to_vec();
        settings.push((F::micro_batch_size, int(size)));
        offer(ChangeKind::MicroBatch, Cost::MicroBatches(count), settings);
    }
    if !a.fine_grained_activation_offloading {
        let all = OffloadModule::ALL;
        for bits in 1..1_u32 << all.len() {
            if bits.count_ones() > 2 {
                continue;
            }
            let settings = vec![
                (F::fine_grained_activation_offloading, Value::Bool(true)),
                (F::offload_modules, names(all, bits, OffloadModule::name)),
            ];
            let cost = Cost::OffloadedModules(bits.count_ones().into());
            offer(ChangeKind::Offload, cost, settings);
        }
    }
    for grads in [MainGradsDtype::Fp32, MainGradsDtype::Bf16] {
        for [avg, sq] in [
            [MomentDtype::Bf16, MomentDtype::Bf16],
            [MomentDtype::Bf16, MomentDtype::Fp32],
            [MomentDtype::Fp32, MomentDtype::Bf16],
            [MomentDtype::Fp8, MomentDtype::Fp8],
            [MomentDtype::Fp32, MomentDtype::Fp32],
        ] {
            let now = [
                a.main_grads_dtype.bytes(),
                a.exp_avg_dtype.bytes(),
                a.exp_avg_sq_dtype.bytes(),
            ];
            let then = [grads.bytes(), avg.bytes(), sq.bytes()];
            if now == then || now.iter().zip(then).any(|(now, then)| then > *now) {
                continue;
            }
            let lost = now.iter().sum::<u64>() - then.iter().sum::<u64>();
            let settings = vec![
                (F::use_distributed_optimizer, Value::Bool(true)),
                (F::use_precision_aware_optimizer, Value::Bool(true)),
                (F::main_grads_dtype, name(grads.name())),
                (F::exp_avg_dtype, name(avg.name())),
                (F::exp_avg_sq_dtype, name(sq.name())),
            ];
            offer(ChangeKind::Precision, Cost::LostBytes(lost), settings);
        }
    }
    for (kind, field) in [
        (ChangeKind::Tensor, F::tensor_model_parallel_size),
        (ChangeKind::Pipeline, F::pipeline_model_parallel_size),
        (ChangeKind::Expert, F::expert_model_parallel_size),
        (ChangeKind::Context, F::context_parallel_size),
    ] {
        for size in 1..=64_u64 {
            if kind == ChangeKind::Tensor && size > 8 || job.number(0, field) == Some(size) {
                continue;
            }
            let mut settings = batch.to_vec();
            settings.push((field, int(size)));
            if kind == ChangeKind::Tensor && size > 1 {
                settings.push((F::sequence_parallel, Value::Bool(true)));
            }
            let other = with(job, &settings);
            let Some(config) = check(&other).config else {
                continue;
            };
            let layout = &config.modules()[0];
            let derived = layout.derived();
            let dense = config.world_size() / derived.data_parallel_size;
            let expert = match derived.experts_per_rank {
                0 => 0,
                _ => config.world_size() / derived.expert_data_parallel_size,
            };
            let now = job.number(0, field).unwrap_or(1);
            let cost = if has_room {
                Cost::ReplicaGpus(dense.max(expert))
            } else {
                distance(now, size)
            };
            offer(kind, cost, settings);
        }
    }
    fitting
}

#[test]
fn offered_changes_fit_and_none_of_their_kind_is_cheaper() {
    let jobs = jobs_over_the_limit();
    let (mut offered, mut helped) = (0, 0);
    for (name, job) in &jobs {
        assert!(!fits(job), "{name}");
        let found = moves(job);
        helped += usize::from(!found.is_empty());
        for found in &found {
            let mut other = job.clone();
            found.apply(&mut other);
            assert!(fits(&other), "{name}: {}", found.label());
            assert_eq!(summary(&other).unwrap().total, found.measured.total, "{name}");
            offered += 1;
        }
        for (kind, cost) in brute_force(job) {
            let single = found.iter().find(|m| m.changes.len() == 1 && m.changes[0].kind == kind);
            let single = single.unwrap_or_else(|| panic!("{name}: {kind:?} {cost:?} is missed"));
            assert!(
                single.changes[0].cost <= cost,
                "{name}: {} costs more than {cost:?}",
                single.label()
            );
        }
    }
    assert!(jobs.len() >= 50, "{}", jobs.len());
    assert!(helped * 10 >= jobs.len() * 9, "{helped} of {}", jobs.len());
    assert!(offered > jobs.len() * 4, "{offered}");
}

/// The numbers of GPUs that presets are tried on.
const GPU_COUNTS: [u64; 10] = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// A preset on this many GPUs.
fn preset_on(preset: &Preset, gpus: u64) -> (String, RawJob) {
    let job = with(&Setup::of_preset(preset).job, &[(F::world_size, int(gpus))]);
    (format!("{} on {gpus}", preset.id), job)
}

/// The values of the setting that an offer changes that lie between what is set and what it sets it to.
fn between(job: &RawJob, offer: &Offer) -> Vec<Vec<(F, Value)>> {
    let [change] = &offer.changes[..] else {
        return Vec::new();
    };
    let field = match change.kind {
        ChangeKind::Tensor => F::tensor_model_parallel_size,
        ChangeKind::Pipeline => F::pipeline_model_parallel_size,
        ChangeKind::Context => F::context_parallel_size,
        ChangeKind::Expert => F::expert_model_parallel_size,
        ChangeKind::MicroBatch => F::micro_batch_size,
        ChangeKind::MoreGpus => F::world_size,
        ChangeKind::OptimizerOffload => F::optimizer_offload_fraction,
        ChangeKind::Free
        | ChangeKind::Offload
        | ChangeKind::ExpertTensor
        | ChangeKind::Recompute
        | ChangeKind::Fsdp
        | ChangeKind::Precision
        | ChangeKind::Sequence => return Vec::new(),
    };
    let set = |value: Value| {
        let mut settings = change.settings.clone();
        for (_, now) in settings.iter_mut().filter(|(of, _)| *of == field) {
            *now = value.clone();
        }
        settings
    };
    if let Cost::OnHost(percent) = change.cost {
        let fractions = (1..percent / 5).map(|part| format!("0.{:02}", part * 5));
        return fractions.map(|fraction| set(Value::Text(fraction))).collect();
    }
    let config = check(job).config.unwrap();
    let now = match field {
        F::world_size => config.world_size(),
        F::micro_batch_size => config.modules()[0].args().micro_batch_size,
        field => job.number(0, field).unwrap_or(1),
    };
    let then = change.settings.iter().find(|(of, _)| *of == field);
    let Some((_, Value::Int(then))) = then else {
        panic!("{} sets no size", offer.label());
    };
    let then = u64::try_from(*then).unwrap();
    // A size that is no divisor is refused anyway; those of nodes are few enough to be tried one by one.
    let (from, to) = (now.min(then) + 1, now.max(then));
    let step = if field == F::world_size { now } else { 1 };
    let sizes = (from..to).filter(|size| size % step == 0).take(64);
    sizes.map(|size| set(int(size))).collect()
}

/// Checks the offers and the layouts of jobs, and returns how many were offered.
fn first_offers_fit(jobs: impl Iterator<Item = (String, RawJob)>) -> usize {
    let mut offered = 0;
    for (name, job) in jobs {
        if summary(&job).is_some() && !fits(&job) {
            let found = moves(&job);
            for offer in &found {
                let mut other = job.clone();
                offer.apply(&mut other);
                assert!(fits(&other), "{name}: {}", offer.label());
                for less in between(&job, offer) {
                    assert!(
                        !fits(&with(&job, &less)),
                        "{name}: {} where {less:?} fits",
                        offer.label()
                    );
                }
            }
            offered += found.len();
        }
        let Ok(space) = Space::new(&job, &Options::usual(&job)) else {
            continue;
        };
        let mut layouts = search(&space, 0..space.total(), u32::MAX, Keep::Fitting).candidates;
        layouts.sort_by(Candidate::order);
        let first = layouts.first().map(|first| space.verdict(first));
        let some_fits = layouts.iter().any(|layout| layout.verdict() == Verdict::Fits);
        assert!(first != Some(Verdict::Tight) || !some_fits, "{name}");
    }
    offered
}

/// Every preset on every number of GPUs.
#[test]
fn first_offers_are_the_smallest_change_that_fits_and_first_layouts_are_not_tight() {
    let everywhere = PRESETS
        .iter()
        .flat_map(|preset| GPU_COUNTS.map(|gpus| preset_on(preset, gpus)));
    let offered = first_offers_fit(everywhere);
    assert!(offered > 140, "{offered}");
}

/// What was offered before: CP 32 where CP 2 fits, and TP 8 where TP 4 does, both before recomputation.
#[test]
fn offers_of_one_kind_are_nearest_to_what_is_set() {
    let preset = by_id("deepseek-v3").unwrap();
    let job = Setup::of_preset(preset).job;
    let most = summary(&job).unwrap().device.0;
    // A little less than it needs.
    let job = with(&job, &[(F::gpu_memory_mib, int((most.0 >> 20) * 97 / 100))]);
    let found = moves(&job);
    let single = |kind| found.iter().find(|m| m.changes.len() == 1 && m.changes[0].kind == kind);
    for (kind, field) in [
        (ChangeKind::Context, F::context_parallel_size),
        (ChangeKind::Tensor, F::tensor_model_parallel_size),
    ] {
        let Some(offer) = single(kind) else { continue };
        let now = job.number(0, field).unwrap_or(1);
        assert_eq!(offer.changes[0].cost, distance(now, now * 2), "{}", offer.label());
    }
    // 4,096 tokens on two ranks are too few to hide their exchange.
    let place = |kind| {
        found
            .iter()
            .position(|m| m.changes.len() == 1 && m.changes[0].kind == kind)
    };
    let (context, recompute) = (place(ChangeKind::Context), place(ChangeKind::Recompute));
    assert!(context.is_none() || recompute < context, "{context:?} {recompute:?}");
    for offer in &found {
        let row = OfferRow::new(offer.clone(), Scale::coarse(Unit::Gib));
        let free = offer.changes.iter().all(|change| change.kind == ChangeKind::Free);
        assert!(free || row.cost != "costs nothing", "{row:?}");
    }
}

/// What a change switches on is named in it.
#[test]
fn changes_name_all_that_they_switch_on() {
    let preset = by_id("llama3-8b").unwrap();
    let job = Setup::of_preset(preset).job;
    let job = with(
        &job,
        &[
            (F::use_distributed_optimizer, Value::Bool(false)),
            (F::overlap_param_gather, Value::Bool(false)),
            (F::use_precision_aware_optimizer, Value::Bool(false)),
        ],
    );
    let most = summary(&job).unwrap().device.0;
    let job = with(&job, &[(F::gpu_memory_mib, int((most.0 >> 20) * 9 / 10))]);
    let mut named = 0;
    for offer in moves(&job) {
        for change in &offer.changes {
            let switches = change
                .settings
                .contains(&(F::use_distributed_optimizer, Value::Bool(true)));
            if switches {
                assert!(change.label.contains("distributed optimizer"), "{}", change.label);
                named += 1;
            }
        }
    }
    assert!(named > 1, "{named}");
}

/// What a job pays for its memory, by the measure of a kind of changes.
fn paid(job: &RawJob, kind: ChangeKind) -> Option<Cost> {
    let config = check(job).config?;
    let m = config.modules().first()?;
    let a = m.args();
    match kind {
        ChangeKind::Recompute => Some(Cost::Recomputed(recomputed_ppm(m, choice_of(m)))),
        ChangeKind::Offload => Some(Cost::OffloadedModules(if a.fine_grained_activation_offloading {
            a.offload_modules.iter().count().try_into().unwrap()
        } else {
            0
        })),
        ChangeKind::OptimizerOffload => Some(Cost::OnHost(if a.optimizer_cpu_offload {
            a.optimizer_offload_fraction.0 / 10_000
        } else {
            0
        })),
        ChangeKind::Tensor
        | ChangeKind::Pipeline
        | ChangeKind::Expert
        | ChangeKind::ExpertTensor
        | ChangeKind::Context => {
            let derived = m.derived();
            let dense = config.world_size() / derived.data_parallel_size;
            let expert = match derived.experts_per_rank {
                0 => 0,
                _ => config.world_size() / derived.expert_data_parallel_size,
            };
            Some(Cost::ReplicaGpus(dense.max(expert)))
        }
        _ => None,
    }
}

/// Jobs that have 150 % of the memory that they may need, and pay for it in all ways.
fn jobs_with_memory_left() -> Vec<(String, RawJob)> {
    let ways: [&[(F, Value)]; 3] = [
        &[],
        &[
            (F::recompute_granularity, name("full")),
            (F::recompute_method, name("uniform")),
            (F::recompute_num_layers, int(1)),
        ],
        &[
            (F::use_distributed_optimizer, Value::Bool(true)),
            (F::use_precision_aware_optimizer, Value::Bool(true)),
            (F::optimizer_cpu_offload, Value::Bool(true)),
            (F::optimizer_offload_fraction, Value::Text("0.85".into())),
            (F::fine_grained_activation_offloading, Value::Bool(true)),
            (
                F::offload_modules,
                Value::List(vec![name("core_attn"), name("attn_proj")]),
            ),
        ],
    ];
    let jobs = PRESETS.iter().step_by(5).zip(ways.into_iter().cycle());
    let jobs = jobs.filter_map(|(preset, settings)| {
        let job = with(&Setup::of_preset(preset).job, settings);
        let mib = (summary(&job)?.device.1.0 >> 20) * 3 / 2;
        let job = with(&job, &[(F::gpu_memory_mib, int(mib))]);
        Some((preset.id.to_owned(), job))
    });
    jobs.collect()
}

#[test]
fn a_job_with_memory_left_pays_less_with_each_change_and_still_fits() {
    let jobs = jobs_with_memory_left();
    let mut kinds = BTreeMap::new();
    for (name, job) in &jobs {
        assert!(fits(job), "{name}");
        let found = moves(job);
        for found in &found {
            let [change] = &found.changes[..] else {
                panic!("{name}: {} is a pair", found.label());
            };
            let mut other = job.clone();
            found.apply(&mut other);
            assert!(fits(&other), "{name}: {}", found.label());
            let before = paid(job, change.kind).unwrap();
            assert!(change.cost < before, "{name}: {}", found.label());
            // The mean over the stages of another pipeline is another one.
            if change.kind != ChangeKind::Pipeline {
                let after = paid(&other, change.kind);
                assert_eq!(after, Some(change.cost), "{name}: {}", found.label());
            }
            *kinds.entry(change.kind).or_insert(0) += 1;
        }
        for (kind, cost) in brute_force(job) {
            let cheaper = paid(job, kind).is_some_and(|now| cost < now);
            let single = found.iter().find(|m| m.changes[0].kind == kind);
            let best = single.map(|m| m.changes[0].cost);
            assert!(
                !cheaper || best.is_some_and(|best| best <= cost),
                "{name}: {kind:?} {cost:?} is missed, there is {best:?}"
            );
        }
    }
    assert!(jobs.len() > 20, "{}", jobs.len());
    for kind in [
        ChangeKind::Recompute,
        ChangeKind::Offload,
        ChangeKind::OptimizerOffload,
        ChangeKind::Tensor,
        ChangeKind::Pipeline,
    ] {
        assert!(kinds.contains_key(&kind), "{kind:?}: {kinds:?}");
    }
}

#[test]
fn without_a_gpu_nothing_fits() {
    let llama = PRESETS.iter().find(|p| p.id == "llama3.2-1b").unwrap();
    let job = Setup::of_preset(llama).job;
    assert!(fits(&job));
    let job = with(&job, &[(F::gpu, Value::Null)]);
    assert_eq!(offers(&job), Err(FitError::NoGpu));
    assert_eq!(limits(&job), Err(FitError::NoGpu));
    assert_eq!(longest_sequence(&job), None);
}

const SOME: [&str; 8] = [
    "gpt3-175b",
    "llama3-8b",
    "llama3.2-1b",
    "qwen3-30b-a3b",
    "qwen3-235b-a22b",
    "mixtral-8x22b",
    "deepseek-v2-lite",
    "nemotron-h-8b",
];

/// Where samples are packed up to a budget of tokens, the longest sequence is the longest sample: one that is longer than
/// the budget is a micro batch of its own.
#[test]
fn the_longest_sample_may_be_longer_than_the_budget_of_tokens() {
    let llama = Setup::of_preset(by_id("llama3-8b").unwrap()).job;
    assert!(!longest_sequence_is_of_samples(&llama));
    let settings = [
        (F::max_seqlen_per_dp_cp_rank, int(1_024)),
        (F::longest_sample_length, int(1_024)),
        (F::mean_sample_length, int(512)),
    ];
    let job = with(&llama, &settings);
    assert!(longest_sequence_is_of_samples(&job));
    let limit = longest_sequence(&job).unwrap();
    let with_sample = |tokens: u64| {
        let settings = [F::seq_length, F::max_position_embeddings, F::longest_sample_length];
        with(&job, &settings.map(|field| (field, int(tokens))))
    };
    assert!(limit.value > 2 * 1_024, "{}", limit.value);
    let mut longest = job.clone();
    limit.apply(&mut longest);
    assert_eq!(longest.number(0, F::longest_sample_length), Some(limit.value));
    assert!(fits(&longest));
    for further in 1..=8 {
        assert!(!fits(&with_sample(limit.value + further * 128)), "{}", limit.value);
    }
}

#[test]
fn largest_sizes_are_those_of_trying_all() {
    for preset in PRESETS.iter().filter(|p| SOME.contains(&p.id)) {
        let job = Setup::of_preset(preset).job;
        let id = preset.id;
        let config = check(&job).config.unwrap();
        let d = config.modules()[0].derived();
        let a = config.modules()[0].args();
        let copy = config.world_size() / d.data_parallel_size;

        let limit = longest_sequence(&job).unwrap();
        let length = limit.value;
        let mut longest = job.clone();
        limit.apply(&mut longest);
        assert!(fits(&longest), "{id} with {length}");
        let lengths = |length: u64| {
            let positions = (F::max_position_embeddings, int(length.max(1 << 20)));
            let learned = preset.id == "gpt3-175b";
            let positions = if learned { (positions.0, int(length)) } else { positions };
            with(&job, &[(F::seq_length, int(length)), positions])
        };
        assert!(fits(&lengths(length)), "{id} with {length}");
        for further in 1..=24 {
            let longer = length + further * 128;
            assert!(!fits(&lengths(longer)), "{id}: {longer} fits, not only {length}");
        }
        for times in [2, 3, 4, 8, 16] {
            assert!(!fits(&lengths(length * times)), "{id}: {times} · {length}");
        }

        let samples = d.global_batch_size / d.data_parallel_size;
        let all = (1..=samples).filter(|size| fits(&with(&job, &[(F::micro_batch_size, int(*size))])));
        let found = largest_micro_batch(&job).map(|limit| limit.value);
        assert_eq!(found, all.max(), "{id}");

        let all = (1..=d.global_batch_size / a.micro_batch_size).find(|dp| {
            let world = (F::world_size, int(copy * dp));
            fits(&with(&job, &[world, (F::global_batch_size, int(d.global_batch_size))]))
        });
        let found = fewest_gpus(&job).map(|limit| limit.value);
        assert_eq!(found, all.map(|dp| dp * copy), "{id}");
    }
}

/// Against giving the language model each number of replicas, the other modules their share, and placing all anew.
#[test]
fn fewest_gpus_of_several_modules_are_those_of_trying_all() {
    let several = JOBS.iter().map(|preset| (preset.id, preset.job()));
    let mut found = 0;
    for (id, job) in several.filter(|(_, job)| job.modules.len() > 1) {
        let config = check(&job).config.unwrap();
        let modules = config.modules();
        let language = modules.iter().find(|m| m.io().is_language()).unwrap();
        let d = language.derived();
        let replicas = |dp: u64| {
            let mut other = job.clone();
            let share = |of: u64| {
                Some(int(of * dp / d.data_parallel_size)).filter(|_| (of * dp).is_multiple_of(d.data_parallel_size))
            };
            other.put(0, F::global_batch_size, int(d.global_batch_size));
            // What modules on shared ranks are placed on; those on ranks of their own make the world as large as they
            // are.
            other.put(0, F::world_size, share(config.world_size())?);
            for (index, m) in modules.iter().enumerate() {
                other.put(index, F::data_parallel_size, share(m.derived().data_parallel_size)?);
            }
            other.lay_out();
            Some(other)
        };
        let all = 1..=d.global_batch_size / language.args().micro_batch_size;
        let first = all.filter_map(replicas).find(fits);
        let world = |job: &RawJob| check(job).config.unwrap().world_size();
        let limit = fewest_gpus(&job);
        assert_eq!(
            limit.as_ref().map(|limit| limit.value),
            first.as_ref().map(world),
            "{id}"
        );
        if let Some(limit) = limit {
            let mut other = job.clone();
            limit.apply(&mut other);
            assert!(fits(&other), "{id}");
            assert_eq!(world(&other), limit.value, "{id}");
            found += 1;
        }
    }
    assert!(found > 10, "{found}");
}

#[test]
fn a_layout_is_found_for_other_gpus_than_those_of_the_job() {
    for (id, gpus) in [("qwen3-235b-a22b", 64), ("deepseek-v3", 512), ("llama3-70b", 32)] {
        let preset = PRESETS.iter().find(|p| p.id == id).unwrap();
        let job = with(&Setup::of_preset(preset).job, &[(F::world_size, int(gpus))]);
        let mut search = LayoutSearch::new(&job).unwrap();
        while !search.advance(64) {}
        let settings = search.settings().unwrap();
        // It is the first of the table of layouts.
        let space = Space::new(&job, &Options::usual(&job)).unwrap();
        let found = megatron_memory::search::search(&space, 0..space.total(), u32::MAX, Keep::Fitting);
        let first = found.candidates.iter().min_by(|a, b| a.order(b)).unwrap();
        assert_eq!(space.settings(first.index), settings, "{id}");
        let job = with(&job, &settings);
        assert!(fits(&job), "{id}: {settings:?}");
        assert_eq!(check(&job).config.unwrap().world_size(), gpus);
    }
    // States alone take 75 GiB of every GPU: only the smallest overheads leave room for them.
    let preset = PRESETS.iter().find(|p| p.id == "llama3-70b").unwrap();
    let settings = [(F::world_size, int(16)), (F::gpu_memory_mib, int(81_559))];
    let job = with(&Setup::of_preset(preset).job, &settings);
    let mut search = LayoutSearch::new(&job).unwrap();
    while !search.advance(64) {}
    let job = with(&job, &search.settings().unwrap());
    assert_eq!(summary(&job).unwrap().verdict, Verdict::Tight);
    // Nothing holds this model.
    let preset = PRESETS.iter().find(|p| p.id == "deepseek-v3").unwrap();
    let job = with(&Setup::of_preset(preset).job, &[(F::world_size, int(8))]);
    let mut search = LayoutSearch::new(&job).unwrap();
    while !search.advance(64) {}
    assert_eq!(search.settings(), None);
}

fn sweep(job: &RawJob, field: F) -> Option<Sweep> {
    let mut sweep = Sweep::new(job, 0, field, None)?;
    while !sweep.step() {}
    Some(sweep)
}

#[test]
fn every_point_of_a_plot_is_the_estimate_of_its_job() {
    let mut points = 0;
    for (name, job) in jobs_over_the_limit().into_iter().step_by(7) {
        for sweep in PLOTTED.iter().filter_map(|field| sweep(&job, *field)) {
            let label = format!("{} of {name}", sweep.field.field().name);
            let values: Vec<u64> = sweep.points.iter().map(|point| point.value).collect();
            assert!(values.is_sorted(), "{label}");
            for point in &sweep.points {
                let mut other = job.clone();
                sweep.apply(point.value, &mut other);
                let expected = summary(&other).unwrap();
                assert_eq!(point.memory.total, expected.total, "{label}");
                assert_eq!(
                    (point.memory.device.0, point.memory.device.1),
                    expected.device,
                    "{label}"
                );
                assert_eq!(point.memory.has_room(), expected.verdict == Verdict::Fits, "{label}");
                points += 1;
            }
        }
    }
    assert!(points > 300, "{points}");
}

#[test]
fn a_plot_says_which_values_fit() {
    let job = Setup::of_preset(by_id("llama3-8b").unwrap()).job;
    let said = |job: &RawJob, field| words(&sweep(job, field).unwrap()).unwrap();
    let longest = longest_sequence(&job).unwrap().value;
    let lengths = sweep(&job, F::seq_length).unwrap();
    assert_eq!(lengths.limit(), Some(longest));
    assert_eq!(
        said(&job, F::seq_length),
        format!("fits up to {} tokens", grouped(longest))
    );
    // More tensor parallelism needs less: half-way between the least and the most, some sizes fit.
    let sizes = sweep(&job, F::tensor_model_parallel_size).unwrap().points;
    let (first, last) = (sizes[0].memory.device.1, sizes[sizes.len() - 1].memory.device.1);
    assert!(last < first);
    let between = with(&job, &[(F::gpu_memory_mib, int((first.0 + last.0) >> 21))]);
    let words_of_sizes = said(&between, F::tensor_model_parallel_size);
    assert!(words_of_sizes.starts_with("fits from "), "{words_of_sizes}");
    let nowhere = with(&job, &[(F::gpu_memory_mib, int(1000))]);
    let nowhere = sweep(&nowhere, F::seq_length).unwrap();
    assert_eq!(words(&nowhere).unwrap(), "fits with none of these values");
    assert_eq!(nowhere.limit(), None);
    // No number of experts is there to be changed.
    assert_eq!(sweep(&job, F::num_experts), None);
}

#[test]
fn a_plot_has_its_lines_within_its_picture() {
    for width in [240, 720] {
        for (name, job) in jobs_over_the_limit().into_iter().step_by(23) {
            for sweep in PLOTTED.iter().filter_map(|field| sweep(&job, *field)) {
                let field = sweep.field;
                let curves = [Curve {
                    name: name.clone(),
                    sweep,
                }];
                let plot = Plot {
                    field,
                    curves: &curves,
                    unit: Unit::Gib,
                    width: Px::of(width),
                };
                let scene = plot.draw();
                let inside = |(x, y): (Px, Px)| {
                    let across = Px::ZERO..=scene.width;
                    across.contains(&x) && (Px::ZERO..=scene.height).contains(&y)
                };
                for point in &curves[0].sweep.points {
                    let x = plot.x(point.value).unwrap();
                    assert_eq!(plot.nearest(x), Some(point), "{name}");
                    assert!(inside((x, Px::ZERO)), "{name}");
                }
                for drawing in scene.behind.iter().chain(&scene.before) {
                    if let Shape::Line { from, to } = drawing.shape {
                        assert!(inside(from) && inside(to), "{name}: {drawing:?}");
                    }
                }
            }
        }
    }
}

/// A sample of the stored table: the job of each line fits its GPU on as many GPUs as the line says, and the search
/// finds the same again for small models.
#[test]
fn stored_fewest_gpus_are_what_the_search_finds() {
    let path = format!("{ROOT}/{}", stored::PATH);
    let lines = stored::read(&std::fs::read_to_string(path).unwrap());
    for preset in PRESETS {
        let name = format!("{}@{}", preset.id, preset.version);
        for method in TrainingMethod::EACH {
            let known = |line: &stored::Line| line.preset == name && line.method == method;
            let what = "run `cargo xtask fewest-gpus`, which adds what is missing";
            assert!(lines.iter().any(known), "no line for {name}, {method:?}: {what}");
        }
    }
    for line in lines.iter().step_by(23) {
        let Count::Gpus(count, link) = &line.count else {
            continue;
        };
        // The number of the GPU goes behind what a readable link says.
        assert!(link.starts_with("#v1;m="), "{line}");
        let gpu = line.gpus.last().unwrap();
        let (state, notices) = decode(&line.link(gpu).unwrap());
        assert_eq!(notices, [], "{line}");
        let job = state.setup.job;
        assert_eq!(job.number(0, F::world_size), Some(*count), "{line}");
        assert_eq!(job.get(0, F::gpu), Some(&Value::Text(gpu.clone())));
        assert!(fits(&job), "{line}");
        let config = check(&job).config.unwrap();
        let method = TrainingMethod::of(&config.modules()[0]);
        assert_eq!(method, Some(line.method), "{line}");
    }
    for (id, method) in [
        ("llama3.2-1b", TrainingMethod::Full),
        ("llama3.2-1b", TrainingMethod::Adapters),
        ("llama3-8b", TrainingMethod::Fsdp),
        ("qwen3-30b-a3b", TrainingMethod::Full),
    ] {
        let mut found = Vec::new();
        stored::Line::complete(&mut found, by_id(id).unwrap(), method);
        let name = found[0].preset.clone();
        let kept = lines.iter().filter(|line| line.preset == name && line.method == method);
        assert_eq!(counts(found.iter()), counts(kept), "{id}");
    }
}

/// Numbers of another job do not say that a job fits: a router's weight in fp32 is not modelled beside Megatron FSDP.
#[test]
fn no_number_of_gpus_is_the_fewest_for_a_job_that_is_not_modelled() {
    for (id, key) in [
        ("minimax-m3", "moe_router_weight_in_fp32"),
        ("deepseek-v4-flash", "enable_mhc_connections"),
    ] {
        let job = with(
            &Setup::of_preset(by_id(id).unwrap()).job,
            &[(F::gpu, Value::Text("b200".to_owned()))],
        );
        let Fewest::Refused(reason) = fewest_in_any_layout(&job, TrainingMethod::Fsdp) else {
            panic!("{id} has a number");
        };
        assert!(
            reason.starts_with(&format!("{key} is not modelled: ")),
            "{id}: {reason}"
        );
    }
}

/// The number of GPUs of each type; 0 where there is none.
fn counts<'l>(lines: impl Iterator<Item = &'l stored::Line>) -> BTreeMap<String, u64> {
    let of_line = |line: &'l stored::Line| {
        let count = match line.count {
            Count::Gpus(count, _) => count,
            Count::None | Count::Refused(_) => 0,
        };
        line.gpus.iter().map(move |gpu| (gpu.clone(), count))
    };
    lines.flat_map(of_line).collect()
}
