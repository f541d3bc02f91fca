//! Word embedding and learned positions.

use super::layer::in_stream_precision;
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Component, ParamTensor, factor};
use super::weights::Weights;
use super::{hidden, hyper_connections, per_layer_embedding};
use crate::config::choices::{ModuleToSave, PositionEmbedding};
use crate::config::job::Module;
use crate::source::Source;

/// The word embedding over the padded vocabulary.
pub(crate) fn word_weight(m: &Module) -> ParamTensor {
    let name = if m.saves(ModuleToSave::WordEmbeddings) {
        "embedding.word_embeddings.original_module.weight"
    } else {
        "embedding.word_embeddings.weight"
    };
    Weights::of(m, Component::Embedding, Source::Embedding).over_vocabulary(name)
}

/// The embedding of the first stage. It keeps token numbers, which are too small to list, and with
/// dropout a mask; its weight's gradient is dense, whatever few rows were read.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape) {
    let m = sizes.m;
    tape.at(Family::Output, Source::Embedding);
    tape.declare([word_weight(m)]);
    if m.saves(ModuleToSave::WordEmbeddings) {
        let weights = Weights::of(m, Component::Adapters, Source::ModulesToSave);
        let name = "embedding.word_embeddings.modules_to_save.default.weight";
        tape.declare([weights.over_vocabulary(name)]);
    }
    if m.args.position_embedding_type == PositionEmbedding::LearnedAbsolute {
        let weights = Weights::of(m, Component::PositionEmbedding, Source::Embedding);
        let rows = factor("max_position_embeddings", m.max_position_embeddings);
        let name = "embedding.position_embeddings.weight";
        tape.declare([weights.whole(name, &[rows, hidden(m)], 2)]);
    }
    let embedded = lookup(sizes, tape, "word_embeddings", "embedded tokens");
    let embedded = in_stream_precision(sizes, tape, embedded);
    let mut output = join(sizes, tape, embedded);
    if sizes.hidden_dropout() {
        let before = output;
        let mask = tape.tensor("dropout mask", sizes.residual(), 1);
        output = tape.tensor("embedded tokens after dropout", sizes.residual(), sizes.stream_width());
        tape.op("embedding_dropout", Work::MemoryBound, &[before], &[output])
            .saves(&[mask]);
    }
    if m.args.layer_norms_in_fp32 {
        let before = output;
        output = tape.tensor("scaled embedded tokens", sizes.residual(), sizes.width());
        tape.op("scale", Work::MemoryBound, &[before], &[output]);
    }
    per_layer_embedding::build(sizes, tape, output);
    tape.output = Some(hyper_connections::expand(sizes, tape, output));
}

/// The outputs of encoders take the places that the text keeps for them (`align_embeddings_by_token_positions`).
fn join(sizes: &Sizes<'_>, tape: &mut AutogradTape, embedded: TensorId) -> TensorId {
    if sizes.m.boundary.received == 0 {
        return embedded;
    }
    tape.at(Family::Output, Source::MimoModel);
    let width = sizes.stream_width();
    let mask = tape.tensor("places of the encoders' tokens", sizes.tokens(&[]), 1);
    let joined = tape.tensor("text and encoders' tokens", sizes.gathered(), width);
    let turned = tape.tensor("input of the first layer", sizes.residual(), width);
    tape.op("masked_scatter", Work::MemoryBound, &[embedded], &[joined])
        .saves(&[mask]);
    tape.op("contiguous", Work::MemoryBound, &[joined], &[turned]);
    turned
}

/// Looks up this rank's part of the vocabulary. The part that owns the weight declares it.
pub(crate) fn lookup(sizes: &Sizes<'_>, tape: &mut AutogradTape, name: &'static str, what: &'static str) -> TensorId {
    let m = sizes.m;
    let output = tape.tensor(what, sizes.residual(), sizes.width());
    // Batches come first until they are transposed, and whole sequences until the ranks' parts are summed.
    let whole = tape.tensor("embedded tokens of whole sequences", sizes.gathered(), sizes.width());
    let weight = word_weight(m).shape;
    let has_copy = m.saves(ModuleToSave::WordEmbeddings);
    let is_trained = has_copy || !m.is_frozen();
    let gradient = tape.tensor_if(is_trained, "gradient of the word embedding", weight, sizes.width());
    tape.op(name, Work::MemoryBound, &[], &[output])
        .forward(&[whole])
        .backward(gradient.as_slice());
    if has_copy {
        tape.is_adapter();
    }
    if m.sequence_parallel {
        tape.backward(&[whole]);
    }
    output
}
