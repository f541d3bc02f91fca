use megatron_memory::memory::JobMoment;
use megatron_memory::memory::reserved::reserved;
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::report::reserved::{Replayed, by_factors, derivation, line};
use megatron_memory::units::Bytes;
use serde_json::json;

use super::Job;

/// The line of the fullest stage has the amounts of the rank that runs it and nothing else.
#[test]
fn the_line_of_a_stage_has_the_amounts_of_its_replay() {
    let job = Job::small(json!({ "pipeline_model_parallel_size": 4, "global_batch_size": 64 }));
    let scale = Scale::fine(Unit::Gib);
    let found = reserved(&job.config, &job.estimate.worst_rank, JobMoment::default()).unwrap();
    let replayed = Replayed::of(&job.config, &job.estimate, job.estimate.worst).unwrap();
    let words = line(&replayed, scale);
    for amount in [scale.range(found.low, found.high), scale.amount(found.holes.free)] {
        assert!(words.contains(&amount), "{words}");
    }
    assert!(words.ends_with(&format!(": {}.", found.holes.moment)), "{words}");
    let how = derivation(&replayed, scale);
    let (low, high) = found.replayed;
    assert!(how.contains(&scale.range(low, high)), "{how}");
    assert!(
        how.contains(&format!("{} allocated", scale.amount(job.estimate.worst_rank.total))),
        "{how}"
    );
}

/// With factors of its own a job is not replayed, and the line by the factors has them.
#[test]
fn the_line_by_the_factors_has_those_of_the_job() {
    let job = Job::small(json!({ "reserved_over_allocated_low": 1.25, "reserved_over_allocated_high": 1.5 }));
    let scale = Scale::fine(Unit::Gib);
    let worst = job.estimate.worst;
    assert_eq!(Replayed::of(&job.config, &job.estimate, worst), None);
    let [line, how] = by_factors(&job.config, &job.estimate, worst, scale).unwrap();
    let total = job.estimate.worst_stage().unwrap().total.0;
    let range = scale.range(Bytes(total * 5 / 4), Bytes(total * 3 / 2));
    assert_eq!(line, format!("Reserved by the factors: {range}."));
    assert!(how.contains("1.25 to 1.5 times"), "{how}");
}
