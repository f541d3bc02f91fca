//! What each way of recomputing or offloading would save on the stage that needs most, and what it would cost.

use super::overhead::memory_range;
use super::{Estimate, StageRef, estimate};
use crate::config::choices::{
    OffloadModule, RecomputeGranularity, RecomputeMethod, RecomputeModule, TransformerImpl,
};
use crate::config::fields::FieldId;
use crate::config::job::{Config, Module};
use crate::config::layers::MlpKind;
use crate::config::raw::RawJob;
use crate::config::{NameSet, check};
use crate::units::Bytes;
use crate::value::Value;

mod work;

pub use work::{Work, recomputed};

/// Settings that decide what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Everything is kept.
    Nothing,
    /// These modules are recomputed.
    Selective(NameSet<RecomputeModule>),
    /// Groups of so many layers keep only their input.
    Uniform(u64),
    /// The first layers of every chunk keep only their input.
    Block(u64),
    /// What these modules keep moves to the host, besides what the job recomputes already.
    Offload(NameSet<OffloadModule>),
}

/// What one choice comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saving {
    /// The choice.
    pub choice: Choice,
    /// Whether the job has it now.
    pub current: bool,
    /// What it saves, or why Megatron refuses it for this job.
    pub result: Result<Saved, String>,
}

/// What one choice saves and costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The peak of the stage that needs most now.
    pub peak: Bytes,
    /// How much less than the job's own peak that is; negative where it gets worse.
    pub saves: i64,
    /// The peak of the rank that needs most then.
    pub worst: Bytes,
    /// Whether the least that the device then shows is more than the GPU has.
    pub too_large: bool,
    /// Matrix products that run a second time, in millionths of those of a forward pass of the stage.
    pub recomputed_ppm: u64,
    /// The same as floating-point operations of one GPU in one iteration.
    pub recomputed_flops: u64,
}

impl Choice {
    /// The settings that make it, a null for those that go back to their default.
    #[must_use]
    pub fn settings(self) -> Vec<(FieldId, Value)> {
        use FieldId as F;
        let text = |name: &str| Value::Text(name.to_owned());
        if let Self::Offload(modules) = self {
            let names = modules.iter().map(|module| text(module.name()));
            return vec![
                (F::fine_grained_activation_offloading, Value::Bool(true)),
                (F::offload_modules, Value::List(names.collect())),
            ];
        }
        let mut settings: Vec<_> = [
            F::recompute_granularity,
            F::recompute_method,
            F::recompute_num_layers,
            F::distribute_saved_activations,
            F::fine_grained_activation_offloading,
            F::cpu_offloading_num_layers,
        ]
        .map(|field| (field, Value::Null))
        .into();
        let mut set = |field, value| settings.push((field, value));
        match self {
            Self::Selective(modules) => {
                let names = modules.iter().map(|module| text(module.name()));
                set(F::recompute_granularity, text("selective"));
                set(F::recompute_modules, Value::List(names.collect()));
            }
            Self::Uniform(layers) | Self::Block(layers) => {
                let method = if matches!(self, Self::Uniform(_)) {
                    RecomputeMethod::Uniform
                } else {
                    RecomputeMethod::Block
                };
                set(F::recompute_granularity, text("full"));
                set(F::recompute_method, text(method.name()));
                set(F::recompute_num_layers, Value::Int(layers.into()));
            }
            Self::Nothing | Self::Offload(_) => {}
        }
        settings
    }

    /// The choice in words.
    #[must_use]
    pub fn label(self) -> String {
        let joined = |names: Vec<&str>| names.join(" + ");
        match self {
            Self::Nothing => String::from("nothing"),
            Self::Selective(modules) => joined(modules.iter().map(RecomputeModule::name).collect()),
            Self::Uniform(1) => String::from("full, every layer"),
            Self::Uniform(layers) => format!("full, groups of {layers} layers"),
            Self::Block(1) => String::from("full, 1 layer of a chunk"),
            Self::Block(layers) => format!("full, {layers} layers of a chunk"),
            Self::Offload(modules) => {
                let names = joined(modules.iter().map(OffloadModule::name).collect());
                format!("offload {names}")
            }
        }
    }
}

