//! The texts of the table of ways of training.

use crate::values::shown;
use megatron_memory::config::choices::AdapterType;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::job::Config;
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::methods::{MethodMemory, MethodResult, TrainingMethod};
use megatron_memory::report::amount::{Scale, parameters};
use megatron_memory::report::headroom::Headroom;
use megatron_memory::report::time::duration_of;
use megatron_memory::report::verdict::Verdict;
use megatron_memory::search::{Candidate, MethodAlternative, Ranking, ranking};
use megatron_memory::units::Bytes;
use megatron_memory::value::Value;

/// The most buckets that are named as those that change most.
const MOST: usize = 3;

/// A way of training.
#[derive(Clone, PartialEq)]
pub(super) struct MethodFacts {
    /// The way's name in programs.
    pub(super) id: &'static str,
    /// The way's name for people, such as `LoRA`.
    pub(super) name: String,
    /// The settings that select the way where the job has others, such as `PEFT lora`.
    pub(super) settings: String,
    /// The same settings as values of fields.
    pub(super) changes: Vec<(FieldId, Value)>,
    /// Whether the job is trained so.
    pub(super) is_current: bool,
    /// Whether it is the first one that leaves too little memory free to run as fast as predicted, behind others that
    /// leave enough.
    pub(super) is_below_line: bool,
    /// What the job needs then, or why Megatron refuses it.
    pub(super) result: Result<MethodAmounts, String>,
}

/// The memory of a job that is trained in one way.
#[derive(Clone, PartialEq)]
pub(super) struct MethodAmounts {
    /// Its rank in the order of searches.
    pub(super) rank: String,
    /// The peak of the fullest GPU.
    pub(super) peak: String,
    pub(super) verdict: Verdict,
    /// Memory that stays free on the GPU, or is missing.
    pub(super) gpu: String,
    /// Memory that stays allocated between iterations.
    pub(super) steady: String,
    /// The predicted time of a step; empty where there is none.
    pub(super) step: String,
    /// How many parameters of the fullest GPU are trained.
    pub(super) trained: String,
    /// The buckets that differ most from the job as it is.
    pub(super) changes: String,
}

/// A row for each way of training, in the order of searches; `config` is the job as it is.
pub(super) fn rows(found: &[MethodAlternative], config: Option<&Config>, scale: Scale) -> Vec<MethodFacts> {
    let current = found.iter().find(|way| way.result.current);
    let current = current.and_then(|way| way.result.result.as_ref().ok());
    let candidates: Vec<Option<Candidate>> = found.iter().map(|way| way.candidate).collect();
    let ranking = ranking(&candidates);
    let first_nearly_full = ranking.iter().position(|ranked| ranked.is_nearly_full);
    let row = |place: usize, ranked: &Ranking, MethodAlternative { result: way, candidate }: &MethodAlternative| {
        MethodFacts {
            is_below_line: place > 0 && Some(place) == first_nearly_full,
            id: way.method.id(),
            name: name(way),
            settings: settings(way),
            changes: way.settings.clone(),
            is_current: way.current,
            result: match &way.result {
                Ok(memory) => Ok(MethodAmounts {
                    rank: ranked.rank.map_or_else(String::new, |rank| rank.to_string()),
                    step: candidate
                        .and_then(|candidate| candidate.step_nanoseconds)
                        .map_or_else(String::new, duration_of),
                    ..amounts(memory, current, config, scale)
                }),
                Err(refused) => Err(refused.clone()),
            },
        }
    };
    let ranked = ranking.iter().enumerate();
    let rows = ranked.filter_map(|(place, ranked)| Some(row(place, ranked, found.get(ranked.index)?)));
    rows.collect()
}

fn amounts(
    memory: &MethodMemory,
    current: Option<&MethodMemory>,
    config: Option<&Config>,
    scale: Scale,
) -> MethodAmounts {
    let gpu = config.and_then(Config::reported_gpu_memory);
    let verdict = config.map_or(Verdict::Unknown, |config| Verdict::of(config, memory.device));
    MethodAmounts {
        rank: String::new(),
        peak: scale.amount(memory.peak),
        verdict,
        gpu: match gpu {
            Some(gpu) => Headroom::of(memory.device, gpu).words(scale),
            None => verdict.words().to_owned(),
        },
        steady: scale.amount(memory.steady),
        step: String::new(),
        trained: parameters(memory.trainable),
        changes: match current {
            Some(current) => largest_changes(current, memory, scale),
            None => String::new(),
        },
    }
}

/// The buckets that differ most, such as `Main grads −29.9 GiB, exp_avg −7.5 GiB`; empty where none does.
fn largest_changes(from: &MethodMemory, to: &MethodMemory, scale: Scale) -> String {
    let buckets = Bucket::ALL.into_iter().zip(from.memory).zip(to.memory);
    let mut changes: Vec<(Bucket, Bytes, Bytes)> = buckets
        .map(|((bucket, from), to)| (bucket, from, to))
        .filter(|(_, from, to)| scale.steps(Bytes(from.0.abs_diff(to.0))) > 0)
        .collect();
    changes.sort_by_key(|(_, from, to)| core::cmp::Reverse(from.0.abs_diff(to.0)));
    let words = changes.iter().take(MOST).map(|(bucket, from, to)| {
        let sign = if to < from { "−" } else { "+" };
        let amount = scale.amount(Bytes(from.0.abs_diff(to.0)));
        format!("{} {sign}{amount}", bucket.label())
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The name of a way, with the kind of adapters where it has some.
fn name(way: &MethodResult) -> String {
    match way.method {
        TrainingMethod::Full => String::from("Full training"),
        TrainingMethod::Adapters => match value(way, FieldId::peft_type) {
            lora if lora == AdapterType::Lora.name() => String::from("LoRA"),
            canonical if canonical == AdapterType::CanonicalLora.name() => String::from("CanonicalLoRA"),
            dora if dora == AdapterType::Dora.name() => String::from("DoRA"),
            other => other,
        },
        TrainingMethod::Fsdp => String::from("Megatron FSDP"),
    }
}

/// The settings of a way but for those that are defaults.
fn settings(way: &MethodResult) -> String {
    if way.current {
        return String::from("as it is");
    }
    let set = way.settings.iter();
    let set = set.filter(|(_, value)| *value != Value::Null);
    let words: Vec<String> = set
        .map(|(id, value)| format!("{} {}", id.field().name, shown(id.field(), Some(value))))
        .collect();
    words.join(", ")
}

fn value(way: &MethodResult, field: FieldId) -> String {
    let value = way.settings.iter().find(|(id, _)| *id == field);
    shown(field.field(), value.map(|(_, value)| value))
}
