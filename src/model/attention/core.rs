//! The tensors that core attention saves, kernel by kernel.

use super::fp8::AttentionFp8;
use super::heads::Heads;
use super::softcap;
use crate::config::choices::{CpCommType, OffloadModule, RecomputeModule, SoftmaxType};
use crate::model::kernels::AttentionKernel;
use crate::model::linear;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, Gradient, TensorId, Work};
use crate::model::tensor::{Component, Factor, Shape, factor};
use crate::model::tp;
use crate::model::weights::Weights;
use crate::source::Source;

/// The inputs of core attention.
pub(crate) struct Inputs {
    /// The tensors that it reads: queries, keys and values, or the fused projection they are views of.
    pub(crate) reads: Vec<TensorId>,
    /// Those of them that a fused kernel saves.
    pub(crate) saves: Vec<TensorId>,
    pub(crate) queries: Heads,
    pub(crate) groups: Heads,
    /// Width of a query and key head.
    pub(crate) qk_width: Factor,
    /// Width of a value head.
    pub(crate) v_width: Factor,
}

/// Core attention; returns its output.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, inputs: &Inputs) -> TensorId {
    if sizes.m.args.softmax_type == SoftmaxType::Learnable {
        // One learned logit a head.
        let weights = Weights::of(sizes.m, Component::AttentionSinks, Source::AttentionSinks);
        let heads = factor("n_q", sizes.m.args.num_attention_heads);
        let name = "self_attention.core_attention.softmax_offset";
        tape.declare([weights.column_parallel(name, &[heads], 1)]);
    }
    let start = tape.here();
    let output = match sizes.kernels.attention {
        AttentionKernel::Fused | AttentionKernel::Flash => fused(sizes, tape, inputs),
        AttentionKernel::Unfused | AttentionKernel::Local | AttentionKernel::SoftCapped => unfused(sizes, tape, inputs),
    };
    tape.offload(OffloadModule::CoreAttn, start);
    let mut keeps = inputs.reads.clone();
    if sizes.kernels.counts_arguments {
        keeps.push(tape.tensor("kind of the attention mask", Shape::of(&[]), 4));
    }
    tape.section(Some(RecomputeModule::CoreAttn), start, &keeps);
    output
}

fn fused(sizes: &Sizes<'_>, tape: &mut AutogradTape, inputs: &Inputs) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let flash = sizes.kernels.attention == AttentionKernel::Flash;
    tape.at(
        Family::Attention,
        if flash {
            Source::FlashAttention
        } else {
            Source::CudnnAttention
        },
    );
    let context = inputs.queries.tokens(sizes, inputs.v_width);
    let output = tape.tensor("attention output", context, bytes);
    let fp8 = AttentionFp8::of(m);
    let rows = inputs.queries.tokens(sizes, Factor::NONE);
    let sum = match &fp8 {
        Some(fp8) => tape.tensor("sums of each row in fp32", rows.times(factor("sums", fp8.sums)), 4),
        None => tape.tensor("log-sum-exp of each row in fp32", rows, 4),
    };
    let work = inputs.queries.tokens(sizes, inputs.qk_width);
    let work = tape.tensor("query gradient accumulated in fp32", work, 4);
    tape.op(
        "core_attention",
        Work::Attention(flops(sizes, inputs)),
        &inputs.reads,
        &[output],
    );
    let batch_first = flash && m.args.micro_batch_size > 1;
    let exchanged = !batch_first && m.sequence_parts() > 1 && m.args.cp_comm_type == CpCommType::A2a;
    let copies = if batch_first {
        // Batch first: queries, keys and values are transposed, and so is the output.
        Some([
            "queries, batch first",
            "keys, batch first",
            "values, batch first",
            "attention output, batch first",
        ])
    } else if exchanged {
        // Every rank gets all tokens of fewer heads; the output is kept before it is sent back.
        Some([
            "exchanged queries",
            "exchanged keys",
            "exchanged values",
            "attention output before it is sent back",
        ])
    } else {
        None
    };
    if let Some(copies) = copies {
        let shapes = [
            inputs.queries.tokens(sizes, inputs.qk_width),
            inputs.groups.tokens(sizes, inputs.qk_width),
            inputs.groups.tokens(sizes, inputs.v_width),
            context,
        ];
        let kept = copies.into_iter().zip(shapes);
        let kept: Vec<TensorId> = kept.map(|(what, shape)| tape.tensor(what, shape, bytes)).collect();
        tape.saves(&kept);
        if exchanged {
            // What is received is put into order on the stream of the exchange, and so are the gradients of queries and
            // keys (`flash_attn_a2a_communicate`).
            tape.on_exchange_stream(kept.get(..3).unwrap_or_default());
            tape.on_exchange_stream(&[output]);
            if let [q, k, _] = *inputs.reads {
                tape.gradients_on_exchange_stream(&[q, k]);
            }
        }
    } else if let Some(fp8) = fp8 {
        fp8.saves(sizes, tape, inputs, output);
    } else {
        tape.saves(&inputs.saves).saves(&[output]);
    }
    tape.saves(&[sum]).backward(&[work]);
    output
}

