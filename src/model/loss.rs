//! Final norm, output layer and loss: what the last stage does after its layers.

mod logprobs;
mod slime;
mod swift;

use super::adapter::{self, AdapterInput};
use super::linear::Linear;
use super::norm::{FINAL, after_layers};
use super::output_layer::{is_trained, output_linear, output_weight};
use super::quantization::quantizes_output;
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, Gradient, Product, TensorId, Work};
use super::tensor::{Shape, factor};
use super::{hyper_connections, labels, linear, mtp, softcap};
use crate::config::choices::{CrossEntropyFusion, ModuleToSave, SoftwareFact, TokenLoss};
use crate::source::Source;

/// The name of the operation that computes the loss of the main model.
pub(super) const MAIN_LOSS: &str = "loss";

/// Records all that follows the decoder layers on the last stage, with so many MTP depths in between.
///
/// The MTP losses come before the main one, and what they keep stays until the backward pass.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId, depths: u64, output: Option<u64>) {
    tape.input = Some(x);
    let normed = final_norm(sizes, tape, x);
    let bucket = bucket(tape, output.unwrap_or(0));
    if bucket.is_some() {
        // Where the weight gradient is not made in its bucket, it is added to it once the output layer is done.
        let weight = output_weight(sizes.m);
        let gradient = linear::weight_gradient(sizes, tape, weight.shape, weight.component);
        tape.backward(bucket.as_slice()).backward(gradient.as_slice());
    }
    // `GPTModel` of mcore-bridge runs MTP depths only with the labels of a language model.
    let num_labels = sizes.m.args.num_labels;
    let has_labels = num_labels.is_none() && !is_without_labels(sizes.m.args.token_loss);
    let depths = if has_labels { depths } else { 0 };
    // With hyper-connections MTP depths read the streams that the final norm is not yet made of.
    let mut hidden_states = if hyper_connections::has(sizes.m) { x } else { normed };
    let mut predicted = Vec::new();
    for _ in 0..depths {
        let depth = mtp::build(sizes, tape, hidden_states);
        hidden_states = depth.states;
        predicted.push(depth.normed);
    }
    let bucket = bucket.filter(|_| sizes.m.args.gradient_accumulation_fusion);
    if output.is_some() {
        for states in predicted {
            head(
                sizes,
                tape,
                states,
                ["MTP output_layer", "MTP loss"],
                ["MTP logits", "MTP loss by token"],
                bucket,
            );
        }
        match (num_labels, sizes.m.args.token_loss) {
            (Some(count), _) => labels::build(sizes, tape, normed, count, bucket),
            (None, TokenLoss::VerlFused) => logprobs::fused(sizes, tape, normed, bucket),
            (None, TokenLoss::SwiftEmbedding) => labels::embeddings(sizes, tape, normed),
            (None, TokenLoss::SwiftReranker) => labels::two_tokens(sizes, tape, normed, bucket),
            (
                None,
                TokenLoss::Megatron
                | TokenLoss::NemoRl
                | TokenLoss::NemoRlDeferred
                | TokenLoss::ChatLearn
                | TokenLoss::Slime
                | TokenLoss::Swift,
            ) => head(
                sizes,
                tape,
                normed,
                ["output_layer", MAIN_LOSS],
                ["logits", "loss by token"],
                bucket,
            ),
        }
    } else {
        tape.output = Some(hidden_states);
    }
}

/// Whether the model gets no labels, as with ms-swift's own losses.
const fn is_without_labels(loss: TokenLoss) -> bool {
    match loss {
        TokenLoss::Swift | TokenLoss::SwiftEmbedding | TokenLoss::SwiftReranker => true,
        TokenLoss::Megatron
        | TokenLoss::NemoRl
        | TokenLoss::NemoRlDeferred
        | TokenLoss::VerlFused
        | TokenLoss::ChatLearn
        | TokenLoss::Slime => false,
    }
}

