//! Stepping through legal values.

use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::config::suggest::step::{Step, step};
use megatron_memory::formats::share_url::visit;
use megatron_memory::value::Value;
use serde_json::{Value as Json, json};

use super::{dense, with};

fn job(json: &Json) -> RawJob {
    let value: Value = serde_json::from_value(json.clone()).unwrap();
    RawJob::from_value(&value)
}

/// What steps lead through, up to the end.
fn way(job: &RawJob, field: FieldId, to: Step) -> Vec<u64> {
    let mut job = job.clone();
    let steps = core::iter::from_fn(|| {
        let there = step(&job, 0, field, to)?;
        job.put(0, field, Value::Int(there.into()));
        Some(there)
    });
    steps.take(40).collect()
}

#[test]
fn steps_end_at_the_last_legal_value() {
    let page = visit("").state;
    let job = page.setup.job;
    let up = |field| way(&job, field, Step::Up);
    assert_eq!(up(FieldId::pipeline_model_parallel_size), [32]);
    assert_eq!(up(FieldId::expert_model_parallel_size), [128]);
    assert_eq!(up(FieldId::expert_tensor_parallel_size), [2]);
    assert_eq!(
        up(FieldId::tensor_model_parallel_size).last(),
        Some(&128),
        "as many as there are heads"
    );
    let ends = way(&job, FieldId::pipeline_model_parallel_size, Step::Double);
    assert_eq!(ends, [32]);
    let mut chunks = job.clone();
    let field = FieldId::virtual_pipeline_model_parallel_size;
    chunks.put(0, field, Value::Int(2.into()));
    // The layout has so many.
    assert_eq!(step(&chunks, 0, field, Step::Up), None);
    let down = way(&job, FieldId::pipeline_model_parallel_size, Step::Down);
    assert_eq!(down.last(), Some(&2), "{down:?}");
}

#[test]
fn stages_keep_room_for_the_experts() {
    let mut job = visit("").state.setup.job;
    job.put(0, FieldId::world_size, Value::Int(3072));
    // 32 stages of 96 ranks, which 64 experts' ranks do not divide.
    let field = FieldId::pipeline_model_parallel_size;
    assert_eq!(step(&job, 0, field, Step::Up), None);
}

#[test]
fn from_what_is_not_legal_a_step_leads_to_what_is() {
    let job = job(&with(dense(), json!({"tensor_model_parallel_size": 3})));
    let field = FieldId::tensor_model_parallel_size;
    assert_eq!(step(&job, 0, field, Step::Down), Some(2));
    assert_eq!(step(&job, 0, field, Step::Up), Some(4));
}

#[test]
fn where_nothing_is_legal_plain_numbers_lead_on() {
    // Eight replicas share no seven samples.
    let job = job(&with(dense(), json!({"global_batch_size": 7})));
    let field = FieldId::micro_batch_size;
    assert_eq!(step(&job, 0, field, Step::Up), Some(2));
    assert_eq!(step(&job, 0, field, Step::Down), None);
}

#[test]
fn a_sequence_grows_by_an_eighth_of_a_power_of_two() {
    let job = |length: u64| {
        job(&with(
            dense(),
            json!({"seq_length": length, "max_position_embeddings": 16_384}),
        ))
    };
    let field = FieldId::seq_length;
    for (from, up, down) in [
        (8192, 9216, 7168),
        (9216, 10_240, 8192),
        (4096, 4608, 3584),
        (5000, 5120, 4608),
    ] {
        assert_eq!(step(&job(from), 0, field, Step::Up), Some(up), "{from}");
        assert_eq!(step(&job(from), 0, field, Step::Down), Some(down), "{from}");
    }
}
