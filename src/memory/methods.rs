//! The same job trained in other ways: all weights, adapters alone, or all weights with Megatron FSDP. And what each
//! tensor takes where the model is frozen, beside what it takes in full training.

use std::collections::BTreeMap;

use strum::{EnumCount, VariantArray};

use super::bucket::ByBucket;
use super::line::{Line, stage_lines};
use super::overhead::memory_range;
use super::{Estimate, StageRef, estimate};
use crate::config::check;
use crate::config::choices::{AdapterType, ShardingStrategy};
use crate::config::fields::FieldId;
use crate::config::job::{Config, Module};
use crate::config::raw::RawJob;
use crate::units::Bytes;
use crate::value::Value;
use crate::variants::all;

/// A way to train a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount, VariantArray)]
pub enum TrainingMethod {
    /// All weights, with distributed data parallelism.
    Full,
    /// Adapters alone, with distributed data parallelism.
    Adapters,
    /// All weights, with Megatron FSDP.
    Fsdp,
}

/// One way to train a job, and the memory that the job needs with it.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodResult {
    /// The way.
    pub method: TrainingMethod,
    /// The settings that select it; null stands for a default.
    pub settings: Vec<(FieldId, Value)>,
    /// Whether the job has these settings already.
    pub current: bool,
    /// The memory, or the reason why Megatron refuses the job.
    pub result: Result<MethodMemory, String>,
}

/// The memory of a job that is trained in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodMemory {
    /// The peak of the rank that needs most.
    pub peak: Bytes,
    /// The least and the most memory that the device of that rank shows.
    pub device: (Bytes, Bytes),
    /// The stage with the largest peak.
    pub stage: StageRef,
    /// Bytes that stay allocated on that stage between iterations.
    pub steady: Bytes,
    /// Bytes by bucket at the peak of that stage.
    pub memory: ByBucket,
    /// Elements of that stage's rank that are trained.
    pub trainable: u64,
}

impl TrainingMethod {
    /// All ways.
    pub const EACH: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// The name of the way.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Adapters => "adapters",
            Self::Fsdp => "fsdp",
        }
    }

    /// The way in which a module is trained; `None` where it has both adapters and Megatron FSDP, or PyTorch's FSDP2.
    #[must_use]
    pub fn of(m: &Module) -> Option<Self> {
        let a = m.args();
        match (a.peft_type, a.use_megatron_fsdp) {
            _ if a.use_torch_fsdp2 => None,
            (AdapterType::None, false) => Some(Self::Full),
            (AdapterType::None, true) => Some(Self::Fsdp),
            (_, false) => Some(Self::Adapters),
            (_, true) => None,
        }
    }

    /// The settings that select the way: adapters and sharding strategy are the module's own where it has any.
    #[must_use]
    pub fn settings(self, m: &Module) -> Vec<(FieldId, Value)> {
        let a = m.args();
        let text = |name: &str| Value::Text(name.to_owned());
        let adapters = match (self, a.peft_type) {
            (Self::Full | Self::Fsdp, _) => Value::Null,
            (Self::Adapters, AdapterType::None) => text(AdapterType::Lora.name()),
            (Self::Adapters, own) => text(own.name()),
        };
        let mut settings = vec![(FieldId::peft_type, adapters)];
        if a.use_torch_fsdp2 {
            settings.push((FieldId::use_torch_fsdp2, Value::Null));
        }
        if self == Self::Fsdp {
            settings.push((FieldId::use_megatron_fsdp, Value::Bool(true)));
            let strategy = if a.use_megatron_fsdp {
                a.data_parallel_sharding_strategy
            } else {
                ShardingStrategy::OptimGradsParams
            };
            let field = FieldId::data_parallel_sharding_strategy;
            settings.push((field, text(strategy.name())));
        } else {
            settings.push((FieldId::use_megatron_fsdp, Value::Null));
        }
        settings
    }
}

/// What a job needs when module `module` is trained in one way; `None` where Megatron refuses the job or there is no
/// such module.
#[must_use]
pub fn method(job: &RawJob, module: usize, method: TrainingMethod) -> Option<MethodResult> {
    let config = check(job).config?;
    let m = config.modules().get(module)?;
    Some(in_method(job, module, m, method))
}

