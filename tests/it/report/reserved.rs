use megatron_memory::memory::JobMoment;
use megatron_memory::memory::reserved::reserved;
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::report::reserved::{Replayed, by_factors, derivation, line, sentences, settled};
use megatron_memory::units::Bytes;
use megatron_memory::verdict::{Standing, Verdict};
use serde_json::json;

use super::Job;

/// The line of the fullest stage has the amounts of the rank that runs it and nothing else.
#[test]
fn the_line_of_a_stage_has_the_amounts_of_its_replay() {
    let job = Job::small(json!({ "pipeline_model_parallel_size": 4, "global_batch_size": 64 }));
    let scale = Scale::fine(Unit::Gib);
    let found = reserved(&job.config, &job.estimate.worst_rank, JobMoment::default()).unwrap();
    let replayed = Replayed::of(&job.config, &job.estimate, job.estimate.worst).unwrap();
    let words = line(&job.config, &replayed, scale);
    let standing = Standing::by_factors(&job.config, &job.estimate);
    let by_replay = standing.by_replay(&job.config, &job.estimate, &found);
    let (low, high) = by_replay.device;
    for words in [&words, &sentences(&found, &by_replay, scale)] {
        for amount in [
            scale.range(found.low, found.high),
            scale.range(low, high),
            scale.amount(found.holes.free),
        ] {
            assert!(words.contains(&amount), "{words}");
        }
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

/// What the device shows by a replay has the overheads that it has by the factors, and the verdict follows from it.
#[test]
fn the_standing_by_a_replay_has_its_reserved_memory_in_place_of_the_factors() {
    let job = Job::small(json!({ "pipeline_model_parallel_size": 4, "global_batch_size": 64 }));
    let standings = |job: &Job| {
        let found = reserved(&job.config, &job.estimate.worst_rank, JobMoment::default()).unwrap();
        let standing = Standing::by_factors(&job.config, &job.estimate);
        (found, standing, standing.by_replay(&job.config, &job.estimate, &found))
    };
    let (found, by_factors, by_replay) = standings(&job);
    let total = job.estimate.worst_rank.total.0;
    let beside = |device: Bytes, reserved: u64| device.0 - reserved;
    assert_eq!(
        beside(by_replay.device.0, found.low.0),
        beside(by_factors.device.0, total * 103 / 100)
    );
    assert_eq!(
        beside(by_replay.device.1, found.high.0),
        beside(by_factors.device.1, total * 109 / 100)
    );
    // As much as the smaller of the two largest amounts.
    let least = by_factors.device.1.min(by_replay.device.1);
    let job = Job::small(json!({
        "pipeline_model_parallel_size": 4, "global_batch_size": 64, "gpu_memory_mib": least.0.div_ceil(1 << 20),
    }));
    let (_, by_factors, by_replay) = standings(&job);
    for standing in [by_factors, by_replay] {
        let expected = if standing.device.1 == least {
            Verdict::Fits
        } else {
            Verdict::Tight
        };
        assert_eq!(standing.verdict, expected, "{standing:?}");
    }
    assert_ne!(by_factors.verdict, by_replay.verdict);
}

/// What is replayed for a tight job is the rank that needs most over all of its modules, and its standing is that of the job.
#[test]
fn a_tight_job_has_the_standing_of_its_replay() {
    let colocated = json!({
        "world_size": 8, "colocate_modules": true, "bf16": true, "num_layers": 4, "hidden_size": 1024,
        "num_attention_heads": 16,
        "modules": [
            { "name": "language", "seq_length": 1024, "max_position_embeddings": 1024, "vocab_size": 8192 },
            { "name": "images", "front_end": "patches", "img_h": 336, "img_w": 336, "patch_dim": 14, "projector": "mlp",
              "projector_hidden_size": 4096, "class_token_len": 1 },
        ],
    });
    let small = json!({ "world_size": 8, "bf16": true, "num_layers": 4, "hidden_size": 1024, "num_attention_heads": 16,
        "seq_length": 1024, "max_position_embeddings": 1024, "vocab_size": 8192 });
    let scale = Scale::fine(Unit::Gib);
    for job in [small, colocated] {
        let own = Job::new(&job);
        let found = reserved(&own.config, &own.estimate.worst_rank, JobMoment::default()).unwrap();
        let (low, high) = Standing::by_factors(&own.config, &own.estimate).device;
        let (_, most) = Standing::by_factors(&own.config, &own.estimate)
            .by_replay(&own.config, &own.estimate, &found)
            .device;
        let in_mib = |bytes: Bytes| bytes.0.div_ceil(1 << 20);
        // As much as the device shows at the most by the replay, and a little less than by the factors at the least.
        for (mib, expected) in [(in_mib(most), Verdict::Fits), (in_mib(low), Verdict::Tight)] {
            let mut job = job.clone();
            job["gpu_memory_mib"] = mib.into();
            let job = Job::new(&job);
            let by_factors = Standing::by_factors(&job.config, &job.estimate);
            assert_eq!(by_factors.verdict, Verdict::Tight, "{mib} MiB, {low:?} to {high:?}");
            let standing = Standing::new(&job.config, &job.estimate);
            assert_eq!(standing.verdict, expected, "{standing:?}");
            let replayed = Replayed::of_worst_rank(&job.config, &job.estimate).unwrap();
            assert_eq!(replayed.standing(&job.config, by_factors), standing);
            let words = settled(&standing, &by_factors, scale);
            let (low, high) = by_factors.device;
            assert!(words.contains(&scale.range(low, high)), "{words}");
            assert_eq!(words.contains(" too ("), expected == Verdict::Tight, "{words}");
        }
    }
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
