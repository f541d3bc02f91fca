//! One module's arguments, parsed and with every derived size, before any rule has been asked.

use core::ops::Deref;

use super::adapters::Adapters;
use super::choices::{
    AdapterType, AttentionVariant, OffloadModule, OptimizerKind, RecomputeGranularity, RecomputeModule,
};
use super::context::ModuleContext;
use super::fields::{Args, FieldId};
use super::gpus::{self, GpuGeneration};
use super::hybrid_pattern::{HybridPattern, HybridPatternError, LayerSymbol};
use super::job::{Boundary, Module, Moe, Precision};
use super::layer_sizes::LayerSizes;
use super::layers::{KnownLayers, Layers};
use super::modality::ModuleIo;
use super::module_sizes::ModuleSizes;
use super::nearby::near_matches;
use super::nvlink_domain::NvlinkDomain;
use super::packing::{Packing, is_packed};
use super::rank_ranges::RankRange;
use crate::parallel::stages::StageLayout;

/// A module that may still break rules over several fields. Fields that could not be read hold their defaults.
pub(super) struct Draft<'a> {
    /// The module among the others of its job.
    pub(super) context: &'a ModuleContext<'a>,
    /// The inputs and outputs of the module: its front end and projector.
    pub(super) io: ModuleIo,
    /// The arguments with defaults filled in.
    pub(super) args: Args,
    /// The pattern of a `HybridModel`, or why its text is none.
    pub(super) hybrid: Option<Result<HybridPattern, HybridPatternError>>,
    /// The layers.
    pub(super) layers: Layers,
    /// The sizes that follow from the arguments.
    sizes: ModuleSizes,
    /// Ranks of the module.
    pub(super) world_size: u64,
    /// The micro batches of packed samples; `None` where samples are not packed.
    pub(super) packing: Option<Packing>,
}

/// Rules read the sizes of a module as its own: `d.tp`.
impl Deref for Draft<'_> {
    type Target = ModuleSizes;

    fn deref(&self) -> &ModuleSizes {
        &self.sizes
    }
}

impl<'a> Draft<'a> {
    /// Derives every size of the module with these arguments.
    pub(super) fn new(context: &'a ModuleContext<'a>, mut args: Args, range: Option<&RankRange>) -> Self {
        // `validate_args` sets num_experts to None where it is 0.
        args.num_experts = args.num_experts.filter(|experts| *experts > 0);
        let io = context.complete(&mut args, range);
        let hybrid = args.hybrid_layer_pattern.as_deref().map(|text| match context.patterns {
            Some(known) => known.read(text),
            None => text.parse(),
        });
        if let Some(Ok(pattern)) = &hybrid {
            follow_pattern(&mut args, pattern);
        }
        if args.experimental_attention_variant == Some(AttentionVariant::Dsv4Hybrid) {
            follow_compressed_attention(&mut args);
        }
        if args.use_megatron_fsdp {
            follow_fsdp(&mut args);
        }
        if args.use_torch_fsdp2 {
            // `validate_args`, with Transformer Engine 2.0 and later.
            args.fp8_param_gather = false;
        }
        if is_packed(&args) && io.is_language() {
            follow_packing(&mut args);
        }
        // Megatron-Bridge, whose adapters these are, builds MLA of the pinned revision.
        args.mla_q_proj_layernorm |= args.peft_type != AdapterType::None;
        let a = args;
        let layers = Layers::of(
            &a,
            hybrid.as_ref().and_then(|pattern| pattern.as_ref().ok()),
            context.layers,
        );
        let (sizes, world_size) = ModuleSizes::new(&a, context, range);
        let mut draft = Self {
            context,
            io,
            hybrid,
            layers,
            sizes,
            world_size,
            packing: None,
            args: a,
        };
        if let Some((packing, count)) = Packing::new(&draft) {
            draft.packing = Some(packing);
            draft.sizes.num_microbatches = count;
        }
        draft
    }

    /// Its layers, with the arguments that they follow from: another job with the same arguments has the same layers.
    pub(super) fn into_known_layers(self) -> KnownLayers {
        KnownLayers::new(self.args, self.hybrid.and_then(Result::ok), self.layers)
    }

