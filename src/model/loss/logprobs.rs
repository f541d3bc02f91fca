//! Log-probabilities of tokens in programs of reinforcement learning, in place of Megatron's cross-entropy. A micro
//! batch counts as one sample: packed samples take no more.

use super::MAIN_LOSS;
use crate::model::output_layer::{gather_input, output_weight};
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, TensorId, Work};
use crate::model::tensor::{Shape, factor};
use crate::source::Source;

/// Columns of each part that `LinearCrossEntropy` splits the vocabulary into: in the forward pass, and in the backward
/// pass.
const VERL_SPLIT: [u64; 2] = [1024, 9504];

/// The logits as `Float16Module` returns them.
pub(super) fn fp32_output(sizes: &Sizes<'_>, tape: &mut AutogradTape, logits: TensorId) -> TensorId {
    if sizes.width() == 4 {
        return logits;
    }
    let converted = tape.tensor("logits in fp32", vocabulary(sizes), 4);
    tape.op("fp32_output", Work::MemoryBound, &[logits], &[converted]);
    converted
}

/// The logits of this rank.
pub(super) fn vocabulary(sizes: &Sizes<'_>) -> Shape {
    sizes.columns(&[factor("V", sizes.m.padded_vocab_size)])
}

/// NeMo-RL with logits that `Float16Module` returns in fp32. The softmax is saved; beside it stand the logits and their
/// logarithmic softmax while it is made.
pub(super) fn in_fp32(sizes: &Sizes<'_>, tape: &mut AutogradTape, logits: TensorId) {
    tape.at(Family::Output, Source::NemoRlLogprobs);
    let all = vocabulary(sizes);
    let input = fp32_output(sizes, tape, logits);
    let [per_token, masks] = tokens(sizes, tape);
    let softmax = tape.tensor("softmax of the logits in fp32", all, 4);
    let logarithm = tape.tensor("logarithmic softmax of the logits in fp32", all, 4);
    tape.op(MAIN_LOSS, Work::MemoryBound, &[input], &[per_token])
        .saves(&[softmax, masks])
        .forward(&[logarithm]);
    tape.is_root();
}

/// NeMo-RL with `defer_fp32_logits`: the loss converts the logits, all at once or some tokens at a time. In chunks no
/// softmax is saved but the logits, of which the backward pass makes it again.
pub(super) fn deferred(sizes: &Sizes<'_>, tape: &mut AutogradTape, logits: TensorId) {
    let m = sizes.m;
    let Some(chunk) = m.args.logprob_chunk_size else {
        tape.at(Family::Output, Source::NemoRlLogprobs);
        let all = vocabulary(sizes);
        let [per_token, masks] = tokens(sizes, tape);
        let softmax = tape.tensor("softmax of the logits in fp32", all, 4);
        let converted = tape.tensor("logits in fp32", all, 4);
        let logarithm = tape.tensor("logarithmic softmax of the logits in fp32", all, 4);
        let gradient = tape.tensor("gradient of the logits in fp32", all, 4);
        tape.op(MAIN_LOSS, Work::MemoryBound, &[logits], &[per_token])
            .saves(&[softmax, masks])
            .forward(&[converted, logarithm])
            .backward(&[gradient]);
        return tape.is_root();
    };
    tape.at(Family::Output, Source::NemoRlChunkedLogprobs);
    let local = m.args.seq_length / m.sequence_parts().max(1);
    let samples = if m.packing.is_some() {
        1
    } else {
        m.args.micro_batch_size
    };
    let part = Shape::of(&[
        factor("chunk", chunk.min(local)),
        factor("b", samples),
        factor("V", m.padded_vocab_size),
    ]);
    let part = part.over(factor("TP", m.tp));
    let [per_token, masks] = tokens(sizes, tape);
    let converted = tape.tensor("logits of a chunk in fp32", part, 4);
    let shifted = tape.tensor("logits of a chunk less their maximum in fp32", part, 4);
    let softmax = tape.tensor("softmax of a chunk in fp32", part, 4);
    let chosen = tape.tensor("one-hot targets of a chunk, before and after their mask", part, 16);
    let again = tape.tensor("logits and softmax of a chunk in fp32", part, 8);
    tape.op(MAIN_LOSS, Work::MemoryBound, &[logits], &[per_token])
        .saves(&[logits, masks])
        .forward(&[converted, shifted, softmax])
        .backward(&[again, chosen]);
    tape.is_root();
}

/// `ChatLearn`: Megatron's cross-entropy of a copy of the logits, and then the entropy of the logits, which is no part
/// of the loss and saves nothing. The copy is gone by then, so that logits, the saved softmax and an fp32 copy stand
/// beside each other.
pub(super) fn with_entropy(sizes: &Sizes<'_>, tape: &mut AutogradTape, logits: TensorId) {
    tape.at(Family::Output, Source::ChatlearnLosses);
    let all = vocabulary(sizes);
    let [per_token, masks] = tokens(sizes, tape);
    let softmax = tape.tensor("softmax of the logits in fp32", all, 4);
    let converted = tape.tensor("logits in fp32 for the entropy", all, 4);
    tape.op(MAIN_LOSS, Work::MemoryBound, &[logits], &[per_token])
        .saves(&[softmax, masks])
        .forward(&[converted]);
    tape.is_root();
}

/// verl's fused kernels: the gathered input of the output layer is saved and no logits are made, but for the gradient
/// of those of a part of the vocabulary.
pub(super) fn fused(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId, bucket: Option<TensorId>) {
    let m = sizes.m;
    tape.at(Family::Output, Source::VerlFusedLogprobs);
    let width = sizes.width();
    let hidden = gather_input(sizes, tape, input);
    let columns = m.padded_vocab_size.div_ceil(m.tp.max(1));
    let [forward, backward] = VERL_SPLIT;
    let per_token = tape.tensor("log-probability and entropy by token", sizes.tokens(&[]), 8);
    let sums = tape.tensor("maximum, sum, entropy and label by token", sizes.tokens(&[]), 20);
    let parts = factor("parts of the vocabulary", columns.div_ceil(forward));
    let partial = tape.tensor("maximum, sum and entropy by part", sizes.tokens(&[parts]), 12);
    let part = factor("columns of a part", backward);
    let gradient = tape.tensor("gradient of the logits of a part", sizes.tokens(&[part]), width);
    let addend = tape.tensor("gradient of the input from a part", sizes.gathered(), width);
    let weight = output_weight(m);
    // Autograd adds it to the gradient afterwards, and kernels compute it for frozen weights too.
    let of_weight = tape.tensor("weight gradient", weight.shape, width);
    tape.op(MAIN_LOSS, Work::UncountedFlops, &[hidden], &[per_token])
        .saves(&[hidden, sums])
        .forward(&[partial])
        .backward(&[gradient, addend, of_weight])
        .backward(bucket.as_slice());
    tape.is_root();
}

/// The result for every token, and the masks and indices of targets.
pub(super) fn tokens(sizes: &Sizes<'_>, tape: &mut AutogradTape) -> [TensorId; 2] {
    [
        tape.tensor("log-probability by token", sizes.tokens(&[]), 4),
        tape.tensor("target masks and indices", sizes.tokens(&[]), 9),
    ]
}
