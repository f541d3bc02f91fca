//! slime's log-probabilities in place of Megatron's cross-entropy. The softmax is made and kept in fp32; the backward
//! pass writes the gradient over it.

use super::MAIN_LOSS;
use super::logprobs::{fp32_output, tokens, vocabulary};
use crate::config::field::Decimal;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, Gradient, TensorId, Work};
use crate::model::tensor::{Shape, factor};
use crate::source::Source;

/// The loss of the logits of a micro batch, all at once or some tokens at a time.
pub(super) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, logits: TensorId) {
    let a = &sizes.m.args;
    let logits = fp32_output(sizes, tape, logits);
    if a.recompute_loss_function {
        return recomputed(sizes, tape, logits);
    }
    let all = vocabulary(sizes);
    let input = match scaled(sizes, tape) {
        Some(scaled) => {
            tape.op("div", Work::MemoryBound, &[logits], &[scaled]);
            scaled
        }
        None => logits,
    };
    tape.at(Family::Output, Source::SlimeLogprobs);
    let [per_token, masks] = tokens(sizes, tape);
    let softmax = tape.tensor("softmax of the logits in fp32", all, 4);
    let of_entropy = gradient_of_entropy(sizes, tape);
    let parts = match a.logprob_chunk_size {
        // The parts are views of the logits. Their gradients are joined to one (`SplitBackward`).
        Some(_) => {
            let parts = tape.tensor("parts of the logits, which are views", all, 0);
            tape.op("chunk", Work::MemoryBound, &[input], &[parts]);
            parts
        }
        None => input,
    };
    let op = tape.op(MAIN_LOSS, Work::MemoryBound, &[parts], &[per_token]);
    op.saves(&[softmax, masks])
        .backward(of_entropy.as_slice())
        .gradients(&[Gradient::Over(softmax)]);
    if of_entropy.is_some() {
        tape.saves(&[input]);
    }
    // Variables of the callers keep the logits while the loss is computed.
    tape.holds(&[logits, input]);
    tape.is_root();
}

/// The loss under `torch.utils.checkpoint`: the logits are kept alone, and the backward pass makes the rest of them
/// again. The gradient stands for the softmax that it is written over.
fn recomputed(sizes: &Sizes<'_>, tape: &mut AutogradTape, logits: TensorId) {
    let scaled = scaled(sizes, tape);
    tape.at(Family::Output, Source::SlimeLogprobs);
    let [per_token, masks] = tokens(sizes, tape);
    let softmax = tape.tensor("softmax of the logits of a part in fp32", part(sizes), 4);
    let of_entropy = gradient_of_entropy(sizes, tape);
    tape.op(MAIN_LOSS, Work::MemoryBound, &[logits], &[per_token])
        .saves(&[logits])
        .forward(&[softmax, masks])
        .forward(scaled.as_slice())
        .backward(scaled.as_slice())
        .backward(of_entropy.as_slice())
        .backward(&[masks]);
    tape.is_root();
}

/// The logits divided by the temperature, where that is not 1.
fn scaled(sizes: &Sizes<'_>, tape: &mut AutogradTape) -> Option<TensorId> {
    tape.at(Family::Output, Source::SlimeTemperature);
    let scales = sizes.m.args.rollout_temperature != Decimal::ONE;
    tape.tensor_if(
        scales,
        "logits divided by the temperature in fp32",
        vocabulary(sizes),
        4,
    )
}

/// The gradient of the entropy of a part's tokens, where the entropy is trained.
fn gradient_of_entropy(sizes: &Sizes<'_>, tape: &mut AutogradTape) -> Option<TensorId> {
    let trains = sizes.m.args.entropy_coef != Decimal(0);
    tape.tensor_if(trains, "gradient of the entropy in fp32", part(sizes), 4)
}

/// The logits that are taken at a time: `torch.chunk` makes parts of the same size of as many as it takes.
fn part(sizes: &Sizes<'_>) -> Shape {
    let m = sizes.m;
    let Some(most) = m.args.logprob_chunk_size else {
        return vocabulary(sizes);
    };
    let tokens = sizes.tokens(&[]).elements();
    let parts = tokens.div_ceil(most.max(1)).max(1);
    let chunk = factor("tokens of a part", tokens.div_ceil(parts));
    Shape::of(&[chunk, factor("V", m.padded_vocab_size)]).over(factor("TP", m.tensor_parts()))
}
