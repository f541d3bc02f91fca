//! The replay of the allocator, beside what PyTorch's reserved in real jobs.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::evidence::{MeasuredStage, Run, read};
use megatron_memory::fit::{AllocatorSetting, ReservedGain, reserved_gains};
use megatron_memory::memory::reserved::{AllocatorReplay, MicroBatches, replay_allocator, reserved};
use megatron_memory::memory::{JobMoment, StageRef, estimate};
use megatron_memory::presets::PRESETS;
use megatron_memory::units::Bytes;
use megatron_memory::value::Value;

use crate::{ROOT, oracle};

const MIB: f64 = 1024.0 * 1024.0;

fn runs(name: &str) -> Vec<Run> {
    let path = format!("{ROOT}/src/evidence/runs/{name}");
    read(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn stage(pp_rank: usize) -> StageRef {
    StageRef { module: 0, pp_rank }
}

fn replay(job: &RawJob, pp_rank: usize, rank: u64, moment: JobMoment) -> AllocatorReplay {
    let config = check(job).config.unwrap();
    replay_allocator(&config, stage(pp_rank), rank, moment, MicroBatches::UntilTheyRepeat).unwrap()
}

/// How far off a prediction is, in percent.
#[allow(clippy::cast_precision_loss, reason = "percentages need no more than 52 bits")]
fn percent(predicted: Bytes, measured: f64) -> f64 {
    100.0 * (predicted.0 as f64 / measured - 1.0)
}

/// The jobs of three layers whose every request was recorded on an H100.
#[test]
fn recorded_training_steps() {
    let recorded = oracle::json("allocator/training.json");
    let runs = runs("one_h100.json");
    for recording in recorded["runs"].as_array().unwrap() {
        let name = recording["name"].as_str().unwrap();
        let run = runs.iter().find(|run| run.id == format!("one-h100:{name}")).unwrap();
        let mut job = run.job_with_software().unwrap();
        job.shared.set(FieldId::num_layers, Value::Int(3));
        for (report, moment) in [
            ("iteration 1", JobMoment::FirstIteration),
            ("iteration 2", JobMoment::LaterIteration),
        ] {
            let reports = recording["reports"].as_array().unwrap();
            let of = reports.iter().find(|of| of[1] == report).unwrap();
            let number = |place: usize| of[place].as_f64().unwrap();
            let replayed = replay(&job, 0, 0, moment);
            for (what, error, most) in [
                ("allocated", percent(replayed.allocated, number(2)), 0.11),
                ("most allocated", percent(replayed.most_allocated, number(3)), 0.25),
                ("most reserved", percent(replayed.most_reserved, number(5)), 2.2),
            ] {
                assert!(error.abs() < most, "{name}, {report}: {what} is off by {error:.2} %");
            }
        }
    }
}

/// `SimuMax` lists what every rank of its jobs reserved.
#[test]
fn ranks_of_a_stage() {
    let measured = oracle::json("measured.json");
    let runs = runs("simumax_b200.json");
    let mut errors = Vec::new();
    for record in measured["records"].as_array().unwrap() {
        let (Some(ranks), Some(id)) = (record["per_rank_max_reserved_mib"].as_array(), record["id"].as_str()) else {
            continue;
        };
        let number = |key: &str| record[key].as_u64().unwrap();
        let (tp, of_stage) = (number("tp"), 8 / number("pp"));
        for (rank, measured) in (0u64..).zip(ranks) {
            let pp_rank = usize::try_from(rank / of_stage).unwrap();
            let of_run = |run: &&Run| {
                let stage = run.stage == Some(MeasuredStage::At(pp_rank));
                stage && (run.id == id || run.id.starts_with(&format!("{id}:stage")))
            };
            let run = runs.iter().find(of_run).unwrap();
            let job = run.job_with_software().unwrap();
            let replayed = replay(&job, pp_rank, rank % of_stage / tp, run.moment);
            let error = percent(replayed.most_reserved, measured.as_f64().unwrap() * MIB);
            assert!(error.abs() < 3.0, "{id}, rank {rank}: off by {error:.2} %");
            errors.push(error.abs());
        }
    }
    assert_eq!(errors.len(), 64);
    errors.sort_by(f64::total_cmp);
    let median = errors[errors.len() / 2];
    assert!(median < 0.4, "the median error is {median:.2} %");
}

/// What settings of the allocator gain is what a replay of the changed job reserves less, and a job that has them gains
/// nothing by them.
#[test]
fn settings_gain_what_the_changed_job_reserves_less() {
    let preset = PRESETS.iter().find(|preset| preset.id == "llama3-70b").unwrap();
    let job = preset.contents().unwrap().raw_job();
    let of = |job: &RawJob| {
        let config = check(job).config.unwrap();
        reserved(&config, &estimate(&config).worst_rank, JobMoment::default()).unwrap()
    };
    let now = of(&job);
    let gains = reserved_gains(&job);
    let mut with_all = job.clone();
    for gain in &gains {
        let name = gain.setting.label();
        let mut changed = job.clone();
        gain.apply(&mut changed);
        gain.apply(&mut with_all);
        let then = of(&changed);
        assert_eq!((gain.now, gain.then), (now, then), "{name}");
        assert_eq!(gain.bytes(), Bytes(now.replayed.1.0 - then.replayed.1.0), "{name}");
    }
    let is_of_segments = |gain: &ReservedGain| gain.setting == AllocatorSetting::ExpandableSegments;
    assert!(gains.iter().any(is_of_segments));
    let again = reserved_gains(&with_all);
    let mut settings = again.iter().map(|gain| gain.setting);
    assert!(settings.all(|again| gains.iter().all(|gain| gain.setting != again)));
}

/// Segments that are given back after the step are no longer reserved, and what is allocated stays but for some rests.
#[test]
fn given_back_segments_are_not_reserved() {
    for id in ["llama3-8b", "llama3-70b"] {
        let preset = PRESETS.iter().find(|preset| preset.id == id).unwrap();
        let of = |level: i128| {
            let mut job = preset.contents().unwrap().raw_job();
            job.shared.set(FieldId::expandable_segments, Value::Bool(false));
            job.shared.set(FieldId::empty_unused_memory_level, Value::Int(level));
            replay(&job, 0, 0, JobMoment::LaterIteration)
        };
        let (never, after_passes, after_steps) = (of(0), of(1), of(2));
        assert_eq!(never.reserved, never.most_reserved, "{id}");
        for given_back in [after_passes, after_steps] {
            let difference = given_back.allocated.0.abs_diff(never.allocated.0);
            assert!(difference * 1_000 < never.allocated.0, "{id}: {difference}");
        }
        assert!(after_steps.reserved < never.reserved, "{id}");
        assert!(after_steps.reserved < after_steps.most_reserved, "{id}");
    }
}

/// Blocks of a size from which they are not split serve only requests of about that size.
#[test]
fn blocks_that_are_kept_whole_count_as_unused() {
    let preset = PRESETS.iter().find(|preset| preset.id == "llama3-8b").unwrap();
    let of = |mib: Option<i128>| {
        let mut job = preset.contents().unwrap().raw_job();
        job.shared.set(FieldId::expandable_segments, Value::Bool(false));
        if let Some(mib) = mib {
            job.shared.set(FieldId::max_split_size_mb, Value::Int(mib));
        }
        replay(&job, 0, 0, JobMoment::LaterIteration)
    };
    let (without, huge, small) = (of(None), of(Some(100_000_000)), of(Some(20)));
    assert_eq!(without, huge);
    assert_eq!(without.most_split, without.most_allocated);
    assert_ne!(without.most_reserved, small.most_reserved);
    assert!(small.most_split < small.most_allocated);
}

/// With every preset: what is left out once passes repeat changes nothing.
#[test]
fn repeated_passes_change_nothing() {
    let mut compared = 0;
    for preset in PRESETS {
        let config = check(&preset.contents().unwrap().raw_job()).config.unwrap();
        let estimate = estimate(&config);
        let worst = estimate.worst;
        let of = |micro_batches| replay_allocator(&config, worst, 0, JobMoment::FirstIteration, micro_batches);
        if let Some(full) = of(MicroBatches::All) {
            assert_eq!(of(MicroBatches::UntilTheyRepeat), Some(full), "{}", preset.id);
            compared += 1;
        }
    }
    assert!(compared > 20, "only {compared} presets were replayed");
}

/// States of whole parameters move to the host until they are the wanted part or more: the last one to move, the
/// embedding, is more than half of this model, so that two thirds and all of it leave the same but for the norms, of
/// which five have two moments of 1,024 bytes.
#[test]
fn states_of_whole_parameters_move_to_the_host() {
    let allocated = |part: f64| {
        let job = serde_json::json!({
            "num_layers": 2, "hidden_size": 256, "ffn_hidden_size": 1024, "num_attention_heads": 4, "padded_vocab_size": 32768,
            "seq_length": 128, "max_position_embeddings": 128, "micro_batch_size": 1, "world_size": 1, "bf16": true,
            "normalization": "RMSNorm", "add_bias_linear": false, "position_embedding_type": "rope",
            "use_distributed_optimizer": true, "optimizer_cpu_offload": true, "optimizer_offload_fraction": part,
            "expandable_segments": true,
        });
        let job = RawJob::from_value(&serde_json::from_value::<Value>(job).unwrap());
        replay(&job, 0, 0, JobMoment::LaterIteration).allocated.0
    };
    let [none, some, all] = [0.0, 0.66, 1.0].map(allocated);
    assert_eq!(some - all, 5 * 2 * 1024);
    let layer = (3 + 1) * 256 * 256 + 2 * 256 * 1024;
    let parameters = 32768 * 256 + 2 * layer + 5 * 256;
    assert_eq!(none - all, parameters * 2 * 4);
}
