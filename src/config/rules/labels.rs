//! Rules of `num_labels`: a head for sequence classification in place of the output layer over the vocabulary.

use super::rule::FixValue::{Default, Off, On};
use super::rule::{Rule, Violation, rule};
use crate::config::choices::TokenLoss;
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;

pub(super) const RULES: &[Rule] = &[
    rule("labels", needs_untied_embeddings),
    rule("labels", excludes_pattern),
    rule("labels", excludes_token_loss),
    rule("labels", excludes_settings_of_the_output_layer),
];

const LABELS: F = F::num_labels;

/// The labels of a language model; encoders have no output layer.
fn labels(d: &Draft<'_>) -> Option<u64> {
    d.args.num_labels.filter(|_| d.io.is_language())
}

/// ms-swift turns it on for such models (`MegatronArguments.__post_init__`).
fn needs_untied_embeddings(d: &Draft<'_>) -> Option<Violation> {
    let untied = F::untie_embeddings_and_output_weights;
    labels(d)?;
    (!d.args.untie_embeddings_and_output_weights).then(|| {
        let message = "num_labels needs untie_embeddings_and_output_weights: the head has a weight of its own";
        Violation::error(&[LABELS, untied], message)
            .fix(untied, On)
            .fix(LABELS, Default)
    })
}

/// Only `GPTModel` of mcore-bridge has the head.
fn excludes_pattern(d: &Draft<'_>) -> Option<Violation> {
    labels(d)?;
    d.args.hybrid_layer_pattern.as_ref()?;
    let message = "num_labels and hybrid_layer_pattern exclude each other: ms-swift has the head for GPT models alone";
    Some(Violation::error(&[LABELS, F::hybrid_layer_pattern], message).fix(LABELS, Default))
}

/// The other losses are those of tokens.
fn excludes_token_loss(d: &Draft<'_>) -> Option<Violation> {
    labels(d)?;
    (d.args.token_loss != TokenLoss::Megatron).then(|| {
        let message = "num_labels excludes token_loss: its loss is that of samples";
        Violation::error(&[LABELS, F::token_loss], message)
            .fix(F::token_loss, Default)
            .fix(LABELS, Default)
    })
}

/// Settings of the output layer over the vocabulary, which the head replaces, and of programs that do not build the
/// head.
fn excludes_settings_of_the_output_layer(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    labels(d)?;
    let set = [
        (F::fp8_output_proj, a.fp8_output_proj),
        (F::defer_embedding_wgrad_compute, a.defer_embedding_wgrad_compute),
        (F::use_torch_fsdp2, a.use_torch_fsdp2),
    ];
    let (field, _) = set.into_iter().find(|(_, on)| *on)?;
    let message = format!(
        "num_labels excludes {}, which the head that ms-swift builds does not have",
        field.field().name
    );
    Some(
        Violation::error(&[LABELS, field], message)
            .fix(field, Off)
            .fix(LABELS, Default),
    )
}
