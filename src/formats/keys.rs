//! What the key tables of the other front ends share.
//!
//! Fields are Megatron-LM's argparse destinations, as in [`super::megatron_args`]; values are written the
//! way Python prints them.

use super::megatron_args::{self, Arity};
use super::slime_keys;

/// What a key of another front end means for Megatron-LM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The field, with the same value.
    Field(&'static str),
    /// The field with the opposite truth value.
    Opposite(&'static str),
    /// A rule of its own.
    Rule(Rule),
    /// It changes memory, but not in a way that the estimate follows; why.
    NotModelled(&'static str),
    /// It does not change the memory of a training step.
    Irrelevant,
}

/// Keys that are no renamed fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// `num_query_groups`: its presence turns `group_query_attention` on.
    QueryGroups,
    /// `gated_linear_unit` with `activation_func`: `silu` and gated is `swiglu`; `quick_gelu` and gated is
    /// `quick_geglu`; `squared_relu` is `squared_relu`.
    GatedLinearUnit,
    /// The other half of [`Rule::GatedLinearUnit`].
    ActivationFunction,
    /// A precision preset by name; see [`super::bridge_keys::PRECISIONS`].
    PrecisionPreset,
    /// Whether gradients are in fp32, where no mixed precision says so.
    Gradients,
    /// `torch.bfloat16`, `bfloat16`, `half`, …: sets `bf16` or `fp16`.
    Dtype,
    /// The vocabulary, padded already unless `should_pad_vocab` says otherwise.
    PaddedVocabulary,
    /// Whether the vocabulary is still to be padded.
    PadVocabulary,
    /// Stages of the virtual pipeline on each rank: `num_virtual_stages_per_pipeline_rank`.
    VirtualStages,
    /// Nodes of the training processes.
    Nodes,
    /// GPUs on each of those nodes.
    GpusPerNode,
    /// A path or name of a Hugging Face model, which brings the architecture.
    HfModel,
    /// Longest prompt; with the longest response it makes the sequence.
    PromptLength,
    /// Longest response.
    ResponseLength,
    /// Tokens on one GPU in one micro-batch, which stands in for sequence length times micro-batch.
    TokensPerGpu,
    /// Whether [`Rule::TokensPerGpu`] counts.
    DynamicBatch,
    /// Batch per optimizer step, counted in prompts.
    PromptBatch,
    /// Samples for each prompt.
    SamplesPerPrompt,
    /// Optimizer steps for each batch of prompts.
    StepsPerRollout,
    /// Batch of the data loader: the global batch where nothing says how it is split.
    TrainBatch,
    /// The kind of tokenizer, which may say how large the vocabulary is.
    TokenizerType,
    /// A tokenizer's file or repository, which may say so too.
    TokenizerModel,
    /// A value of several keys at once, as JSON or a map.
    Nested,
}

/// How many words a flag of Megatron-LM, or of a program that adds to its flags, takes; none for unknown flags.
pub(super) fn arity(name: &str) -> Option<Arity> {
    megatron_args::arity(name).or_else(|| slime_keys::arity(name))
}

/// The meaning of a key that is called like a Megatron-LM field.
pub(super) fn same_field(name: &str) -> Option<Meaning> {
    let spec = megatron_args::flags().find(|spec| spec.dest == name)?;
    Some(Meaning::Field(spec.dest))
}

/// The meaning of `name` in a table.
pub(super) fn look_up(table: &[(&str, Meaning)], name: &str) -> Option<Meaning> {
    table
        .iter()
        .find(|(key, _)| *key == name)
        .map(|(_, meaning)| *meaning)
}
