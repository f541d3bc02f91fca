//! Which fields mean something for a job: a dense model has no routed experts to set up.
//!
//! The others keep their values and wait behind "all flags".

use crate::config::fields::FieldId;
use crate::config::parse::{Parsed, parse};
use crate::config::raw::RawJob;
use crate::ui::values::default;

/// What must hold for a field to matter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// There are routed experts.
    Experts,
    /// Heads share a latent space.
    Latent,
    /// Heads have keys and values of their own.
    Heads,
    /// Query heads share keys and values.
    Groups,
    /// Some layers have linear attention.
    Linear,
    /// There is more than one stage.
    Stages,
    /// Whole layers are recomputed.
    Full,
    /// Parts of layers are recomputed.
    Selective,
    /// Optimizer states have dtypes of their own.
    Precise,
    /// Something is computed in fp8.
    Fp8,
    /// The optimizer keeps states on the CPU.
    Cpu,
    /// Modules' activations go to the CPU.
    Offload,
    /// CUDA graphs are captured.
    Graphs,
    /// The loss is fused.
    Loss,
    /// The module reads something else than tokens.
    Encoder,
}

impl Condition {
    const COUNT: usize = Self::Encoder as usize + 1;

    /// The condition of a field; none where it always matters.
    fn of(id: FieldId) -> Option<Self> {
        use FieldId as F;
        Some(match id {
            F::moe_router_topk
            | F::moe_ffn_hidden_size
            | F::moe_shared_expert_intermediate_size
            | F::moe_shared_expert_gate
            | F::moe_layer_freq
            | F::moe_latent_size
            | F::moe_router_enable_expert_bias
            | F::moe_router_score_function
            | F::moe_router_dtype
            | F::moe_token_dispatcher_type
            | F::moe_grouped_gemm
            | F::moe_permute_fusion
            | F::moe_router_fusion
            | F::moe_shared_expert_overlap
            | F::moe_expert_capacity_factor
            | F::moe_pad_expert_input_to_capacity
            | F::expert_load_imbalance
            | F::expert_model_parallel_size
            | F::expert_tensor_parallel_size
            | F::overlap_moe_expert_parallel_comm => Self::Experts,
            F::q_lora_rank
            | F::kv_lora_rank
            | F::qk_head_dim
            | F::qk_pos_emb_head_dim
            | F::v_head_dim
            | F::mla_q_proj_layernorm => Self::Latent,
            F::group_query_attention | F::kv_channels => Self::Heads,
            F::num_query_groups => Self::Groups,
            F::linear_attention_freq
            | F::linear_conv_kernel_dim
            | F::linear_key_head_dim
            | F::linear_value_head_dim
            | F::linear_num_key_heads
            | F::linear_num_value_heads => Self::Linear,
            F::virtual_pipeline_model_parallel_size
            | F::num_layers_per_virtual_pipeline_stage
            | F::num_virtual_stages_per_pipeline_rank
            | F::microbatch_group_size_per_virtual_pipeline_stage
            | F::decoder_first_pipeline_num_layers
            | F::decoder_last_pipeline_num_layers
            | F::account_for_embedding_in_pipeline_split
            | F::account_for_loss_in_pipeline_split
            | F::pipeline_model_parallel_layout => Self::Stages,
            F::recompute_method | F::recompute_num_layers | F::distribute_saved_activations => {
                Self::Full
            }
            F::recompute_modules => Self::Selective,
            F::main_grads_dtype | F::main_params_dtype | F::exp_avg_dtype | F::exp_avg_sq_dtype => {
                Self::Precise
            }
            F::fp8_recipe
            | F::fp8_param_gather
            | F::first_last_layers_bf16
            | F::num_layers_at_start_in_bf16
            | F::num_layers_at_end_in_bf16
            | F::disable_parameter_transpose_cache
            | F::fp8_amax_history_len
            | F::moe_router_padding_for_quantization => Self::Fp8,
            F::optimizer_offload_fraction => Self::Cpu,
            F::offload_modules | F::min_offloaded_tensor_size => Self::Offload,
            F::cuda_graph_modules | F::cuda_graph_warmup_steps => Self::Graphs,
            F::cross_entropy_fusion_impl | F::te_cross_entropy_in_place => Self::Loss,
            id if id.presentation().group == crate::config::field::Group::Encoder => Self::Encoder,
            _ => return None,
        })
    }

