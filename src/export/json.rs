//! A job and its result as one JSON file.

use super::provenance::made_by;
use crate::config::job::Config;
use crate::config::validate;
use crate::formats::job_json;
use crate::formats::state::ShareState;
use crate::memory::bucket::Bucket;
use crate::memory::reserved::ReservedRange;
use crate::memory::{Estimate, ModuleEstimate, StageEstimate};
use crate::report::verdict::another_job;
use crate::time::{StepTime, step_time};
use crate::value::Value;
use crate::verdict::Standing;

/// The text of the file: the document of [`job_json`], with the result where the job has one.
#[must_use]
pub fn write(state: &ShareState, result: Option<(&Config, &Estimate)>) -> String {
    write_with_reserved(state, result, None)
}

/// Like [`write`]; its result also has what PyTorch's allocator [holds](reserved) on the GPU with the largest peak.
#[must_use]
pub fn write_with_reserved(
    state: &ShareState,
    result: Option<(&Config, &Estimate)>,
    reserved: Option<&ReservedRange>,
) -> String {
    let mut document = job_json::document(state);
    let refusals: Vec<Value> = if let Some((config, _)) = result {
        config.refused_at_launch().iter().map(|reason| text(reason)).collect()
    } else {
        let checked = validate(&state.setup.job);
        checked.refusals().map(|problem| text(&problem.message)).collect()
    };
    if let Value::Map(entries) = &mut document {
        entries.push(entry("made_by", text(&made_by())));
        if !refusals.is_empty() {
            entries.push(entry("cannot_run", Value::List(refusals)));
        }
        entries.extend(result.map(|(config, estimate)| entry("result", self::result(config, estimate, reserved))));
    }
    job_json::file(&document)
}

/// The result as JSON: bytes by module, stage and bucket, the stage that needs most, and the time of a step.
fn result(config: &Config, estimate: &Estimate, reserved: Option<&ReservedRange>) -> Value {
    let worst = estimate.worst;
    let bytes = estimate.worst_stage().map_or(0, |stage| stage.total.0);
    let modules = config.modules().iter().zip(&estimate.modules);
    let modules = modules.map(|(module, estimate)| result_of_module(module.name(), estimate));
    let mut entries = vec![
        entry(
            "worst",
            Value::Map(vec![
                entry("module", count(worst.module)),
                entry("pp_rank", count(worst.pp_rank)),
                entry("bytes", int(bytes)),
            ]),
        ),
        entry("modules", Value::List(modules.collect())),
    ];
    entries.extend(reserved.map(|reserved| {
        let by_replay = Standing::by_factors(config, estimate).by_replay(config, estimate, reserved);
        entry("reserved", reserved_on_device(reserved, &by_replay))
    }));
    entries.extend(match step_time(config, estimate) {
        Ok(time) => [entry("time", result_of_time(&time)), entry("time_reason", Value::Null)],
        Err(why) => [entry("time", Value::Null), entry("time_reason", text(&why.to_string()))],
    });
    if let Some(reason) = another_job(config) {
        entries.insert(0, entry("not_this_job", text(&reason)));
    }
    Value::Map(entries)
}

/// The least and the most bytes that PyTorch's allocator holds, and how many of them are free when it takes more of the
/// GPU's memory for the last time, with that moment in words.
#[must_use]
pub fn reserved(range: &ReservedRange) -> Value {
    Value::Map(entries_of_reserved(range))
}

/// [`reserved`] with three more entries: the least and the most bytes that the device shows when so much is reserved, and
/// the verdict on them ([`Standing::by_replay`]).
#[must_use]
pub fn reserved_on_device(range: &ReservedRange, by_replay: &Standing) -> Value {
    let (low, high) = by_replay.device;
    let mut entries = entries_of_reserved(range);
    entries.extend([
        entry("device_low_bytes", int(low.0)),
        entry("device_high_bytes", int(high.0)),
        entry("verdict", by_replay.verdict.id().map_or(Value::Null, text)),
    ]);
    Value::Map(entries)
}

fn entries_of_reserved(range: &ReservedRange) -> Vec<(String, Value)> {
    vec![
        entry("low_bytes", int(range.low.0)),
        entry("high_bytes", int(range.high.0)),
        entry("holes_bytes", int(range.holes.free.0)),
        entry("holes_moment", text(&range.holes.moment.to_string())),
    ]
}

/// Seconds of a step, what they come to, and what they are spent on.
fn result_of_time(time: &StepTime) -> Value {
    let [low, high] = time.interval;
    let parts = time
        .by_part()
        .map(|(part, seconds)| entry(part.id(), Value::Float(seconds)));
    Value::Map(vec![
        entry("step_seconds", Value::Float(time.seconds)),
        entry("low_seconds", Value::Float(low)),
        entry("high_seconds", Value::Float(high)),
        entry(
            "tokens_per_second_per_gpu",
            Value::Float(time.tokens_per_second_per_gpu),
        ),
        entry("tflops_per_gpu", Value::Float(time.tflops_per_gpu())),
        entry("mfu", Value::Float(time.mfu)),
        entry("parts", Value::Map(parts.collect())),
        entry("bottleneck", text(time.bottleneck().id())),
    ])
}

fn result_of_module(name: &str, estimate: &ModuleEstimate) -> Value {
    let stages = estimate.stages.iter().enumerate();
    Value::Map(vec![
        entry("name", text(name)),
        entry(
            "stages",
            Value::List(stages.map(|(rank, stage)| result_of_stage(rank, stage)).collect()),
        ),
    ])
}

fn result_of_stage(pp_rank: usize, stage: &StageEstimate) -> Value {
    let buckets = Bucket::ALL.into_iter();
    let buckets = buckets.map(|bucket| entry(bucket.id(), int(stage.bytes(bucket).0)));
    Value::Map(vec![
        entry("pp_rank", count(pp_rank)),
        entry("bytes", int(stage.total.0)),
        entry("buckets", Value::Map(buckets.collect())),
    ])
}

fn entry(key: &str, value: Value) -> (String, Value) {
    (key.to_owned(), value)
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn int(int: u64) -> Value {
    Value::Int(int.into())
}

fn count(count: usize) -> Value {
    int(u64::try_from(count).unwrap_or(u64::MAX))
}
