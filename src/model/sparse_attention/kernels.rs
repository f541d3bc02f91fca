//! Core attention of sparse attention, kernel by kernel: what each keeps.

use super::indexer::{self, Picked};
use super::{Widths, all_tokens, choices, operations, pairs};
use crate::config::choices::{AttentionBackend, DsaKernelBackend};
use crate::config::gpus::GpuGeneration;
use crate::config::job::Module;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, Gradient, TensorId, Work};
use crate::model::tensor::{Factor, Shape, factor};
use crate::model::tp;
use crate::source::Source;

/// Fused kernels that run, as far as sizes and GPU let them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backend {
    /// None: PyTorch operations.
    None,
    /// `TileLang`.
    TileLang {
        /// Whether attention runs in its kernel.
        attention: bool,
    },
    /// cuDNN and `FlashMLA`.
    Cudnn {
        /// Whether attention runs in their kernels.
        attention: bool,
    },
}

impl Backend {
    /// The kernels of a module (`use_fused_dsa_kernels`, `fused_sparse_mla_absorbed`,
    /// `run_fused_absorbed_sparse_attention`).
    pub(super) fn of(m: &Module) -> Self {
        let a = &m.args;
        if a.attention_backend == AttentionBackend::Unfused {
            return Self::None;
        }
        let heads = a.num_attention_heads / m.tp.max(1);
        match a.dsa_kernel_backend {
            DsaKernelBackend::None => Self::None,
            DsaKernelBackend::Tilelang => {
                let topk = a.dsa_indexer_topk.unwrap_or(0).min(a.seq_length);
                Self::TileLang {
                    attention: a.kv_lora_rank == 512
                        && a.qk_pos_emb_head_dim == 64
                        && heads.max(16).is_power_of_two()
                        && topk.is_multiple_of(64),
                }
            }
            DsaKernelBackend::Cudnn => Self::Cudnn {
                attention: a.kv_lora_rank == 512 && flash_mla_takes(heads, m.gpu_generation()),
            },
        }
    }
}

/// Whether `FlashMLA`'s kernel has a version for so many heads (`_flash_mla_head_padding`).
fn flash_mla_takes(heads: u64, gpu: GpuGeneration) -> bool {
    let heads = heads.max(1);
    let aligned = |to: u64| heads.is_multiple_of(to) || to.is_multiple_of(heads);
    match gpu.major() {
        ..9 => false,
        9 => aligned(64),
        10.. => aligned(64) && heads <= 64 || aligned(128),
    }
}

/// Attention over the picked tokens; returns each head's output in the latent space.
pub(super) fn build(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    (query, key): (TensorId, TensorId),
    picked: &Picked,
) -> TensorId {
    let kernel = match Backend::of(sizes.m) {
        Backend::TileLang { attention: true } => tilelang,
        Backend::Cudnn { attention: true } => cudnn,
        _ => unfused,
    };
    kernel(sizes, tape, widths, (query, key), picked)
}

/// Adds the first operation of a kernel. The indexer's loss hangs on the output, so that its backward pass starts with
/// it (`DSAIndexerLossAutoScaler`); the picked tokens have no gradient.
fn first<'t>(
    tape: &'t mut AutogradTape,
    name: &'static str,
    (query, key): (TensorId, TensorId),
    (picked, work): (&Picked, Work),
    output: TensorId,
) -> &'t mut AutogradTape {
    let mut inputs = vec![query, key];
    let mut gradients = vec![Gradient::New, Gradient::New];
    inputs.extend(picked.indices);
    gradients.extend(picked.indices.map(|_| Gradient::None));
    inputs.extend(picked.loss);
    gradients.extend(picked.loss.map(|_| Gradient::New));
    tape.op(name, work, &inputs, &[output]).gradients(&gradients);
    tape
}

/// PyTorch operations over all pairs of tokens (`_unfused_absorbed_dsa_fn`, `masked_softmax`). Autograd keeps both
/// operands of each product, and of the softmax three masks and two fp32 tensors.
fn unfused(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    (query, key): (TensorId, TensorId),
    picked: &Picked,
) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Attention, Source::DsaAttention);
    let scores = pairs(m, widths.heads).over(tp(m));
    let queries = sizes.columns(&[widths.heads, widths.absorbed]);
    let in_fp32 = [
        tape.tensor("queries in fp32", queries, 4),
        shared_by_heads(sizes, tape, widths, ("keys in fp32", widths.absorbed), 4),
    ];
    let raw = tape.tensor("attention scores in fp32", scores, 4);
    let unscaled = tape.tensor("attention scores before they are masked", scores, 4);
    let work = operations::scores(sizes, widths, scores.elements());
    first(tape, "query times key", (query, key), (picked, work), raw)
        .saves(&in_fp32)
        .forward(&[unscaled]);
    let probabilities = tape.tensor("attention probabilities", scores, bytes);
    let kept = [
        tape.tensor("masks of the softmax", scores, 3),
        tape.tensor("exponentials of attention scores in fp32", scores, 4),
        tape.tensor("the same without masked ones", scores, 4),
    ];
    let passing = tape.tensor("masked attention scores in fp32, twice", scores, 8);
    tape.op("masked_softmax", Work::MemoryBound, &[raw], &[probabilities])
        .saves(&kept)
        .forward(&[passing]);
    let mut values = key;
    if m.args.micro_batch_size > 1 {
        values = shared_by_heads(sizes, tape, widths, ("values", widths.latent), bytes);
    }
    let latent = sizes.columns(&[widths.heads, widths.latent]);
    let product = tape.tensor("output in the latent space by head", latent, bytes);
    tape.op(
        "probability times value",
        operations::outputs(widths, scores.elements()),
        &[probabilities, key],
        &[product],
    )
    .saves(&[probabilities, values]);
    let output = tape.tensor("output in the latent space", latent, bytes);
    tape.op("transpose", Work::MemoryBound, &[product], &[output]);
    output
}

