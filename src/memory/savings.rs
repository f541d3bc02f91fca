//! The ways of recomputing or offloading activations, and the operations that they recompute.

use crate::config::NameSet;
use crate::config::choices::{
    AttentionVariant, OffloadModule, RecomputeGranularity, RecomputeMethod, RecomputeModule, TransformerImpl,
};
use crate::config::fields::FieldId;
use crate::config::job::Module;
use crate::config::layers::MlpKind;
use crate::value::Value;

mod work;

pub use work::{ChunkWork, OPERATIONS_PER_MEMORY_BYTE, Work, chunk_work, recomputed, recomputed_ppm};
pub(crate) use work::{operations_of_step, share_ppm};

/// A way of recomputing or offloading activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// All activations are kept.
    Nothing,
    /// These modules are recomputed.
    Selective(NameSet<RecomputeModule>),
    /// Full recompute by groups of this many layers, each of which keeps only its input.
    Uniform(u64),
    /// Full recompute of this many first layers of every chunk, each of which keeps only its input.
    Block(u64),
    /// The activations of these modules are offloaded to the host; the job's own recomputation stays.
    Offload(NameSet<OffloadModule>),
}

impl Choice {
    /// The settings that select the choice; null stands for a default.
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

/// The choice that a module's own settings make.
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

/// The choices for a module: no recomputation, selective recompute of each submodule, of all cheap ones and of all,
/// full recompute of layers, and offloading.
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
        // Megatron takes it only where the variant is named, also for the layers of a pattern.
        R::GdnNormOut => a
            .experimental_attention_variant
            .is_some_and(AttentionVariant::is_gated_delta_net),
        R::GdpInProj | R::GdpQkv => m.layers().recomputes(*module),
        R::Mhc => a.enable_mhc_connections,
    };
    let modules: Vec<R> = R::ALL.iter().copied().filter(sensible).collect();
    let mut out = vec![Choice::Nothing];
    let mut recompute = |modules: &[R]| out.push(Choice::Selective(NameSet::<R>::of(modules)));
    for module in &modules {
        recompute(&[*module]);
    }
    let cheap = [
        R::CoreAttn,
        R::Layernorm,
        R::MlaUpProj,
        R::MoeAct,
        R::GdnNormOut,
        R::GdpQkv,
    ];
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
