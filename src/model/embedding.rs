//! Word embedding, learned positions and the output layer.

pub(crate) mod ops;

use super::tensor::{Component, Holding, ParamTensor, Shape, factor};
use super::{hidden, tp};
use crate::config::choices::PositionEmbedding;
use crate::config::job::Module;
use crate::source::{EMBEDDING, OUTPUT_LAYER, Prose};

/// The word embedding over the padded vocabulary.
pub(crate) fn word(m: &Module, out: &mut Vec<ParamTensor>) {
    out.push(ParamTensor {
        component: Component::Embedding,
        name: "embedding.word_embeddings.weight",
        shape: Shape::of(&[factor("V", m.padded_vocab_size), hidden(m)]).over(tp(m)),
        holding: Holding::TpSharded,
        dimensions: 2,
        source: Prose::new(EMBEDDING),
    });
}

/// The table of learned positions: replicated, on the first stage only.
pub(crate) fn position(m: &Module, out: &mut Vec<ParamTensor>) {
    if m.args.position_embedding_type == PositionEmbedding::LearnedAbsolute {
        out.push(ParamTensor {
            component: Component::PositionEmbedding,
            name: "embedding.position_embeddings.weight",
            shape: Shape::of(&[
                factor("max_position_embeddings", m.max_position_embeddings),
                hidden(m),
            ]),
            holding: Holding::Replicated,
            dimensions: 2,
            source: Prose::new(EMBEDDING),
        });
    }
}

/// The output layer's weight: its own, or on another stage a second copy of the tied embedding.
pub(crate) fn output_layer(m: &Module, out: &mut Vec<ParamTensor>) {
    out.push(ParamTensor {
        component: Component::OutputLayer,
        name: "output_layer.weight",
        shape: Shape::of(&[factor("V", m.padded_vocab_size), hidden(m)]).over(tp(m)),
        holding: Holding::TpSharded,
        dimensions: 2,
        source: Prose::new(OUTPUT_LAYER),
    });
}
