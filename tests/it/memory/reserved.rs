//! The replay of the allocator, beside what PyTorch's reserved in real jobs.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::evidence::{MeasuredStage, Run, read};
use megatron_memory::fit::reserved_gain;
use megatron_memory::memory::reserved::{AllocatorReplay, MicroBatches, replay_allocator, reserved};
use megatron_memory::memory::{JobMoment, StageRef, estimate};
use megatron_memory::presets::PRESETS;
use megatron_memory::units::Bytes;
use megatron_memory::value::Value;

use crate::oracle;

const MIB: f64 = 1024.0 * 1024.0;

fn runs(name: &str) -> Vec<Run> {
    let path = format!("{}/src/evidence/runs/{name}", env!("CARGO_MANIFEST_DIR"));
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

/// What expandable segments gain is what a replay of the changed job reserves less, and a job that has them gains none.
#[test]
fn expandable_segments_gain_what_the_changed_job_reserves_less() {
    let mut gains = 0;
    for id in ["llama3-8b", "llama3-70b", "gpt3-175b"] {
        let preset = PRESETS.iter().find(|preset| preset.id == id).unwrap();
        let job = preset.contents().unwrap().raw_job();
        let of = |job: &RawJob| {
            let config = check(job).config.unwrap();
            reserved(&config, &estimate(&config).worst_rank, JobMoment::default()).unwrap()
        };
        let mut changed = job.clone();
        changed.shared.set(FieldId::expandable_segments, Value::Bool(true));
        assert_eq!(reserved_gain(&changed), None, "{id}");
        let (now, then) = (of(&job), of(&changed));
        let Some(gain) = reserved_gain(&job) else {
            assert!(then.replayed.1 >= now.replayed.1, "{id}");
            continue;
        };
        assert_eq!((gain.now, gain.then), (now, then), "{id}");
        assert_eq!(gain.bytes(), Bytes(now.replayed.1.0 - then.replayed.1.0), "{id}");
        let mut applied = job.clone();
        gain.change.apply(&mut applied, gain.module);
        assert_eq!(of(&applied), then, "{id}");
        gains += 1;
    }
    assert!(gains > 0);
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
