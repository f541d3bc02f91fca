//! The heads that ms-swift has in place of logits over the vocabulary: a logit for each token and label in sequence
//! classification, the normalized output of models for embeddings, and the logits of two tokens in generative rerankers.
//! Their loss takes those of every sample's last token.

use super::hidden;
use super::loss::MAIN_LOSS;
use super::output_layer::{gather_input, is_trained, label_weight, labels, output_weight};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Factor, Shape, factor};
use crate::config::choices::ModuleToSave;
use crate::source::Source;

/// The head and its loss. Every tensor-parallel rank computes all of it.
pub(super) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId, count: u64, bucket: Option<TensorId>) {
    let m = sizes.m;
    tape.at(Family::Output, Source::LabelLayer);
    let input = gather_input(sizes, tape, input);
    let logits = tape.tensor("logits", sizes.tokens(&[labels(count)]), sizes.width());
    let has_copy = m.adapters().is_some();
    let is_trained = has_copy || !m.is_frozen();
    let gradient = tape.tensor_if(
        is_trained && !m.args.gradient_accumulation_fusion,
        "weight gradient",
        label_weight(m, count).shape,
        sizes.width(),
    );
    tape.op("output_layer", Work::UncountedFlops, &[input], &[logits]);
    if is_trained {
        tape.saves(&[input]);
    }
    if has_copy {
        tape.is_adapter();
    }
    tape.backward(gradient.as_slice()).backward(bucket.as_slice());
    reduce(sizes, tape, logits, labels(count));
}

/// The output of the last norm, normalized, without an output layer.
pub(super) fn embeddings(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) {
    tape.at(Family::Output, Source::EmbeddingOutput);
    let width = sizes.width();
    let norms = tape.tensor("norm of each token's output", sizes.own_tokens(&[]), width);
    let normalized = tape.tensor("normalized output", sizes.residual(), width);
    // PyTorch's derivative of a division by its divisor has three tensors of the dividend's shape.
    let mut term = || tape.tensor("gradient of the norms by element", sizes.residual(), width);
    let terms = [term(), term(), term()];
    tape.op("normalize", Work::MemoryBound, &[input], &[normalized])
        .saves(&[input, norms])
        .backward(&terms);
    let whole = gather_input(sizes, tape, normalized);
    reduce(sizes, tape, whole, hidden(sizes.m));
}

/// The logits of two tokens of the vocabulary, and their difference. The rows of the two are picked from the weight of
/// the output layer, so that its gradient is a tensor of its own, as large as the weight.
pub(super) fn two_tokens(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId, bucket: Option<TensorId>) {
    let (m, width) = (sizes.m, sizes.width());
    tape.at(Family::Output, Source::EmbeddingOutput);
    let input = gather_input(sizes, tape, input);
    let two = factor("two tokens", 2);
    let rows = tape.tensor("rows of the weight", Shape::of(&[two, hidden(m)]), width);
    let logits = tape.tensor("logits", sizes.tokens(&[two]), width);
    let score = tape.tensor("difference of the logits", sizes.tokens(&[]), width);
    let is_trained = is_trained(m);
    let gradient = tape.tensor_if(is_trained, "weight gradient", output_weight(m).shape, width);
    tape.op("linear", Work::UncountedFlops, &[input], &[logits])
        .saves(&[rows]);
    if is_trained {
        tape.saves(&[input]);
    }
    if m.saves(ModuleToSave::OutputLayer) {
        tape.is_adapter();
    }
    tape.backward(gradient.as_slice()).backward(bucket.as_slice());
    tape.op("sub", Work::MemoryBound, &[logits], &[score]);
    reduce(sizes, tape, score, factor("score", 1));
}

/// The loss of what a head puts out for each token.
fn reduce(sizes: &Sizes<'_>, tape: &mut AutogradTape, logits: TensorId, each: Factor) {
    let logits = convert(sizes, tape, logits, each);
    loss(sizes, tape, logits, each);
}

/// Samples come first (`transpose(0, 1).contiguous()`), which copies the logits of several, and `Float16Module` returns
/// them in fp32.
fn convert(sizes: &Sizes<'_>, tape: &mut AutogradTape, mut logits: TensorId, each: Factor) -> TensorId {
    let m = sizes.m;
    let shape = sizes.tokens(&[each]);
    if m.packing.is_none() && m.args.micro_batch_size > 1 {
        let turned = tape.tensor("logits by sample", shape, sizes.width());
        tape.op("transpose", Work::MemoryBound, &[logits], &[turned]);
        logits = turned;
    }
    if sizes.width() < 4 {
        let converted = tape.tensor("logits in fp32", shape, 4);
        tape.op("fp32_output", Work::MemoryBound, &[logits], &[converted]);
        logits = converted;
    }
    logits
}

/// The loss of the last token of each sample. Context-parallel ranks gather all logits first (`get_last_tokens`).
fn loss(sizes: &Sizes<'_>, tape: &mut AutogradTape, logits: TensorId, each: Factor) {
    let m = sizes.m;
    tape.at(Family::Output, Source::LabelLoss);
    let mut logits = logits;
    if m.sequence_parts() > 1 {
        let ranks = factor("CP", m.sequence_parts());
        let all = sizes.tokens(&[each, ranks]);
        let pieces = tape.tensor("logits of each context-parallel rank", all, 4);
        let joined = tape.tensor("logits of all ranks side by side", all, 4);
        let ordered = tape.tensor("logits of whole samples", all, 4);
        tape.op("reconstruct_tensor_cp", Work::MemoryBound, &[logits], &[ordered])
            .forward(&[pieces, joined]);
        logits = ordered;
    }
    let count = m
        .packing
        .map_or(m.args.micro_batch_size, |packing| packing.batch.samples);
    let samples = factor("samples", count);
    let last = tape.tensor("logits of last tokens", Shape::of(&[samples, each]), 4);
    let places = tape.tensor("places of last tokens", Shape::of(&[samples]), 8);
    tape.op("get_last_tokens", Work::MemoryBound, &[logits], &[last])
        .saves(&[places]);
    let probabilities = tape.tensor("log-probabilities of labels", Shape::of(&[samples, each]), 4);
    let loss = tape.tensor("loss of the micro batch", Shape::of(&[]), 4);
    tape.op(MAIN_LOSS, Work::MemoryBound, &[last], &[loss])
        .saves(&[probabilities]);
    tape.is_root();
}