/// The norm after the last decoder layer.
pub(crate) fn final_norm(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> TensorId {
    tape.at(Family::Output, Source::FinalNorm);
    let sizes = &sizes.outside_of_layers();
    hyper_connections::contract(sizes, tape, &after_layers(sizes.m, FINAL), x)
}

/// The bucket that the gradients of parameters outside of layers wait in to be reduced, of so many bytes.
fn bucket(tape: &mut AutogradTape, bytes: u64) -> Option<TensorId> {
    tape.tensor_if(
        bytes > 0,
        "gradients outside of layers before their reduction",
        Shape::of(&[factor("bytes of buckets", bytes)]),
        1,
    )
}

/// The output layer, whose weight is a part of its own, and the loss.
fn head(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    input: TensorId,
    names: [&'static str; 2],
    what: [&'static str; 2],
    bucket: Option<TensorId>,
) {
    let m = sizes.m;
    tape.at(Family::Output, Source::OutputLayer);
    let vocabulary = factor("V", m.padded_vocab_size);
    let logits = tape.tensor(what[0], sizes.columns(&[vocabulary]), sizes.width());
    let parallel = m.sequence_parallel;
    let linear = output_linear(m, input, logits);
    if quantizes_output(m) {
        tape.at(Family::Output, Source::OutputLayerInFp8);
        let name = names[0];
        linear::column(sizes, tape, &Linear { name, ..linear });
        tape.backward(bucket.as_slice());
        let logits = capped(sizes, tape, logits);
        loss(sizes, tape, logits, names[1], what[1]);
        return;
    }
    adapter::beside(sizes, tape, &linear, |tape, linear| {
        let width = sizes.width();
        let has_copy = m.saves(ModuleToSave::OutputLayer);
        let frozen = m.adapters().is_some() && !has_copy;
        let what = if frozen {
            "gradient of the gathered input"
        } else {
            "input gathered again"
        };
        let whole = tape.tensor_if(parallel, what, sizes.gathered(), width);
        let once = tape.tensor_if(parallel && frozen, "gathered input", sizes.gathered(), width);
        let gradient = linear::weight_gradient_of_output(sizes, tape, linear.weight.shape, is_trained(m));
        let whole_input = if parallel {
            sizes.gathered()
        } else {
            linear::shape_of(tape, input)
        };
        let made = linear::shape_of(tape, linear.output);
        let of = (whole_input.elements(), made.elements());
        let product = Product {
            trained: !frozen,
            ..Product::of(of, linear.weight.shape.elements(), None)
        };
        tape.op(names[0], Work::Product(product), &[input], &[linear.output]);
        if !frozen {
            tape.saves(&[input]);
        }
        if has_copy {
            tape.is_adapter();
        }
        tape.forward(once.as_slice())
            .backward(whole.as_slice())
            .backward(gradient.as_slice())
            .backward(bucket.as_slice());
        AdapterInput {
            tensor: input,
            in_parts: parallel,
        }
    });
    let logits = capped(sizes, tape, logits);
    loss(sizes, tape, logits, names[1], what[1]);
}

/// The logits times the factor of a model with Mamba beside attention, and under their soft cap, if there is one.
fn capped(sizes: &Sizes<'_>, tape: &mut AutogradTape, logits: TensorId) -> TensorId {
    if sizes.m.args.mamba_beside_attention {
        tape.at(Family::Output, Source::FalconH1Model);
        let scaled = tape.tensor(
            "logits times their factor",
            linear::shape_of(tape, logits),
            sizes.width(),
        );
        tape.op("mul", Work::MemoryBound, &[logits], &[scaled]);
        return scaled;
    }
    if sizes.m.args.final_logit_softcapping.is_none() {
        return logits;
    }
    tape.at(Family::Output, Source::Gemma2OutputLayer);
    softcap::cap(tape, logits, sizes.width())
}

/// Cross-entropy over the vocabulary of all tensor-parallel ranks, kernel by kernel. MTP depths have that of Megatron,
/// whatever computes the loss of the main model.
fn loss(sizes: &Sizes<'_>, tape: &mut AutogradTape, logits: TensorId, name: &'static str, what: &'static str) {
    let m = sizes.m;
    let is_main = name == MAIN_LOSS;
    match m.args.token_loss {
        TokenLoss::NemoRl if is_main => return logprobs::in_fp32(sizes, tape, logits),
        TokenLoss::NemoRlDeferred if is_main => return logprobs::deferred(sizes, tape, logits),
        TokenLoss::ChatLearn if is_main => return logprobs::with_entropy(sizes, tape, logits),
        TokenLoss::Slime if is_main => return slime::build(sizes, tape, logits),
        TokenLoss::Swift if is_main => return swift::build(sizes, tape, logits),
        TokenLoss::NemoRl
        | TokenLoss::NemoRlDeferred
        | TokenLoss::ChatLearn
        | TokenLoss::Slime
        | TokenLoss::Swift
        | TokenLoss::SwiftEmbedding
        | TokenLoss::SwiftReranker
        | TokenLoss::VerlFused
        | TokenLoss::Megatron => {}
    }
    let vocabulary = sizes.columns(&[factor("V", m.padded_vocab_size)]);
    let fusion = m
        .args
        .cross_entropy_loss_fusion
        .then_some(m.args.cross_entropy_fusion_impl);
    tape.at(
        Family::Output,
        match fusion {
            None => Source::CrossEntropy,
            Some(CrossEntropyFusion::Native) => Source::FusedCrossEntropy,
            Some(CrossEntropyFusion::Te) => Source::TeCrossEntropy,
        },
    );
    let per_token = tape.tensor(what, sizes.tokens(&[]), 4);
    let masks = tape.tensor("target masks and indices", sizes.tokens(&[]), 9);
    match fusion {
        Some(CrossEntropyFusion::Te)
            if m.args.te_cross_entropy_in_place && !SoftwareFact::LossGradientInFp32.holds(&m.args) =>
        {
            // The gradient is written over the logits.
            let op = tape.op(name, Work::MemoryBound, &[logits], &[per_token]);
            op.saves(&[logits]).gradients(&[Gradient::Over(logits)]);
        }
        Some(CrossEntropyFusion::Te) => {
            let gradient = tape.tensor("gradient of the logits in fp32", vocabulary, 4);
            tape.op(name, Work::MemoryBound, &[logits], &[per_token])
                .saves(&[gradient]);
        }
        // `float()` copies no logits that are in fp32 already: the softmax is written over them, and the gradient over
        // the softmax.
        None if sizes.width() == 4 && !SoftwareFact::LogitsCopied.holds(&m.args) => {
            let op = tape.op(name, Work::MemoryBound, &[logits], &[per_token]);
            op.saves(&[logits, masks]).gradients(&[Gradient::Over(logits)]);
        }
        Some(CrossEntropyFusion::Native) | None => {
            let softmax = tape.tensor("softmax of the logits in fp32", vocabulary, 4);
            // Modelled from measurements: the compiled function has one more fp32 copy than its source.
            tape.at(Family::Output, Source::FusedCrossEntropyRuns);
            let copy = tape.tensor_if(
                fusion.is_some(),
                "second fp32 copy of the logits, concluded from measured runs",
                vocabulary,
                4,
            );
            let subtracted = tape.tensor_if(
                fusion.is_none() && SoftwareFact::LogitsCopied.holds(&m.args),
                "logits less their maximum in fp32",
                vocabulary,
                4,
            );
            tape.op(name, Work::MemoryBound, &[logits], &[per_token])
                .saves(&[softmax, masks])
                .forward(copy.as_slice())
                .forward(subtracted.as_slice());
        }
    }
    tape.is_root();
}
