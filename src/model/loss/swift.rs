//! ms-swift's log-probabilities in place of Megatron's cross-entropy: its trainers of GRPO and GKD take the labels away
//! from the model, which then returns logits.

use super::MAIN_LOSS;
use super::logprobs::{fp32_output, tokens, vocabulary};
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, TensorId, Work};
use crate::source::Source;

/// The logarithmic softmax of all logits, of which those of the targets are gathered. `gather` keeps what it gathers
/// from. On one tensor-parallel rank it is PyTorch's, which keeps the same tensor; on several, operations on the shards
/// keep the exponentials as well.
pub(super) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, logits: TensorId) {
    let m = sizes.m;
    let all = vocabulary(sizes);
    let logits = by_sample(sizes, tape, logits);
    let logits = fp32_output(sizes, tape, logits);
    tape.at(Family::Output, Source::SwiftLogprobs);
    let [per_token, masks] = tokens(sizes, tape);
    let log_probs = tape.tensor("logarithmic softmax of the logits in fp32", all, 4);
    let gradient = tape.tensor("gradient of the logarithmic softmax in fp32", all, 4);
    if m.tensor_parts() == 1 {
        tape.op(MAIN_LOSS, Work::MemoryBound, &[logits], &[per_token])
            .saves(&[log_probs, masks])
            .backward(&[gradient]);
    } else {
        let exponentials = tape.tensor("exponentials of the logits in fp32", all, 4);
        let difference = tape.tensor("logits less their maximum in fp32", all, 4);
        tape.op(MAIN_LOSS, Work::MemoryBound, &[logits], &[per_token])
            .saves(&[exponentials, log_probs, masks])
            .forward(&[difference]);
    }
    tape.is_root();
}

/// Samples come first (`transpose(0, 1).contiguous()`), which copies the logits of several.
fn by_sample(sizes: &Sizes<'_>, tape: &mut AutogradTape, logits: TensorId) -> TensorId {
    if sizes.m.packing.is_some() || sizes.m.args.micro_batch_size == 1 {
        return logits;
    }
    let turned = tape.tensor("logits by sample", vocabulary(sizes), sizes.width());
    tape.op("transpose", Work::MemoryBound, &[logits], &[turned]);
    turned
}