/// Floating-point operations of the forward pass: every query meets every key, and every probability every value. With
/// a causal mask kernels compute half of that.
fn flops(sizes: &Sizes<'_>, inputs: &Inputs) -> u64 {
    let queries = inputs.queries.tokens(sizes, inputs.qk_width).elements();
    let context = inputs.queries.tokens(sizes, inputs.v_width).elements();
    let pairs = u128::from(sizes.m.attention_length()) * (u128::from(queries) + u128::from(context));
    let masked = if sizes.m.io.is_language() { 1 } else { 2 };
    u64::try_from(pairs * masked).unwrap_or(u64::MAX)
}

fn unfused(sizes: &Sizes<'_>, tape: &mut AutogradTape, inputs: &Inputs) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let kernel = sizes.kernels.attention;
    let local = kernel == AttentionKernel::Local;
    tape.at(
        Family::Attention,
        match kernel {
            AttentionKernel::Local => Source::LocalAttention,
            AttentionKernel::SoftCapped => Source::Gemma2Attention,
            _ => Source::UnfusedAttention,
        },
    );
    // Packed samples are padded to the longest one (`convert_thd_to_bshd`).
    let (batch, length) = match &m.packing {
        Some(packing) => (factor("samples", packing.batch.samples), m.attention_length()),
        None => (factor("b", m.args.micro_batch_size), m.args.seq_length),
    };
    let scores = Shape::of(&[
        batch,
        factor("n_q", m.args.num_attention_heads),
        factor("s", length),
        factor("s", length),
    ])
    .over(factor("CP", m.sequence_parts()))
    .over(tp(m));
    let mut reads = inputs.reads.clone();
    let mut saved = if local { inputs.saves.clone() } else { reads.clone() };
    if m.num_query_groups < m.args.num_attention_heads && !m.args.multi_latent_attention {
        let keys = inputs.queries.tokens(sizes, inputs.qk_width);
        let keys = tape.tensor("keys repeated for every query head", keys, bytes);
        let values = inputs.queries.tokens(sizes, inputs.v_width);
        let values = tape.tensor("values repeated for every query head", values, bytes);
        tape.op("repeat_interleave", Work::MemoryBound, &inputs.reads, &[keys, values]);
        let queries = inputs.saves.first().copied();
        reads = queries.into_iter().chain([keys, values]).collect();
        saved.clone_from(&reads);
    }
    // Megatron's own attention writes its scores into a buffer that all layers share.
    let raw = tape.tensor_if(!local, "attention scores", scores, bytes);
    let probabilities = tape.tensor("attention probabilities", scores, bytes);
    let values = reads.last().copied().unwrap_or(probabilities);
    let mut used = probabilities;
    let mut held = None;
    if let Some(raw) = raw {
        // The values are kept by the second product.
        let keys = saved.get(..2).unwrap_or(&saved);
        tape.op("query times key", Work::Attention(flops(sizes, inputs)), &reads, &[raw])
            .saves(keys);
        if kernel == AttentionKernel::SoftCapped {
            held = Some(softcap::softmax(sizes, tape, raw, probabilities, scores));
        } else {
            tape.op("softmax", Work::MemoryBound, &[raw], &[probabilities])
                .saves(&[probabilities]);
        }
    } else {
        held = Some(local_softmax(
            sizes,
            tape,
            (&reads, &saved),
            probabilities,
            flops(sizes, inputs),
        ));
        if m.layer.window && sizes.kernels.softmax_in_fp32 {
            // Every layer makes one of its own (`get_sliding_window_causal_mask`).
            let pairs = Shape::of(&[factor("s", length), factor("s", length)]);
            tape.keeps("mask of the window", pairs, 1);
        }
    }
    if m.args.attention_dropout.0 > 0 {
        let dropped = tape.tensor("attention probabilities after dropout", scores, bytes);
        let mask = tape.tensor("mask of attention dropout", scores, 1);
        tape.op("attention_dropout", Work::MemoryBound, &[probabilities], &[dropped])
            .saves(&[mask]);
        used = dropped;
    }
    let context = inputs.queries.tokens(sizes, inputs.v_width);
    let product = tape.tensor("context before its transpose", context, bytes);
    let output = tape.tensor("attention output", context, bytes);
    let second = [used, values];
    // Without a fused kernel both products are computed in full.
    tape.op(
        "probability times value",
        Work::Attention(flops(sizes, inputs)),
        &second,
        &[product],
    )
    .saves(&second);
    tape.op("transpose", Work::MemoryBound, &[product], &[output])
        .holds(held.as_slice());
    output
}