    /// The checked module, once no rule is broken and its layers are split into stages.
    pub(super) fn into_module(mut self, name: String, stages: StageLayout) -> Module {
        self.io.count_items(&mut self.args);
        let longest_position = self.args.seq_length;
        if let Some(packing) = &self.packing {
            // A pack is one long sample to everything but attention.
            self.args.seq_length = packing.batch.tokens;
            self.args.micro_batch_size = 1;
        }
        if self.pattern().is_none() && mtp_without_decoder(&stages) {
            self.layers.mtp_without_decoder(&self.args);
        }
        let gpu_generation = self.gpu_generation();
        let a = &self.args;
        let moe = a.num_experts.map(|num_experts| Moe {
            num_experts,
            topk: a.moe_router_topk,
            ffn_hidden_size: a.moe_ffn_hidden_size.unwrap_or(self.ffn_hidden_size),
            shared: a.moe_shared_expert_intermediate_size.unwrap_or(0),
            load_imbalance: a.expert_load_imbalance,
        });
        Module {
            name,
            sizes: self.sizes,
            sequence_parallel: a.sequence_parallel && self.tensor_parts() > 1,
            vocab_size: a.vocab_size,
            max_position_embeddings: a.max_position_embeddings.unwrap_or(longest_position),
            io: self.io,
            boundary: Boundary::default(),
            moe,
            hybrid: self.hybrid.and_then(Result::ok),
            adapters: Adapters::of(&self.args, &self.layers, stages.chunks()),
            layers: self.layers,
            layer: LayerSizes::default(),
            packing: self.packing,
            stages,
            whole_sequences: self.context.colocated && !self.io.is_language(),
            precision: match (a.bf16, a.fp16) {
                (true, _) => Precision::Bf16,
                (false, true) => Precision::Fp16,
                (false, false) => Precision::Fp32,
            },
            gpu_generation,
            nvlink_domain: NvlinkDomain::of(&self.args),
            args: self.args,
        }
    }

    /// The generation of the GPU: the one that was given, or else that of the chosen GPU; `None` where neither is
    /// known.
    pub(super) fn gpu_generation(&self) -> Option<GpuGeneration> {
        let chosen = || gpus::generation(self.args.gpu.as_deref()?);
        self.args.gpu_generation.or_else(chosen)
    }

    /// TP sizes near the current one that divide the attention heads and pass `test`.
    pub(super) fn near_tp(&self, test: &dyn Fn(u64) -> bool) -> Vec<u64> {
        let heads = self.args.num_attention_heads;
        near_matches(self.tp, heads.max(self.tp), 3, &|tp| {
            heads.is_multiple_of(tp) && test(tp)
        })
    }

    /// Whether the ranks hold a whole number of copies of the model.
    pub(super) fn has_whole_copies(&self) -> bool {
        self.world_size.is_multiple_of(self.total_model_size())
    }

    /// Whether context-parallel ranks split sequences. An encoder on the language model's own ranks has whole
    /// sequences on each of them.
    pub(super) fn splits_sequences(&self) -> bool {
        self.cp > 1 && (self.io.is_language() || !self.context.colocated)
    }

    /// Tensor-parallel ranks that share a layer. An encoder of Hugging Face is whole on each of them.
    pub(super) fn tensor_parts(&self) -> u64 {
        let is_whole = self.args.replicated && !self.io.is_language();
        if is_whole { 1 } else { self.tp }
    }

    /// The pattern of a `HybridModel`, where its text is one.
    pub(super) fn pattern(&self) -> Option<&HybridPattern> {
        self.hybrid.as_ref()?.as_ref().ok()
    }

    /// The fewest query groups that a layer with attention has.
    pub(super) fn least_query_groups(&self) -> u64 {
        let layers = self.layers.distinct().iter().chain(self.layers.mtp());
        let of_layers = layers.filter(|layer| layer.mixer.is_some());
        let groups = of_layers.map(|layer| layer.sizes.num_query_groups.map_or(self.num_query_groups, u64::from));
        groups.min().unwrap_or(self.num_query_groups).max(1)
    }

    /// Whether the module has routed experts.
    pub(super) fn has_experts(&self) -> bool {
        self.args.num_experts.is_some()
    }

    /// Whether training is in bf16 or fp16.
    pub(super) fn half_precision(&self) -> bool {
        self.args.bf16 || self.args.fp16
    }

    /// Whether full recompute is asked for.
    pub(super) fn full_recompute(&self) -> bool {
        self.args.recompute_granularity == Some(RecomputeGranularity::Full)
    }

    /// Whether selective recompute is asked for.
    pub(super) fn selective_recompute(&self) -> bool {
        self.args.recompute_granularity == Some(RecomputeGranularity::Selective)
    }

