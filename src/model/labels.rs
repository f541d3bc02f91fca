//! The head of sequence classification, as ms-swift builds it in place of the output layer over the vocabulary: a logit
//! for each token and label. The loss takes those of every sample's last token.

use super::loss::MAIN_LOSS;
use super::output_layer::{gather_input, label_weight, labels};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Shape, factor};
use crate::source::{LABEL_LAYER, LABEL_LOSS};

/// The head and its loss. Every tensor-parallel rank computes all of it.
pub(super) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId, count: u64, bucket: Option<TensorId>) {
    let m = sizes.m;
    tape.at(Family::Output, LABEL_LAYER);
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
    let logits = convert(sizes, tape, logits, count);
    loss(sizes, tape, logits, count);
}

/// Samples come first (`transpose(0, 1).contiguous()`), which copies the logits of several, and `Float16Module` returns
/// them in fp32.
fn convert(sizes: &Sizes<'_>, tape: &mut AutogradTape, mut logits: TensorId, count: u64) -> TensorId {
    let m = sizes.m;
    let shape = sizes.tokens(&[labels(count)]);
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
fn loss(sizes: &Sizes<'_>, tape: &mut AutogradTape, logits: TensorId, count: u64) {
    let m = sizes.m;
    tape.at(Family::Output, LABEL_LOSS);
    let labels = labels(count);
    let mut logits = logits;
    if m.sequence_parts() > 1 {
        let ranks = factor("CP", m.sequence_parts());
        let all = sizes.tokens(&[labels, ranks]);
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
    let last = tape.tensor("logits of last tokens", Shape::of(&[samples, labels]), 4);
    let places = tape.tensor("places of last tokens", Shape::of(&[samples]), 8);
    tape.op("get_last_tokens", Work::MemoryBound, &[logits], &[last])
        .saves(&[places]);
    let probabilities = tape.tensor("log-probabilities of labels", Shape::of(&[samples, labels]), 4);
    let loss = tape.tensor("loss of the micro batch", Shape::of(&[]), 4);
    tape.op(MAIN_LOSS, Work::MemoryBound, &[last], &[loss])
        .saves(&[probabilities]);
    tape.is_root();
}