/// Keys or values as a batched product reads them. With several samples it repeats them for every head.
fn shared_by_heads(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    (what, width): (&'static str, Factor),
    bytes: u64,
) -> TensorId {
    let m = sizes.m;
    let mut shape = all_tokens(m, width);
    if m.args.micro_batch_size > 1 {
        shape = shape.times(widths.heads).over(tp(m));
    }
    tape.tensor(what, shape, bytes)
}

/// `TileLang`'s kernel (`SparseMLA`), which computes its output once more in the backward pass.
fn tilelang(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    (query, key): (TensorId, TensorId),
    picked: &Picked,
) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Attention, Source::DsaTilelang);
    // A rank with fewer than 16 heads fills them up.
    let own = m.args.num_attention_heads / m.tp.max(1);
    let heads = factor("max(n_q/TP, 16)", own.max(16));
    let latent = sizes.tokens(&[heads, widths.latent]);
    let output = tape.tensor(
        "output in the latent space",
        sizes.columns(&[widths.heads, widths.latent]),
        bytes,
    );
    let whole = tape.tensor("output of the kernel", latent, bytes);
    let again = tape.tensor("output of the kernel once more", latent, bytes);
    // Samples come first for the kernel, which copies where there are several.
    let copied = own < 16 || m.args.micro_batch_size > 1;
    let queries = sizes.tokens(&[heads, widths.absorbed]);
    let queries = tape.tensor_if(copied, "queries by sample", queries, bytes);
    let keys = all_tokens(m, widths.absorbed);
    let keys = tape.tensor_if(m.args.micro_batch_size > 1, "keys by sample", keys, bytes);
    // The kernel takes indices of 4 bytes. Those of 8 bytes are converted in every layer.
    let converted = indexer::has_long_indices(sizes);
    let converted = tape.tensor_if(converted, "picked tokens as 4 bytes", choices(m), 4);
    let pairs = operations::picked(sizes, sizes.tokens(&[heads]));
    let work = operations::fused(sizes, widths, pairs, true);
    first(tape, "SparseMLA", (query, key), (picked, work), output)
        .saves(&[queries.unwrap_or(query), keys.unwrap_or(key)])
        .saves(converted.or(picked.indices).as_slice())
        .forward(&[whole])
        .backward(&[again]);
    output
}

/// `FlashMLA`'s forward and cuDNN's backward kernel (`FusedSparseAttentionFunc`, `FusedIndexerSparseAttnFunc`).
fn cudnn(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    (query, key): (TensorId, TensorId),
    picked: &Picked,
) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Attention, Source::DsaCudnn);
    let latent = sizes.columns(&[widths.heads, widths.latent]);
    let output = tape.tensor("output in the latent space", latent, bytes);
    let sum = sizes.columns(&[widths.heads]);
    let sum = tape.tensor("log-sum-exp of each row in fp32", sum, 4);
    let rows = tape.tensor("picked tokens without gaps", choices(m), 4);
    // Rows that attend to nothing are left out of the backward kernel: queries, output and its gradient are put
    // together anew, twice each.
    let twice = |what, width: Factor, tape: &mut AutogradTape| {
        let shape: Shape = sizes.columns(&[widths.heads, width]);
        tape.tensor(what, shape, 2 * bytes)
    };
    let compacted = [
        twice("queries without empty rows, twice", widths.absorbed, tape),
        twice("output without empty rows, twice", widths.latent, tape),
        twice("output gradient without empty rows, twice", widths.latent, tape),
    ];
    let pairs = operations::picked(sizes, sizes.columns(&[widths.heads]));
    let work = operations::fused(sizes, widths, pairs, false);
    first(tape, "flash_mla_sparse_fwd", (query, key), (picked, work), output)
        .saves(&[query, key, output, sum, rows])
        .backward(&compacted);
    output
}
