//! One module of a checked job, with every size that follows from its arguments.

use core::ops::Deref;

use super::{Moe, Precision};
use crate::config::adapters::Adapters;
use crate::config::choices::{ModuleToSave, Normalization, OptimizerKind, RecomputeGranularity};
use crate::config::fields::Args;
use crate::config::gpus::GpuGeneration;
use crate::config::hybrid_pattern::HybridPattern;
use crate::config::layer_sizes::LayerSizes;
use crate::config::layers::Layers;
use crate::config::modality::ModuleIo;
use crate::config::module_sizes::ModuleSizes;
use crate::config::nvlink_domain::NvlinkDomain;
use crate::config::packing::Packing;
use crate::parallel::groups::seeds::SeedRule;
use crate::parallel::groups::{ModelParallel, RankGrids, RankOrder};
use crate::parallel::stages::StageLayout;
use crate::python::PythonError;

/// One checked module: a model with its own parallelism on its own span of ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The module's name in the job, such as `language`.
    pub(crate) name: String,
    /// The arguments with defaults filled in. Prefer the derived fields below where there is one. In an
    /// encoder the sequence is one item, and the micro batch counts the items of the fullest one.
    pub(crate) args: Args,
    /// The sizes that follow from the arguments.
    pub(crate) sizes: ModuleSizes,
    /// The generation of the GPU; `None` where it is not known.
    pub(crate) gpu_generation: Option<GpuGeneration>,
    /// The node or `NVLink` domain of the GPU.
    pub(crate) nvlink_domain: NvlinkDomain,
    /// Whether norms and residuals split the sequence over TP ranks; always off with TP 1.
    pub(crate) sequence_parallel: bool,
    /// Vocabulary before padding, when known.
    pub(crate) vocab_size: Option<u64>,
    /// Rows of the learned position table.
    pub(crate) max_position_embeddings: u64,
    /// The routed experts, in a `MoE` model.
    pub(crate) moe: Option<Moe>,
    /// The pattern of a `HybridModel`; none for a `GPTModel`.
    pub(crate) hybrid: Option<HybridPattern>,
    /// The mixer and the MLP of each layer.
    pub(crate) layers: Layers,
    /// The layer that sees this module, as far as it differs from the others (`Module::of_layer`).
    pub(crate) layer: LayerSizes,
    /// The adapters that are trained in place of the module's own parameters.
    pub(crate) adapters: Option<Adapters>,
    /// The micro batches of packed samples; `None` where samples are not packed. The fullest one is then the only
    /// sample of the micro batch, and its tokens are the sequence length.
    pub(crate) packing: Option<Packing>,
    /// The inputs and outputs of the module: its front end and projector.
    pub(crate) io: ModuleIo,
    /// The data that passes between this module and others.
    pub(crate) boundary: Boundary,
    /// Whether every context-parallel rank has whole sequences.
    pub(crate) whole_sequences: bool,
    /// The layers of each stage and chunk.
    pub stages: StageLayout,
    /// Training precision.
    pub precision: Precision,
}

/// The data that passes between a module and others on each of its ranks, and the stages of the other modules before
/// and after it in their common pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boundary {
    /// Bytes of a micro batch that the first stage gets from other modules on other ranks.
    pub(crate) received: u64,
    /// Bytes of a micro batch that the last stage sends to the language model.
    pub(crate) sent: u64,
    /// Pipeline stages of other modules before its first.
    pub(crate) stages_before: u64,
    /// Pipeline stages of the language model after its last.
    pub(crate) stages_after: u64,
    /// The pipeline of the language model, for an encoder on the ranks of its first stage.
    pub(crate) first_stage: Option<FirstStage>,
}

/// The sizes of the language model's pipeline that decide how many micro batches its first stage has in flight, under
/// Megatron's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstStage {
    /// Pipeline stages.
    pub(crate) pp: u64,
    /// Virtual chunks of each rank; `None` without interleaving.
    pub(crate) vpp: Option<u32>,
    /// Micro batches in a group of the interleaved schedule; `None` is `pp`.
    pub(crate) microbatch_group_size_per_vp_stage: Option<u64>,
    /// Whether a rank starts one more forward pass, to hide expert-parallel all-to-alls behind it.
    pub(crate) overlap_moe_expert_parallel_comm: bool,
}
/// Sizes of a module that follow from its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derived {
    /// Copies of the model, in the dense view.
    pub data_parallel_size: u64,
    /// Copies of each routed expert.
    pub expert_data_parallel_size: u64,
    /// Ranks that split each routed expert.
    pub expert_tensor_parallel_size: u64,
    /// Vocabulary after padding.
    pub padded_vocab_size: u64,
    /// Rows that padding adds.
    pub vocab_padding: u64,
    /// Micro batches of one optimizer step on each rank.
    pub num_microbatches: u64,
    /// Samples of one optimizer step.
    pub global_batch_size: u64,
    /// Inner width of the dense MLP.
    pub ffn_hidden_size: u64,
    /// Width of one head.
    pub kv_channels: u64,
    /// Chunks of each pipeline rank; 1 without interleaving.
    pub virtual_pipeline_model_parallel_size: u64,
    /// Whether norms and residuals split the sequence over TP.
    pub sequence_parallel: bool,
    /// Routed experts on one rank.
    pub experts_per_rank: u64,
}
/// Formulas read the sizes of a module as its own: `module.tp`.
impl Deref for Module {
    type Target = ModuleSizes;