    /// Whether selective recompute is asked for, and `module` is among its modules.
    pub(super) fn recomputes(&self, module: RecomputeModule) -> bool {
        self.selective_recompute() && self.args.recompute_modules.contains(module)
    }

    /// Whether fine-grained offloading moves what `module` saves.
    pub(super) fn offloads(&self, module: OffloadModule) -> bool {
        self.args.fine_grained_activation_offloading && self.args.offload_modules.contains(module)
    }

    /// Whether one of the three ways to ask for virtual stages asks for more than one.
    pub(super) fn interleaved(&self) -> bool {
        let several = |n: Option<u64>| n.is_some_and(|n| n > 1);
        several(self.args.virtual_pipeline_model_parallel_size)
            || self.args.num_layers_per_virtual_pipeline_stage.is_some()
            || several(self.args.num_virtual_stages_per_pipeline_rank)
    }

    /// Whether the job asks for chunks of pipeline stages, be it one on each rank.
    pub(super) fn asks_for_chunks(&self) -> bool {
        self.interleaved()
            || self.args.virtual_pipeline_model_parallel_size.is_some()
            || self.args.pipeline_model_parallel_layout.is_some()
    }

    /// Whether the interleaved schedule runs: there are pipeline stages, and chunks of them or a pattern with more
    /// segments than stages.
    pub(super) fn has_chunks(&self) -> bool {
        let segments = self.pattern().map_or(0, |pattern| pattern.segments().len() as u64);
        self.pp > 1 && (self.asks_for_chunks() || segments > self.pp)
    }

    /// Whether the optimizer is Adam.
    pub(super) fn adam(&self) -> bool {
        self.args.optimizer == OptimizerKind::Adam
    }

    /// The field that says how many chunks a pipeline rank has.
    pub(super) fn chunk_field(&self) -> FieldId {
        let a = &self.args;
        if a.num_virtual_stages_per_pipeline_rank.is_some() {
            FieldId::num_virtual_stages_per_pipeline_rank
        } else if a.num_layers_per_virtual_pipeline_stage.is_some() {
            FieldId::num_layers_per_virtual_pipeline_stage
        } else {
            FieldId::virtual_pipeline_model_parallel_size
        }
    }
}

/// Whether the MTP layers of a model are in a chunk without decoder layers.
pub(super) fn mtp_without_decoder(stages: &StageLayout) -> bool {
    let mut chunks = stages.chunks().iter();
    chunks.any(|chunk| chunk.mtp > 0 && chunk.num_layers() == 0)
}

/// Sets the arguments that follow from a pattern (`validate_args`): it overrides the numbers of layers and of MTP
/// depths, and the letters of MLA turn it on.
fn follow_pattern(a: &mut Args, pattern: &HybridPattern) {
    a.num_layers = pattern.num_layers();
    a.mtp_num_layers = (pattern.depths() > 0).then_some(pattern.depths());
    let latent = [LayerSymbol::MultiLatentAttention, LayerSymbol::SparseAttention];
    // The layers of MLA in a hybrid model are of the pinned revision, whose `linear_q_proj` has the norm on queries in
    // it.
    a.mla_q_proj_layernorm = true;
    a.multi_latent_attention |= latent.into_iter().any(|symbol| pattern.has(symbol));
    // `core_transformer_config_from_args`.
    if pattern.has(LayerSymbol::SparseAttention) {
        a.experimental_attention_variant = Some(AttentionVariant::Dsa);
    }
}

/// Sets the widths that follow from those of values: compressed attention has one head of keys, which are the values too
/// (`MLATransformerConfig.__post_init__` of the dev branch).
fn follow_compressed_attention(a: &mut Args) {
    a.qk_head_dim = a.v_head_dim.saturating_sub(a.qk_pos_emb_head_dim).max(1);
    a.kv_lora_rank = a.qk_head_dim;
}

/// Sets the arguments that Megatron FSDP brings with it (`validate_args`).
fn follow_fsdp(a: &mut Args) {
    a.use_distributed_optimizer = true;
    a.fsdp_double_buffer |= a.use_nccl_ub || a.megatron_fsdp_max_pool_double_buffer;
}

/// Sets the arguments that follow from packed samples: a budget of tokens takes the place of a number of samples, and
/// no data loader makes an attention mask (`SFTDataset.__getitem__`).
fn follow_packing(a: &mut Args) {
    a.create_attention_mask_in_dataloader = false;
    if a.max_seqlen_per_dp_cp_rank.is_some() {
        a.micro_batch_size = 1;
    }
}