/// The savings of every choice for a job, each against the job as it is, on one of its stages: the one that needs
/// most, as a rule. Empty where the job is refused or has no such stage.
#[must_use]
pub fn savings(job: &RawJob, stage: StageRef) -> Vec<Saving> {
    let Some(config) = check(job).config else {
        return Vec::new();
    };
    let peak = |estimate: &Estimate| estimate.stage(stage).map(|stage| stage.total);
    let estimated = estimate(&config);
    let (Some(m), Some(now)) = (config.modules().get(stage.module), peak(&estimated)) else {
        return Vec::new();
    };
    let current = choice_of(m);
    let result = |choice: Choice| {
        if choice == current {
            return Ok((now, held(&config, &estimated)));
        }
        let mut other = job.clone();
        for (field, value) in choice.settings() {
            other.put(stage.module, field, value);
        }
        let checked = check(&other);
        let refused = || {
            let reasons: Vec<&str> = checked.errors().map(|p| p.message.as_str()).collect();
            reasons.join("; ")
        };
        let config = checked.config.as_ref().ok_or_else(refused)?;
        let then = estimate(config);
        Ok((peak(&then).unwrap_or(now), held(config, &then)))
    };
    choices(m)
        .into_iter()
        .map(|choice| Saving {
            choice,
            current: choice == current,
            result: result(choice).map(|(peak, (worst, too_large))| {
                let signed = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
                let work = recomputed(m, stage.pp_rank, choice);
                Saved {
                    peak,
                    saves: signed(now).saturating_sub(signed(peak)),
                    worst,
                    too_large,
                    recomputed_ppm: work.ppm,
                    recomputed_flops: work.flops,
                }
            }),
        })
        .collect()
}

/// The peak of the rank that needs most, and whether the least that its device shows is more than it has.
fn held(config: &Config, estimate: &Estimate) -> (Bytes, bool) {
    let worst = &estimate.worst_rank;
    let least = config
        .modules()
        .get(estimate.worst.module)
        .map_or(worst.total, |m| {
            memory_range(m, worst.total, worst.graphs).low
        });
    let too_large = config.gpu_memory().is_some_and(|gpu| least > gpu);
    (worst.total, too_large)
}

/// What a module chose.
#[must_use]
pub fn choice_of(m: &Module) -> Choice {
    let a = &m.args;
    let layers = a.recompute_num_layers.unwrap_or(1);
    match (a.recompute_granularity, a.recompute_method) {
        (None, _) if a.fine_grained_activation_offloading => Choice::Offload(a.offload_modules),
        (None, _) => Choice::Nothing,
        (Some(RecomputeGranularity::Selective), _) => Choice::Selective(a.recompute_modules),
        (Some(RecomputeGranularity::Full), Some(RecomputeMethod::Block)) => Choice::Block(layers),
        (Some(RecomputeGranularity::Full), _) => Choice::Uniform(layers),
    }
}

/// The choices that make sense for a module: nothing, every module by itself, all that are cheap, all, whole layers;
/// and offloading.
#[must_use]
pub fn choices(m: &Module) -> Vec<Choice> {
    use RecomputeModule as R;
    let a = &m.args;
    let moe = m.moe.as_ref();
    let dense_layers = m.layers().has_mlp(MlpKind::Dense);
    let sensible = |module: &R| match module {
        R::CoreAttn => true,
        R::Layernorm => a.multi_latent_attention || moe.is_some(),
        R::Mlp => dense_layers,
        R::MlaUpProj => a.multi_latent_attention,
        R::MoeAct => moe.is_some() && a.moe_grouped_gemm,
        R::Moe => moe.is_some(),
        R::SharedExperts => moe.is_some_and(|moe| moe.shared > 0) && !a.moe_shared_expert_overlap,
    };
    let modules: Vec<R> = R::ALL.iter().copied().filter(sensible).collect();
    let mut out = vec![Choice::Nothing];
    let mut recompute = |modules: &[R]| out.push(Choice::Selective(NameSet::<R>::of(modules)));
    for module in &modules {
        recompute(&[*module]);
    }
    let cheap = [R::CoreAttn, R::Layernorm, R::MlaUpProj, R::MoeAct];
    let cheap: Vec<R> = modules
        .iter()
        .filter(|module| cheap.contains(module))
        .copied()
        .collect();
    if cheap.len() > 1 {
        recompute(&cheap);
    }
    recompute(&modules);
    let chunks = m.stages.chunks().iter();
    let chunk = chunks.map(|chunk| u64::from(chunk.num_layers())).max();
    let chunk = chunk.unwrap_or(1).max(1);
    out.push(Choice::Uniform(1));
    if chunk > 1 {
        out.push(Choice::Uniform(chunk));
        out.push(Choice::Block(chunk.div_ceil(2)));
    }
    out.push(Choice::Block(chunk));
    if a.transformer_impl == TransformerImpl::TransformerEngine && moe.is_some() {
        use OffloadModule as O;
        let mut offload = |modules: &[O]| out.push(Choice::Offload(NameSet::<O>::of(modules)));
        offload(&[O::CoreAttn, O::AttnProj]);
        offload(&[O::ExpertFc1, O::MoeAct]);
    }
    let now = choice_of(m);
    if !out.contains(&now) {
        out.insert(1, now);
    }
    out.dedup();
    out
}
