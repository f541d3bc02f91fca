//! What each way of recomputing or offloading would save on the stage that needs most, and what it would cost.

use super::StageRef;
use super::parameters::PartTable;
use super::peak::Stages;
use crate::config::NameSet;
use crate::config::choices::{
    OffloadModule, RecomputeGranularity, RecomputeMethod, RecomputeModule,
};
use crate::config::job::{Config, Module};
use crate::model::Architecture;
use crate::units::Bytes;

mod work;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saving {
    /// The choice.
    pub choice: Choice,
    /// Whether the job has it now.
    pub current: bool,
    /// The peak of the stage that needs most now.
    pub peak: Bytes,
    /// How much less than the job's own peak that is; negative where it gets worse.
    pub saves: i64,
    /// The peak of the stage that needs most then.
    pub worst: Bytes,
    /// Matrix products that run a second time, in millionths of those of a forward pass of the stage.
    pub recomputed_ppm: u64,
}

/// The savings of every choice that Megatron accepts for a job, each against the job as it is, on the stage that sets
/// its peak.
#[must_use]
pub fn ledger(config: &Config, stage: StageRef) -> Vec<Saving> {
    let Some(m) = config.modules().get(stage.module) else {
        return Vec::new();
    };
    let Some(pp_rank) = u32::try_from(stage.pp_rank)
        .ok()
        .filter(|rank| *rank < m.stages.pp())
    else {
        return Vec::new();
    };
    let architecture = Architecture::new(m);
    let local = PartTable::local(&architecture);
    let peaks = |m: &Module| {
        let stages = Stages::new(m, &architecture, &local);
        let all = (0..m.stages.pp()).map(|rank| stages.estimate(rank).peak);
        let peaks: Vec<Bytes> = all.collect();
        let own = peaks.get(pp_rank as usize).copied().unwrap_or(Bytes::ZERO);
        (own, peaks.into_iter().max().unwrap_or(Bytes::ZERO))
    };
    let (now, _) = peaks(m);
    let current = current(m);
    choices(m)
        .into_iter()
        .map(|choice| {
            let (peak, worst) = peaks(&with(m, choice));
            let signed = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
            Saving {
                choice,
                current: choice == current,
                peak,
                saves: signed(now).saturating_sub(signed(peak)),
                worst,
                recomputed_ppm: work::recomputed_ppm(m, pp_rank, choice),
            }
        })
        .collect()
}

/// What a job chose.
fn current(m: &Module) -> Choice {
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

/// The choices that Megatron accepts for a module: nothing, every module by itself, all that are cheap, all, whole
/// layers; and offloading.
fn choices(m: &Module) -> Vec<Choice> {
    use RecomputeModule as R;
    let a = &m.args;
    let moe = m.moe.as_ref();
    let dense_layers = moe.is_none() || (0..a.num_layers).any(|layer| !m.is_moe_layer(layer));
    let allowed = |module: &R| match module {
        R::CoreAttn => true,
        R::Layernorm => a.multi_latent_attention || moe.is_some(),
        R::Mlp => dense_layers,
        R::MlaUpProj => a.multi_latent_attention,
        R::MoeAct => moe.is_some() && a.moe_grouped_gemm,
        R::Moe => moe.is_some(),
        R::SharedExperts => moe.is_some_and(|moe| moe.shared > 0) && !a.moe_shared_expert_overlap,
    };
    let modules: Vec<R> = R::ALL.iter().copied().filter(allowed).collect();
    let set = NameSet::<R>::of;
    let mut out = vec![Choice::Nothing];
    out.extend(
        modules
            .iter()
            .map(|module| Choice::Selective(set(&[*module]))),
    );
    let cheap = |module: &&R| {
        matches!(
            module,
            R::Layernorm | R::MlaUpProj | R::MoeAct | R::CoreAttn
        )
    };
    let cheap: Vec<R> = modules.iter().filter(cheap).copied().collect();
    if cheap.len() > 1 {
        out.push(Choice::Selective(set(&cheap)));
    }
    out.push(Choice::Selective(set(&modules)));
    let chunk = m
        .stages
        .chunks()
        .iter()
        .map(|chunk| u64::from(chunk.num_layers()))
        .max()
        .unwrap_or(1);
    out.push(Choice::Uniform(1));
    if chunk > 1 {
        out.push(Choice::Uniform(chunk));
        out.push(Choice::Block(chunk.div_ceil(2)));
    }
    out.push(Choice::Block(chunk.max(1)));
    if a.transformer_impl == crate::config::choices::TransformerImpl::TransformerEngine
        && moe.is_some()
    {
        use OffloadModule as O;
        out.push(Choice::Offload(NameSet::<O>::of(&[
            O::CoreAttn,
            O::AttnProj,
        ])));
        out.push(Choice::Offload(NameSet::<O>::of(&[
            O::ExpertFc1,
            O::MoeAct,
        ])));
    }
    let now = current(m);
    if !out.contains(&now) {
        out.insert(1, now);
    }
    out.dedup();
    out
}

/// The module with another choice.
fn with(m: &Module, choice: Choice) -> Module {
    let mut m = m.clone();
    let a = &mut m.args;
    if !matches!(choice, Choice::Offload(_)) {
        a.recompute_granularity = None;
        a.recompute_method = None;
        a.fine_grained_activation_offloading = false;
    }
    let mut full = |method, layers| {
        a.recompute_granularity = Some(RecomputeGranularity::Full);
        a.recompute_method = Some(method);
        a.recompute_num_layers = Some(layers);
    };
    match choice {
        Choice::Nothing => {}
        Choice::Uniform(layers) => full(RecomputeMethod::Uniform, layers),
        Choice::Block(layers) => full(RecomputeMethod::Block, layers),
        Choice::Selective(modules) => {
            a.recompute_granularity = Some(RecomputeGranularity::Selective);
            a.recompute_modules = modules;
        }
        Choice::Offload(modules) => {
            a.fine_grained_activation_offloading = true;
            a.offload_modules = modules;
        }
    }
    m
}