fn in_method(job: &RawJob, module: usize, m: &Module, method: TrainingMethod) -> MethodResult {
    let settings = method.settings(m);
    MethodResult {
        method,
        current: TrainingMethod::of(m) == Some(method),
        result: changed(job, module, &settings).map(|config| memory(&config)),
        settings,
    }
}

/// The job with other settings of a module, or why Megatron refuses it.
fn changed(job: &RawJob, module: usize, settings: &[(FieldId, Value)]) -> Result<Config, String> {
    let mut job = job.clone();
    for (field, value) in settings {
        job.put(module, *field, value.clone());
    }
    let checked = check(&job);
    let reasons: Vec<&str> = checked.refusals().map(|p| p.message.as_str()).collect();
    let reasons = reasons.join("; ");
    checked.config.filter(|_| reasons.is_empty()).ok_or(reasons)
}

fn memory(config: &Config) -> MethodMemory {
    let estimate = estimate(config);
    let worst = estimate.stage(estimate.worst);
    let m = config.modules().get(estimate.worst.module);
    let trainable = worst.zip(m).map(|(stage, m)| stage.parameters().trainable(m));
    let rank = &estimate.worst_rank;
    let device = m.map_or((rank.total, rank.total), |m| {
        let range = memory_range(m, config.gpu_memory(), rank.total, rank.graphs);
        (range.low, range.high)
    });
    MethodMemory {
        peak: rank.total,
        device,
        stage: estimate.worst,
        steady: worst.map(|stage| stage.steady).unwrap_or_default(),
        memory: worst.map(|stage| stage.memory).unwrap_or_default(),
        trainable: trainable.unwrap_or_default(),
    }
}

/// What a tensor takes at the peak of a stage where the model is frozen, beside full training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSaving {
    /// The path of the tensor's line, such as `main_grads_dense/attention/layer/self_attention.linear_qkv.weight`.
    pub id: String,
    /// The tensor's name.
    pub label: String,
    /// Bytes in the job.
    pub bytes: Bytes,
    /// Bytes of the same job where all weights are trained.
    pub full_training: Bytes,
}

/// The tensors of a stage whose size differs between a job with adapters and the same job in full training, those that
/// save most first. Empty where a module has no adapters, or Megatron refuses one of the jobs.
#[must_use]
pub fn saved_by_adapters(job: &RawJob, stage: StageRef) -> Vec<TensorSaving> {
    let Some(config) = check(job).config else {
        return Vec::new();
    };
    let has_adapters = |m: &Module| m.args().peft_type != AdapterType::None;
    if !config.modules().get(stage.module).is_some_and(has_adapters) {
        return Vec::new();
    }
    let trained = [(FieldId::peft_type, Value::Null)];
    let Ok(full) = changed(job, stage.module, &trained) else {
        return Vec::new();
    };
    let mut tensors: BTreeMap<String, TensorSaving> = BTreeMap::new();
    let lines = |config: &Config| {
        let estimate: Estimate = estimate(config);
        stage_lines(config, &estimate, stage)
    };
    let (own, full) = (lines(&config), lines(&full));
    each_leaf(&own, &mut |line| {
        entry(&mut tensors, line).bytes += line.bytes;
    });
    each_leaf(&full, &mut |line| {
        entry(&mut tensors, line).full_training += line.bytes;
    });
    let mut out: Vec<TensorSaving> = tensors.into_values().collect();
    out.retain(|tensor| tensor.bytes != tensor.full_training);
    out.sort_by_key(|tensor| i128::from(tensor.bytes.0) - i128::from(tensor.full_training.0));
    out
}

/// The tensor of a line.
fn entry<'t>(tensors: &'t mut BTreeMap<String, TensorSaving>, line: &Line) -> &'t mut TensorSaving {
    tensors.entry(line.id.clone()).or_insert_with(|| TensorSaving {
        id: line.id.clone(),
        label: line.label.clone(),
        bytes: Bytes::ZERO,
        full_training: Bytes::ZERO,
    })
}

/// Calls a function with every line that has no lines below it.
fn each_leaf(lines: &[Line], with: &mut impl FnMut(&Line)) {
    for line in lines {
        if line.children.is_empty() {
            with(line);
        } else {
            each_leaf(&line.children, with);
        }
    }
}
