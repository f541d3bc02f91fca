//! Word embedding, learned positions and the output layer.

pub(crate) mod ops;

use super::hidden;
use super::list::ParamList;
use super::tensor::{Component, factor};
use crate::config::choices::PositionEmbedding;
use crate::config::job::Module;
use crate::source::{EMBEDDING, OUTPUT_LAYER};

/// The word embedding over the padded vocabulary.
pub(crate) fn word(m: &Module, out: &mut ParamList<'_>) {
    out.at(Component::Embedding, EMBEDDING);
    let vocabulary = factor("V", m.padded_vocab_size);
    out.split(
        "embedding.word_embeddings.weight",
        &[vocabulary, hidden(m)],
        2,
    );
}

/// The table of learned positions: replicated, on the first stage only.
pub(crate) fn position(m: &Module, out: &mut ParamList<'_>) {
    if m.args.position_embedding_type == PositionEmbedding::LearnedAbsolute {
        out.at(Component::PositionEmbedding, EMBEDDING);
        let rows = factor("max_position_embeddings", m.max_position_embeddings);
        out.whole(
            "embedding.position_embeddings.weight",
            &[rows, hidden(m)],
            2,
        );
    }
}

/// The output layer's weight: its own, or on another stage a second copy of the tied embedding.
pub(crate) fn output_layer(m: &Module, out: &mut ParamList<'_>) {
    out.at(Component::OutputLayer, OUTPUT_LAYER);
    let vocabulary = factor("V", m.padded_vocab_size);
    out.split("output_layer.weight", &[vocabulary, hidden(m)], 2);
}