    fn deref(&self) -> &ModuleSizes {
        &self.sizes
    }
}

impl Module {
    /// The module's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arguments with defaults filled in.
    #[must_use]
    pub fn args(&self) -> &Args {
        &self.args
    }

    /// The micro batches of packed samples; `None` where samples are not packed.
    #[must_use]
    pub fn packing(&self) -> Option<&Packing> {
        self.packing.as_ref()
    }

    /// Tokens that attend to each other: a sample's, and those of the longest one where samples are packed.
    pub(crate) fn attention_length(&self) -> u64 {
        let length = self.args.seq_length;
        self.packing.map_or(length, |packing| packing.longest.min(length))
    }

    /// The mixer and the MLP of each layer.
    #[must_use]
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// The layers of each stage and chunk.
    #[must_use]
    pub fn stages(&self) -> &StageLayout {
        &self.stages
    }

    /// The pattern of a `HybridModel`; none for a `GPTModel`.
    #[must_use]
    pub fn hybrid(&self) -> Option<&HybridPattern> {
        self.hybrid.as_ref()
    }

    /// Whether the residual stream is in fp32, whatever the precision of training is (`FalconH1Layer.residual_in_fp32`).
    #[must_use]
    pub const fn stream_in_fp32(&self) -> bool {
        self.args.fp32_residual_connection || self.args.mamba_beside_attention
    }

    /// Mamba heads of a layer: twice the hidden size over the width of a head, unless they are given
    /// (`MambaMixer.__init__`).
    #[must_use]
    pub fn mamba_num_heads(&self) -> u64 {
        mamba_num_heads(&self.args)
    }

    /// Whether decoder layer `index` (from 0) stays in bf16 while others compute in fp8
    /// (`is_first_last_bf16_layer` in `fp8_utils.py` of megatron-core).
    #[must_use]
    pub fn is_bf16_layer(&self, index: u64) -> bool {
        let a = &self.args;
        let end = a.num_layers.saturating_sub(a.num_layers_at_end_in_bf16);
        self.has_bf16_layers() && (index < a.num_layers_at_start_in_bf16 || index >= end)
    }

    /// Whether some layers stay in bf16 while others compute in fp8.
    #[must_use]
    pub fn has_bf16_layers(&self) -> bool {
        self.is_quantized() && self.args.first_last_layers_bf16
    }

    /// Whether matrix products are in fp8 or fp4.
    pub(crate) fn is_quantized(&self) -> bool {
        self.args.fp8_format.is_some() || self.args.fp4_format.is_some()
    }

    /// The adapters that are trained in place of the module's own parameters; none without.
    #[must_use]
    pub fn adapters(&self) -> Option<&Adapters> {
        self.adapters.as_ref()
    }

