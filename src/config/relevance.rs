//! Which fields matter for a module: a dense model has no routed experts to set up.

use super::canonical::{Meaning, is_on, meaning};
use super::choices::{
    AdapterType, AttentionVariant, CudaGraphImpl, FrontEnd, HybridStackSpec, RecomputeGranularity, TokenDispatcher,
    TokenLoss,
};
use super::condition::Condition;
use super::fields::FieldId;
use super::hybrid_pattern::{HybridPattern, LayerSymbol};
use super::parse::Parsed;
use super::raw::{RawJob, Settings};
use strum::VariantArray;

/// The conditions that hold for one module of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relevance(Vec<Condition>);

impl Relevance {
    /// Looks at a module. A value that cannot be read counts as nothing.
    #[must_use]
    pub fn of(job: &RawJob, module: usize) -> Self {
        let all = Condition::VARIANTS.iter().copied();
        Self(all.filter(|condition| holds(*condition, job, module)).collect())
    }

    /// Looks at the settings of a job of one module.
    #[must_use]
    pub fn of_settings(settings: &Settings) -> Self {
        let job = RawJob {
            shared: settings.clone(),
            ..RawJob::default()
        };
        Self::of(&job, 0)
    }

    /// Whether a field matters for the module.
    #[must_use]
    pub fn has(&self, id: FieldId) -> bool {
        let condition = id.field().relevant_if;
        condition.is_none_or(|condition| self.0.contains(&condition))
    }
}

/// Whether a field belongs to a way of FSDP or to the optimizer on the CPU, which is off.
#[must_use]
pub fn is_switched_off(settings: &Settings, id: FieldId) -> bool {
    let condition = id.field().relevant_if;
    let switch = match condition {
        Some(Condition::OptimizerOffload) => FieldId::optimizer_cpu_offload,
        Some(Condition::MegatronFsdp) => FieldId::use_megatron_fsdp,
        Some(Condition::TorchFsdp2) => FieldId::use_torch_fsdp2,
        _ => return false,
    };
    !is_on(settings, switch)
}

fn holds(condition: Condition, job: &RawJob, module: usize) -> bool {
    use FieldId as F;
    let value = |id: F| match meaning(id, job.get(module, id)) {
        Meaning::Is(parsed) => Some(parsed),
        Meaning::Nothing | Meaning::Bad(_) => None,
    };
    let on = |id: F| value(id) == Some(Parsed::Flag(true));
    let number = |id: F| match value(id) {
        Some(Parsed::Int(number)) => number,
        _ => 0,
    };
    let choice = |id: F| match value(id) {
        Some(Parsed::Choice(index)) => Some(index),
        _ => None,
    };
    let recompute = |granularity: RecomputeGranularity| choice(F::recompute_granularity) == Some(granularity as u8);
    let pattern = match value(F::hybrid_layer_pattern) {
        Some(Parsed::Text(text)) => Some(text),
        _ => None,
    };
    let pattern_has = |symbols: &[LayerSymbol]| {
        let parsed = pattern.as_deref().map(str::parse::<HybridPattern>);
        parsed
            .and_then(Result::ok)
            .is_some_and(|pattern| symbols.iter().any(|s| pattern.has(*s)))
    };
    let latent = || {
        on(F::multi_latent_attention) || pattern_has(&[LayerSymbol::MultiLatentAttention, LayerSymbol::SparseAttention])
    };
    let adapters = || choice(F::peft_type).is_some_and(|kind| kind != AdapterType::None as u8);
    let variant = || choice(F::experimental_attention_variant).and_then(AttentionVariant::at);
    match condition {
        Condition::Experts => number(F::num_experts) > 0,
        Condition::FlexDispatcher => {
            let flex = choice(F::moe_token_dispatcher_type) == Some(TokenDispatcher::Flex as u8);
            flex && number(F::num_experts) > 0
        }
        Condition::LatentAttention => latent(),
        Condition::OwnKeysAndValues => !latent(),
        Condition::QueryGroups => on(F::group_query_attention) && !latent(),
        Condition::LinearAttention => {
            variant().is_some_and(AttentionVariant::is_gated_delta_net)
                || pattern_has(&[LayerSymbol::GatedDeltaNet])
                || number(F::kimi_attn_res_block_size) > 0
        }
        Condition::SparseAttention => {
            let sparse = [AttentionVariant::Dsa, AttentionVariant::Dsv4Hybrid];
            variant().is_some_and(|variant| sparse.contains(&variant)) || pattern_has(&[LayerSymbol::SparseAttention])
        }
        Condition::CompressedAttention => variant() == Some(AttentionVariant::Dsv4Hybrid),
        Condition::HybridLayers => pattern.is_some(),
        Condition::MambaLayers => on(F::mamba_beside_attention) || pattern_has(&[LayerSymbol::Mamba]),
        Condition::DeltaProducts => {
            let spec = HybridStackSpec::GatedDeltaProductStackSpec as u8;
            choice(F::spec) == Some(spec) && pattern_has(&[LayerSymbol::Mamba])
        }
        Condition::HyperConnections => on(F::enable_mhc_connections),
        Condition::MtpDepths => number(F::mtp_num_layers) > 0 || pattern_mtp(pattern.as_deref()),
        Condition::PipelineStages => number(F::pipeline_model_parallel_size) > 1,
        Condition::PackedSamples => on(F::sft) || number(F::max_seqlen_per_dp_cp_rank) > 0,
        Condition::FullRecompute => recompute(RecomputeGranularity::Full),
        Condition::SelectiveRecompute => recompute(RecomputeGranularity::Selective),
        Condition::PrecisionAware => on(F::use_precision_aware_optimizer),
        Condition::MegatronFsdp => on(F::use_megatron_fsdp),
        Condition::TorchFsdp2 => on(F::use_torch_fsdp2),
        Condition::Adapters => adapters(),
        Condition::ExpertAdapters => adapters() && number(F::num_experts) > 0,
        Condition::Fp8 => choice(F::fp8_format).or(choice(F::fp4_format)).is_some(),
        Condition::OptimizerOffload => on(F::optimizer_cpu_offload),
        Condition::FineGrainedOffload => on(F::fine_grained_activation_offloading),
        Condition::CudaGraphs => choice(F::cuda_graph_impl) != Some(CudaGraphImpl::None as u8),
        Condition::FusedLoss => on(F::cross_entropy_loss_fusion),
        Condition::ChunkedLogits => {
            let chunks = [TokenLoss::NemoRlDeferred, TokenLoss::Slime];
            chunks.into_iter().any(|loss| choice(F::token_loss) == Some(loss as u8))
        }
        Condition::SlimeLoss => choice(F::token_loss) == Some(TokenLoss::Slime as u8),
        Condition::Encoder => choice(F::front_end).is_some_and(|index| index != FrontEnd::Tokens as u8),
    }
}

/// Whether a pattern has MTP depths.
fn pattern_mtp(pattern: Option<&str>) -> bool {
    let parsed = pattern.map(str::parse::<HybridPattern>);
    parsed.is_some_and(|parsed| parsed.is_ok_and(|pattern| pattern.depths() > 0))
}
