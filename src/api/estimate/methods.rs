//! The same job trained in other ways.

use serde::Serialize;
use tsify::Tsify;

use super::by_bucket;
use crate::Exact;
use crate::plain_data::{ByName, PlainData};
use crate::search::in_seconds;
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::StageRef;
use megatron_memory::memory::methods::{self, TrainingMethod};
use megatron_memory::search::{Candidate, MethodAlternative, Ranking, ranking};
use megatron_memory::value::Value;

/// The job trained in one way: all weights (`full`), adapters alone (`adapters`), or all weights with Megatron FSDP
/// (`fsdp`).
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Method {
    #[tsify(type = "\"full\" | \"adapters\" | \"fsdp\"")]
    name: &'static str,
    /// The arguments that select this way; `null` means the argument's default. Adapters and sharding strategy are the
    /// job's own where it has any; otherwise they are those of `peft: "lora"` and `optim_grads_params`.
    #[tsify(type = "Record<string, unknown>")]
    settings: PlainData,
    /// Whether the job has these settings already.
    current: bool,
    /// The peak of the rank that needs most. All numbers are `null` where Megatron refuses the settings.
    peak_bytes: Option<Exact>,
    /// Bytes that stay allocated between iterations on the stage with the largest peak.
    steady_bytes: Option<Exact>,
    /// Bytes by bucket at the peak of that stage, and their `total`.
    #[tsify(type = "Record<string, Exact> | null")]
    memory: Option<ByName>,
    /// Elements of that stage's rank that are trained.
    trainable: Option<Exact>,
    /// The predicted time of a step in seconds; `null` where the prediction does not follow the job.
    step_seconds: Option<f64>,
    /// The place of the way in the order of `search`, counted from 1: the ways come in this order. Ways whose steps differ
    /// by less than 5 % share one. `null` where Megatron refuses the settings.
    #[tsify(type = "number | null")]
    rank: Option<usize>,
    /// Whether another way shares the rank.
    is_tie: bool,
    /// Whether it fits, but leaves so little memory free that it runs slower than predicted.
    nearly_full: bool,
    /// Why Megatron refuses the settings; `null` where it does not.
    refused: Option<String>,
}

/// A tensor whose size differs between a job with adapters and the same job in full training.
#[derive(Debug, Serialize, Tsify)]
pub struct TensorSaving {
    /// The path of the tensor: bucket, component, and so on.
    id: String,
    label: String,
    /// Bytes of the tensor at the peak of the stage in the job.
    bytes: Exact,
    /// Its bytes at the peak of the stage where all weights are trained.
    full_training_bytes: Exact,
}

/// The job trained in each way, in the order of searches.
pub(super) fn methods(job: &RawJob, module: usize) -> Vec<Method> {
    let ways = TrainingMethod::EACH.into_iter();
    let ways: Vec<MethodAlternative> = ways
        .filter_map(|way| MethodAlternative::new(job, module, way))
        .collect();
    let candidates: Vec<Option<Candidate>> = ways.iter().map(|way| way.candidate).collect();
    let ranked = |ranked: Ranking| {
        let way = ways.get(ranked.index)?;
        let time = way.candidate.and_then(|candidate| candidate.step_nanoseconds);
        Some(Method {
            step_seconds: time.map(in_seconds),
            rank: ranked.rank.map(|rank| rank.number),
            is_tie: ranked.rank.is_some_and(|rank| rank.is_tie),
            nearly_full: ranked.is_nearly_full,
            ..Method::from(&way.result)
        })
    };
    ranking(&candidates).into_iter().filter_map(ranked).collect()
}

/// What adapters save on a stage, tensor by tensor.
pub(super) fn tensors(job: &RawJob, at: StageRef) -> Vec<TensorSaving> {
    let tensors = methods::saved_by_adapters(job, at).into_iter();
    let tensor = |tensor: methods::TensorSaving| TensorSaving {
        id: tensor.id,
        label: tensor.label,
        bytes: tensor.bytes.into(),
        full_training_bytes: tensor.full_training.into(),
    };
    tensors.map(tensor).collect()
}

impl From<&methods::MethodResult> for Method {
    fn from(method: &methods::MethodResult) -> Self {
        let settings = method.settings.iter();
        let settings = settings.map(|(id, value)| (id.field().name.to_owned(), value.clone()));
        let memory = method.result.as_ref().ok();
        Self {
            name: method.method.id(),
            settings: PlainData(Value::Map(settings.collect())),
            current: method.current,
            peak_bytes: memory.map(|memory| memory.peak.into()),
            steady_bytes: memory.map(|memory| memory.steady.into()),
            memory: memory.map(|memory| {
                let total = memory.memory.iter().copied().sum();
                by_bucket(&memory.memory, total)
            }),
            trainable: memory.map(|memory| memory.trainable.into()),
            step_seconds: None,
            rank: None,
            is_tie: false,
            nearly_full: false,
            refused: method.result.as_ref().err().cloned(),
        }
    }
}