    /// Whether the module's own parameters, other than its projector's, are not trained: it is frozen, or adapters are
    /// trained instead.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.args.frozen || self.adapters.is_some()
    }

    /// Whether a whole copy of a module is trained beside adapters.
    #[must_use]
    pub fn saves(&self, module: ModuleToSave) -> bool {
        self.adapters.is_some() && self.io.is_language() && self.args.peft_modules_to_save.contains(module)
    }

    /// Whether the embedding's output has a gradient: the embedding or a copy of it is trained, or an encoder before it;
    /// or full recompute has turned it on for the sake of adapters.
    pub(crate) fn embedding_has_gradient(&self) -> bool {
        self.adapters.is_none()
            || self.saves(ModuleToSave::WordEmbeddings)
            || self.boundary.received > 0
            || self.args.recompute_granularity == Some(RecomputeGranularity::Full)
    }

    /// The inputs and outputs of the module: its front end and projector.
    #[must_use]
    pub fn io(&self) -> &ModuleIo {
        &self.io
    }

    /// Parameters of a norm of this width: a weight, and a bias with `LayerNorm`.
    pub(crate) fn norm_parts(&self) -> u64 {
        match self.args.normalization {
            Normalization::LayerNorm => 2,
            Normalization::RmsNorm => 1,
        }
    }

    /// The dense and the expert numbering of the module's ranks.
    ///
    /// # Errors
    /// Never for a checked module; the grid's own rules are part of the check.
    pub fn rank_grids(&self) -> Result<RankGrids, PythonError> {
        let ModuleSizes {
            tp, cp, pp, ep, etp, ..
        } = self.sizes;
        let model = ModelParallel { tp, cp, pp, ep, etp };
        let grids = RankGrids::new(&model, self.ranks(), RankOrder::PpLast, self.rank_offset)?;
        if self.args.use_distributed_optimizer {
            grids.with_optimizer_instances(self.args.num_distributed_optimizer_instances)
        } else {
            Ok(grids)
        }
    }

    /// The seeds that the module's ranks start from.
    #[must_use]
    pub fn seed_rule(&self) -> SeedRule {
        SeedRule {
            seed: self.args.seed,
            data_parallel_random_init: self.args.data_parallel_random_init,
        }
    }

    /// First rank of the module's span.
    #[must_use]
    pub fn rank_offset(&self) -> u64 {
        self.rank_offset
    }

    /// Sizes that follow from the arguments.
    #[must_use]
    pub fn derived(&self) -> Derived {
        Derived {
            data_parallel_size: self.dp,
            expert_data_parallel_size: self.edp,
            expert_tensor_parallel_size: self.etp,
            padded_vocab_size: self.padded_vocab_size,
            vocab_padding: self
                .vocab_size
                .map_or(0, |vocab| self.padded_vocab_size.saturating_sub(vocab)),
            num_microbatches: self.num_microbatches,
            global_batch_size: self.global_batch_size,
            ffn_hidden_size: self.ffn_hidden_size,
            kv_channels: self.kv_channels,
            virtual_pipeline_model_parallel_size: u64::from(self.stages.chunks_per_rank()),
            sequence_parallel: self.sequence_parallel,
            experts_per_rank: self.moe.as_ref().map_or(0, |moe| moe.num_experts / self.ep),
        }
    }

    /// The GPUs of a node, or of the larger `NVLink` domain that some GPU types have.
    #[must_use]
    pub fn nvlink_domain(&self) -> u64 {
        self.nvlink_domain.gpus
    }

    /// The generation of the GPU: the one that was given, or else that of the chosen GPU, or else
    /// [`GpuGeneration::ASSUMED`].
    #[must_use]
    pub fn gpu_generation(&self) -> GpuGeneration {
        self.gpu_generation.unwrap_or(GpuGeneration::ASSUMED)
    }

    /// The generation of the GPU; `None` where it is not known.
    #[must_use]
    pub fn known_gpu_generation(&self) -> Option<GpuGeneration> {
        self.gpu_generation
    }

    /// Context-parallel ranks that share a sequence. An encoder on the language model's own ranks sees whole images
    /// on each of them (`vision_transformer_config.context_parallel_size = 1` in `pretrain_vlm.py`).
    #[must_use]
    pub fn sequence_parts(&self) -> u64 {
        if self.whole_sequences { 1 } else { self.cp }
    }

    /// Tensor-parallel ranks that share a layer. An encoder of Hugging Face is whole on each of them.
    #[must_use]
    pub fn tensor_parts(&self) -> u64 {
        let is_whole = self.args.replicated && !self.io.is_language();
        if is_whole { 1 } else { self.tp }
    }

    /// Ranks of the module's span.
    #[must_use]
    pub fn ranks(&self) -> u64 {
        self.tp * self.pp * self.cp * self.dp
    }

    /// Ranks that share the optimizer states of dense parameters.
    #[must_use]
    pub fn dense_shard(&self) -> u64 {
        self.shard(self.dp * self.cp)
    }

    /// Ranks that share the optimizer states of routed experts.
    #[must_use]
    pub fn expert_shard(&self) -> u64 {
        self.shard(self.edp)
    }

    fn shard(&self, group: u64) -> u64 {
        let instances = self.args.num_distributed_optimizer_instances;
        match self.args.optimizer {
            // Whole matrices, dealt out layer by layer (`LayerWiseDistributedOptimizer`).
            OptimizerKind::DistMuon => group.max(1),
            _ if self.args.use_distributed_optimizer => (group / instances).max(1),
            _ => 1,
        }
    }
}

/// Mamba heads of a layer of a module with these arguments.
pub(in crate::config) fn mamba_num_heads(a: &Args) -> u64 {
    a.mamba_num_heads
        .unwrap_or_else(|| a.hidden_size.saturating_mul(2) / a.mamba_head_dim.max(1))
}