/// The probabilities of Megatron's own attention, and its scores, which a variable holds until the function returns.
fn local_softmax(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    (reads, saved): (&[TensorId], &[TensorId]),
    probabilities: TensorId,
    flops: u64,
) -> TensorId {
    let (shape, bytes) = (linear::shape_of(tape, probabilities), sizes.width());
    let raw = tape.tensor("attention scores before the softmax", shape, bytes);
    tape.op("query times key", Work::Attention(flops), reads, &[raw])
        .saves(saved);
    if sizes.kernels.softmax_in_fp32 {
        let scores = tape.tensor("attention scores in fp32", shape, 4);
        tape.op("float", Work::MemoryBound, &[raw], &[scores]);
        let fp32 = tape.tensor("attention probabilities in fp32", shape, 4);
        let product = tape.tensor("probabilities times their gradients in fp32", shape, 4);
        tape.op("softmax", Work::MemoryBound, &[scores], &[fp32])
            .saves(&[fp32])
            .backward(&[product]);
        tape.op("bfloat16", Work::MemoryBound, &[fp32], &[probabilities]);
        return raw;
    }
    if sizes.m.args.masked_softmax_fusion {
        // The kernel writes the gradient over that of its output.
        tape.op("softmax", Work::MemoryBound, &[raw], &[probabilities])
            .saves(&[probabilities])
            .gradients(&[Gradient::Shared]);
        return raw;
    }
    // The mask is written into the scores, which are a view: autograd spreads the gradient over their whole storage,
    // copies that, and once more to mask it (`as_strided_backward`, `CopySlices`).
    let spread = tape.tensor("gradient of the scores over their storage", shape, bytes);
    let masked = tape.tensor("masked gradient of the scores", shape, bytes);
    tape.op("masked_fill_", Work::MemoryBound, &[raw], &[])
        .backward(&[spread, masked]);
    // PyTorch's backward pass of a softmax first multiplies both (`softmax_backward_cuda_out`).
    let product = tape.tensor("probabilities times their gradients", shape, bytes);
    tape.op("softmax", Work::MemoryBound, &[raw], &[probabilities])
        .saves(&[probabilities])
        .backward(&[product]);
    raw
}
