//! Rules of `num_labels`: a head for sequence classification in place of the output layer over the vocabulary.

use super::rule::FixValue::{Default, Off, On};
use super::rule::rules;
use crate::config::choices::TokenLoss;
use crate::config::draft::Draft;

rules! { |d, a|
    // ms-swift turns it on for such models (`MegatronArguments.__post_init__`).
    error "labels" if has_labels(d) && !a.untie_embeddings_and_output_weights
        => [num_labels, untie_embeddings_and_output_weights],
        "num_labels needs untie_embeddings_and_output_weights: the head has a weight of its own",
        [untie_embeddings_and_output_weights = On, num_labels = Default];
    // Only `GPTModel` of mcore-bridge has the head.
    error "labels" if has_labels(d) && a.hybrid_layer_pattern.is_some() => [num_labels, hybrid_layer_pattern],
        "num_labels and hybrid_layer_pattern exclude each other: ms-swift has the head for GPT models alone",
        [num_labels = Default];
    // The other losses are those of tokens.
    error "labels" if has_labels(d) && a.token_loss != TokenLoss::Megatron => [num_labels, token_loss],
        "num_labels excludes token_loss: its loss is that of samples", [token_loss = Default, num_labels = Default];
    // Settings of the output layer over the vocabulary, which the head replaces, and of programs that do not build the
    // head; the first of them is enough.
    error "labels" if has_labels(d) && a.fp8_output_proj => [num_labels, fp8_output_proj],
        "num_labels excludes fp8_output_proj, which the head that ms-swift builds does not have",
        [fp8_output_proj = Off, num_labels = Default];
    error "labels" if has_labels(d) && a.defer_embedding_wgrad_compute && !a.fp8_output_proj
        => [num_labels, defer_embedding_wgrad_compute],
        "num_labels excludes defer_embedding_wgrad_compute, which the head that ms-swift builds does not have",
        [defer_embedding_wgrad_compute = Off, num_labels = Default];
    error "labels"
        if has_labels(d) && a.use_torch_fsdp2 && !a.fp8_output_proj && !a.defer_embedding_wgrad_compute
        => [num_labels, use_torch_fsdp2],
        "num_labels excludes use_torch_fsdp2, which the head that ms-swift builds does not have",
        [use_torch_fsdp2 = Off, num_labels = Default];
}

/// Whether a language model has the head; encoders have no output layer.
fn has_labels(d: &Draft<'_>) -> bool {
    d.args.num_labels.is_some() && d.io.is_language()
}