    /// Whether it holds.
    fn holds(self, job: &RawJob, module: usize) -> bool {
        use FieldId as F;
        let on = |id: F| most(job, module, id) > 0;
        let name = |id: F| choice(job, module, id);
        match self {
            Self::Experts => on(F::num_experts),
            Self::Latent => on(F::multi_latent_attention),
            Self::Heads => !on(F::multi_latent_attention),
            Self::Groups => on(F::group_query_attention) && !on(F::multi_latent_attention),
            Self::Linear => name(F::experimental_attention_variant).is_some(),
            Self::Stages => most(job, module, F::pipeline_model_parallel_size) > 1,
            Self::Full => name(F::recompute_granularity) == Some("full"),
            Self::Selective => name(F::recompute_granularity) == Some("selective"),
            Self::Precise => on(F::use_precision_aware_optimizer),
            Self::Fp8 => name(F::fp8_format).is_some(),
            Self::Cpu => on(F::optimizer_cpu_offload),
            Self::Offload => on(F::fine_grained_activation_offloading),
            Self::Graphs => name(F::cuda_graph_impl) != Some("none"),
            Self::Loss => on(F::cross_entropy_loss_fusion),
            Self::Encoder => name(F::front_end).is_some_and(|name| name != "tokens"),
        }
    }

    const ALL: [Self; Self::COUNT] = [
        Self::Experts,
        Self::Latent,
        Self::Heads,
        Self::Groups,
        Self::Linear,
        Self::Stages,
        Self::Full,
        Self::Selective,
        Self::Precise,
        Self::Fp8,
        Self::Cpu,
        Self::Offload,
        Self::Graphs,
        Self::Loss,
        Self::Encoder,
    ];
}

fn parsed(job: &RawJob, module: usize, id: FieldId) -> Option<Parsed> {
    let field = id.field();
    let default = default(field);
    let value = job.get(module, id).unwrap_or(&default);
    parse(field, value).ok().flatten()
}

/// A number, or one for a flag that is on.
fn most(job: &RawJob, module: usize, id: FieldId) -> u64 {
    match parsed(job, module, id) {
        Some(Parsed::Int(number)) => number,
        Some(Parsed::Flag(on)) => on.into(),
        _ => 0,
    }
}

fn choice(job: &RawJob, module: usize, id: FieldId) -> Option<&'static str> {
    let crate::config::field::Kind::Choice(names) = id.field().kind else {
        return None;
    };
    match parsed(job, module, id) {
        Some(Parsed::Choice(index)) => names.get(usize::from(index)).copied(),
        _ => None,
    }
}

/// Which conditions hold for one module of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relevance([bool; Condition::COUNT]);

impl Relevance {
    /// Looks at a module. What cannot be read counts as not there.
    pub fn of(job: &RawJob, module: usize) -> Self {
        Self(Condition::ALL.map(|condition| condition.holds(job, module)))
    }

    /// Whether the field means something.
    pub fn has(&self, id: FieldId) -> bool {
        Condition::of(id).is_none_or(|c| self.0.get(c as usize).copied().unwrap_or(true))
    }
}

#[cfg(test)]
mod tests {
    use super::{Condition, Relevance};
    use crate::config::fields::FieldId;
    use crate::config::raw::RawJob;
    use crate::presets;

    #[test]
    fn conditions_stand_in_the_order_of_their_list() {
        for (i, condition) in Condition::ALL.into_iter().enumerate() {
            assert_eq!(condition as usize, i);
        }
    }

    #[test]
    fn what_a_model_has_not_needs_no_field() {
        let of = |id: &str| Relevance::of(&job(id), 0);
        let (dense, sparse) = (of("llama3-8b"), of("deepseek-v3"));
        for id in [
            FieldId::moe_router_topk,
            FieldId::expert_model_parallel_size,
            FieldId::kv_lora_rank,
        ] {
            assert!(!dense.has(id) && sparse.has(id), "{id:?}");
        }
        assert!(dense.has(FieldId::num_query_groups) && !sparse.has(FieldId::num_query_groups));
        for id in [FieldId::num_experts, FieldId::multi_latent_attention] {
            assert!(dense.has(id) && sparse.has(id), "{id:?}");
        }
    }

    fn job(id: &str) -> RawJob {
        crate::formats::state::Setup::of_preset(presets::by_id(id).unwrap()).job
    }
}
