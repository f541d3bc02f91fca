//! What a key of a front end means for Megatron-LM: the values of the key tables.

use crate::config::not_modelled::MemoryEffect;
use crate::formats::megatron_args;

/// What a key of a front end means for Megatron-LM. Fields are named by Megatron-LM's argparse destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMeaning {
    /// The key is another name of this field and has the same values.
    Field(&'static str),
    /// The key is the negation of this field: true where the field is false.
    Opposite(&'static str),
    /// The value has to be converted, or decides a field only together with other keys.
    Rule(KeyRule),
    /// The estimate does not follow the key.
    NotModelled {
        /// How much the key changes memory where it is not switched off.
        effect: MemoryEffect,
        /// The part of the memory that the estimate leaves out, in words.
        reason: &'static str,
    },
    /// The key does not change the memory of a training step.
    Irrelevant,
    /// A flag that the pinned version of Megatron-LM no longer has, and the flag that replaces it, if any.
    Retired(Option<&'static str>),
}

impl KeyMeaning {
    /// A key that changes memory by 2 % or more.
    pub(super) const fn more(reason: &'static str) -> Self {
        let effect = MemoryEffect::More;
        Self::NotModelled { effect, reason }
    }

    /// A key that changes memory by less than 2 %.
    pub(super) const fn less(reason: &'static str) -> Self {
        let effect = MemoryEffect::BelowTwoPercent;
        Self::NotModelled { effect, reason }
    }

    /// A key that changes no memory of a training step, although it might seem so.
    pub(super) const fn nothing(reason: &'static str) -> Self {
        let effect = MemoryEffect::Nothing;
        Self::NotModelled { effect, reason }
    }
}

/// How a key is converted that is not just another name of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// `num_query_groups`: its presence turns `group_query_attention` on.
    QueryGroups,
    /// `gated_linear_unit` together with `activation_func`: `silu` and gated is `swiglu`; `quick_gelu` and gated is
    /// `quick_geglu`; `squared_relu` is `squared_relu`.
    GatedLinearUnit,
    /// `activation_func`, which is read together with [`KeyRule::GatedLinearUnit`].
    ActivationFunction,
    /// A precision preset by name; see [`super::bridge::precision::PRESETS`].
    PrecisionPreset,
    /// Whether gradients are reduced in fp32, where no precision preset says so.
    Gradients,
    /// `torch.bfloat16`, `bfloat16`, `half`, …: sets `bf16` or `fp16`.
    Dtype,
    /// The size of the vocabulary. It is padded already, unless `should_pad_vocab` is true.
    PaddedVocabulary,
    /// `should_pad_vocab`: whether the vocabulary is still to be padded.
    PadVocabulary,
    /// Virtual pipeline stages on each pipeline rank.
    VirtualStages,
    /// The number of nodes for training.
    Nodes,
    /// The number of GPUs on each node for training.
    GpusPerNode,
    /// The path or name of a Hugging Face model, whose `config.json` has the architecture.
    HfModel,
    /// Tokens of the longest prompt. The sequence is the longest prompt and the longest response.
    PromptLength,
    /// Tokens of the longest response.
    ResponseLength,
    /// Tokens that one GPU gets in one micro-batch, in place of a sequence length and a micro-batch size.
    TokensPerGpu,
    /// Tokens that samples are packed to. Then the sequence length is that of the longest sample.
    PackLength,
    /// Whether [`KeyRule::TokensPerGpu`] is in force.
    DynamicBatch,
    /// Prompts of one batch.
    PromptBatch,
    /// Responses sampled for each prompt.
    SamplesPerPrompt,
    /// Optimizer steps that one batch of prompts is split into.
    StepsPerRollout,
    /// Batch size of the data loader: the global batch size, unless other keys split the batch further.
    TrainBatch,
    /// The class of the tokenizer; some classes have a vocabulary of a known size.
    TokenizerType,
    /// A tokenizer's file or repository on the Hub; the model of a preset has a vocabulary of a known size.
    TokenizerModel,
    /// Tokens that are added to those of the tokenizer.
    ExtraVocabulary,
    /// The class of the tokenizer in Pai-Megatron-Patch, whose vocabulary is not padded any further.
    PatchTokenizer,
    /// Several keys in one value, as JSON or a map.
    Nested,
    /// `use_layer_wise_distributed_optimizer`: Megatron-LM turns `use_distributed_optimizer` off where Muon's states
    /// are sharded layer by layer, which is what `use_distributed_optimizer` asks for.
    LayerWiseOptimizer,
    /// `rlhf_type` of ms-swift: the algorithm of reinforcement learning, and with it the models beside the trained one.
    RlhfType,
    /// `task_type` of ms-swift: what the model puts out in place of logits over the vocabulary.
    TaskType,
    /// `num_labels` of ms-swift, which counts for sequence classification.
    NumLabels,
    /// A setting of adapters, which counts only where there are any.
    Adapter,
    /// `use_fused_kernels` of verl: the output layer and log-probabilities in one kernel.
    FusedKernels,
    /// `use_kl_loss` and `use_kl_in_reward` of verl: a reference model to compare with, read in `import/verl.rs`.
    ReferenceModel,
    /// `cpu_offloading`: without it, `cpu_offloading_num_layers` says nothing.
    CpuOffloading,
    /// `hybrid_layer_pattern`: the layers of a hybrid model.
    HybridPattern,
    /// `hybrid_override_pattern`: the older name of `hybrid_layer_pattern`.
    OlderHybridPattern,
    /// `mtp_hybrid_override_pattern`: the layers of one MTP depth of a hybrid model.
    MtpPattern,
    /// `hybrid_attention_ratio`: the part of a hybrid model's layers that are attention.
    AttentionRatio,
    /// `hybrid_mlp_ratio`: the part of a hybrid model's layers that are MLPs.
    MlpRatio,
    /// `spec`: the module and the function that says what the letters of a pattern stand for.
    LayerSpec,
    /// `mamba_chunk_size`: the tokens of a block in Mamba's scan.
    MambaChunkSize,
    /// The Python module that builds the model: Megatron-LM's `pretrain_gpt`, or another.
    ModelProvider,
    /// `MindSpeed`'s `--first-k-dense-replace`: layers at the beginning without experts.
    FirstDenseLayers,
    /// `MindSpeed`'s `--n-shared-experts`: the number of shared experts.
    SharedExperts,
    /// `MindSpeed`'s `--noop-layers`: layers that do nothing.
    NoopLayers,
    /// `MindSpeed`'s `--num-layer-list`: the layers of each pipeline stage.
    LayerList,
}

/// The meaning of a key that says something about the layers of a hybrid model, in all front ends.
pub(super) fn of_hybrid(name: &str) -> Option<KeyMeaning> {
    Some(KeyMeaning::Rule(match name {
        "hybrid_layer_pattern" => KeyRule::HybridPattern,
        "hybrid_override_pattern" => KeyRule::OlderHybridPattern,
        "mtp_hybrid_override_pattern" => KeyRule::MtpPattern,
        "hybrid_attention_ratio" => KeyRule::AttentionRatio,
        "hybrid_mlp_ratio" => KeyRule::MlpRatio,
        "spec" | "hybrid_stack_spec" | "mamba_stack_spec" => KeyRule::LayerSpec,
        // It changes how weights are initialized.
        "is_hybrid_model" => return Some(KeyMeaning::Irrelevant),
        _ => return None,
    }))
}

/// The meaning of a key that is called like a Megatron-LM field.
pub(super) fn same_field(name: &str) -> Option<KeyMeaning> {
    let spec = megatron_args::flags().find(|spec| spec.dest == name)?;
    Some(KeyMeaning::Field(&spec.dest))
}

/// The meaning of `name` in a table.
pub(super) fn look_up(table: &[(&str, KeyMeaning)], name: &str) -> Option<KeyMeaning> {
    table.iter().find(|(key, _)| *key == name).map(|(_, meaning)| *meaning)
}
