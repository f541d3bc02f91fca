//! What the embedding keeps.

use crate::model::hidden;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, TensorId};
use crate::model::tensor::{Shape, factor};
use crate::source::{EMBEDDING, MIMO_MODEL};

/// The embedding of the first stage. It keeps token numbers, which are too small to list, and with
/// dropout a mask; its weight's gradient is dense, whatever few rows were read.
pub(crate) fn ops(sizes: &Sizes<'_>, tape: &mut AutogradTape) {
    tape.at(Family::Output, EMBEDDING);
    let embedded = lookup(sizes, tape, "word_embeddings", "embedded tokens");
    let mut output = join(sizes, tape, embedded);
    if sizes.hidden_dropout() {
        let before = output;
        let mask = tape.tensor("dropout mask", sizes.residual(), 1);
        output = tape.tensor(
            "embedded tokens after dropout",
            sizes.residual(),
            sizes.width(),
        );
        tape.op("embedding_dropout", &[before], &[output])
            .saves(&[mask]);
    }
    tape.output = Some(output);
}

/// The outputs of encoders take the places that the text keeps for them (`align_embeddings_by_token_positions`).
fn join(sizes: &Sizes<'_>, tape: &mut AutogradTape, embedded: TensorId) -> TensorId {
    if sizes.m.boundary.received == 0 {
        return embedded;
    }
    tape.at(Family::Output, MIMO_MODEL);
    let width = sizes.width();
    let mask = tape.tensor("places of the encoders' tokens", sizes.tokens(&[]), 1);
    let joined = tape.tensor("text and encoders' tokens", sizes.gathered(), width);
    let turned = tape.tensor("input of the first layer", sizes.residual(), width);
    tape.op("masked_scatter", &[embedded], &[joined])
        .saves(&[mask]);
    tape.op("contiguous", &[joined], &[turned]);
    turned
}

/// Looks up this rank's part of the vocabulary.
pub(crate) fn lookup(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    name: &'static str,
    what: &'static str,
) -> TensorId {
    let m = sizes.m;
    let output = tape.tensor(what, sizes.residual(), sizes.width());
    // Batches come first until they are transposed, and whole sequences until the ranks' parts are summed.
    let whole = tape.tensor(
        "embedded tokens of whole sequences",
        sizes.gathered(),
        sizes.width(),
    );
    let weight =
        Shape::of(&[factor("V", m.padded_vocab_size), hidden(m)]).over(super::super::tp(m));
    let gradient = tape.tensor_if(
        !m.args.frozen,
        "gradient of the word embedding",
        weight,
        sizes.width(),
    );
    tape.op(name, &[], &[output])
        .forward(&[whole])
        .backward(gradient.as_slice());
    if m.sequence_parallel {
        tape.backward(&[whole]);
    }
    output
}
