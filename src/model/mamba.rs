//! The Mamba-2 mixer (`MambaMixer`): a projection, a causal convolution, a scan over chunks of the sequence, a gated
//! norm, and a projection back.

use super::linear::{Linear, column, norm_column, row};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Component, Factor, Shape, factor};
use super::weights::Weights;
use super::{hidden, norm};
use crate::config::job::Module;
use crate::source::Source;
use crate::units::multiply;

/// Tokens that the causal convolution sees (`d_conv` of `MambaMixer`).
const KERNEL: u64 = 4;

/// Widths of one token, over all tensor-parallel ranks.
struct Widths {
    /// Heads: `n_m`.
    heads: Factor,
    /// All heads' values: z, x and y.
    inner: Factor,
    /// z, x, B, C and dt as `in_proj` makes them.
    projected: Factor,
    /// The same as the scan sees them: with more context-parallel ranks than groups, several ranks have the B and C of
    /// one group (`_repeat_group_state`).
    scanned: Factor,
    /// x, B and C: what the convolution works on.
    convolved: Factor,
    /// x, B and C in the scan, where context-parallel ranks hold some heads of all tokens.
    mixed: Factor,
    /// B or C, as the scan sees them.
    states: Factor,
    /// Groups of the norm's statistics.
    groups: Factor,
}

impl Widths {
    fn of(m: &Module) -> Self {
        let a = &m.args;
        let heads = m.mamba_num_heads();
        let inner = heads.saturating_mul(a.mamba_head_dim);
        let groups = a.mamba_num_groups;
        let ranks = m.tp.saturating_mul(m.sequence_parts());
        let seen = groups.max(ranks).saturating_mul(a.mamba_state_dim);
        let states = groups.saturating_mul(a.mamba_state_dim);
        let with = |inner: u64, states: u64, heads: u64| {
            let states = states.saturating_mul(2);
            inner.saturating_add(states).saturating_add(heads)
        };
        let all = "(2·n_m·d_m + 2·g_m·N + n_m)";
        let some = "(n_m·d_m + 2·g_m·N)";
        Self {
            heads: factor("n_m", heads),
            inner: factor("n_m·d_m", inner),
            projected: factor(all, with(inner.saturating_mul(2), states, heads)),
            scanned: factor(all, with(inner.saturating_mul(2), seen, heads)),
            convolved: factor(some, with(inner, states, 0)),
            mixed: factor(some, with(inner, seen, 0)),
            states: factor("g_m·N", seen),
            groups: factor("g_m", groups),
        }
    }
}

/// One Mamba-2 mixer from the residual stream to the output of `out_proj`.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) -> TensorId {
    let widths = Widths::of(sizes.m);
    let projected = in_proj(
        sizes,
        tape,
        "z, x, B, C and dt",
        Source::MambaMixer,
        widths.projected,
        input,
    );
    let mixed = mix(sizes, tape, &widths, projected);
    out_proj(sizes, tape, "Mamba branch", Source::MambaMixer, widths.inner, mixed)
}

/// The same from an input that a norm has been run on, as the mixer beside attention gets it.
pub(super) fn of_normed(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) -> TensorId {
    let widths = Widths::of(sizes.m);
    tape.at(Family::Attention, Source::TeLinear);
    let projected = tape.tensor("z, x, B, C and dt", sizes.columns(&[widths.projected]), sizes.width());
    let linear = linear_in(sizes.m, Source::MambaMixer, widths.projected, input, projected);
    column(sizes, tape, &linear);
    let mixed = mix(sizes, tape, &widths, projected);
    out_proj(sizes, tape, "Mamba branch", Source::MambaMixer, widths.inner, mixed)
}

/// Convolution, scan and the norm after them.
fn mix(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, projected: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let sequence = exchange(sizes, tape, projected, widths);
    declare_scan(tape, m, widths);
    let scanned = if m.args.use_mamba_mem_eff_path {
        fused_scan(sizes, tape, widths, sequence)
    } else {
        plain_scan(sizes, tape, widths, sequence)
    };
    if let ([output], false) = (scanned.reads.as_slice(), m.args.mamba_rms_norm) {
        return *output;
    }
    tape.at(Family::Attention, Source::MambaNorm);
    let weights = Weights::of(m, Component::MambaNorm, Source::MambaMixer);
    tape.declare([weights.column_parallel("mixer.norm.weight", &[widths.inner], 1)]);
    let normed = tape.tensor("normed output of the scan", sizes.columns(&[widths.inner]), bytes);
    let statistics = tape.tensor("norm statistics", sizes.columns(&[widths.groups]), 4);
    tape.op("norm", Work::MemoryBound, &scanned.reads, &[normed])
        .saves(&scanned.reads)
        .saves(&[statistics]);
    normed
}

/// `in_proj` of a mixer with this many columns, and the norm before it.
pub(crate) fn in_proj(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    what: &'static str,
    source: Source,
    columns: Factor,
    input: TensorId,
) -> TensorId {
    let m = sizes.m;
    tape.at(Family::Attention, Source::TeLayernormLinear);
    let output = tape.tensor(what, sizes.columns(&[columns]), sizes.width());
    tape.at(Family::Residual, Source::TeLayernormLinear);
    let linear = linear_in(m, source, columns, input, output);
    norm_column(sizes, tape, norm::mamba(m), &linear, hidden(m));
    output
}

/// The linear layer of `in_proj`.
fn linear_in(m: &Module, source: Source, columns: Factor, input: TensorId, output: TensorId) -> Linear {
    let weights = Weights::of(m, Component::MambaInProj, source);
    Linear {
        name: "in_proj",
        input,
        width: hidden(m),
        output,
        weight: weights.column_parallel("mixer.in_proj.weight", &[columns, hidden(m)], 2),
        bias: None,
    }
}

/// `out_proj` of a mixer whose heads are so wide together.
pub(crate) fn out_proj(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    what: &'static str,
    source: Source,
    width: Factor,
    input: TensorId,
) -> TensorId {
    tape.at(Family::Attention, Source::TeLinear);
    let output = tape.tensor(what, sizes.residual(), sizes.width());
    let weights = Weights::of(sizes.m, Component::MambaOutProj, source);
    let linear = Linear {
        name: "out_proj",
        input,
        width,
        output,
        weight: weights.row_parallel("mixer.out_proj.weight", &[hidden(sizes.m), width], hidden(sizes.m)),
        bias: None,
    };
    row(sizes, tape, &linear);
    output
}

/// The parameters of convolution and scan.
fn declare_scan(tape: &mut AutogradTape, m: &Module, widths: &Widths) {
    let of = |component| Weights::of(m, component, Source::MambaMixer);
    let kernel = factor("4", KERNEL);
    let conv1d = of(Component::MambaConv1d);
    tape.declare([
        conv1d.column_parallel("mixer.conv1d_weight", &[widths.convolved, kernel], 3),
        conv1d.column_parallel("mixer.conv1d_bias", &[widths.convolved], 1),
        of(Component::MambaDtBias).column_parallel("mixer.dt_bias", &[widths.heads], 1),
        of(Component::MambaALog).column_parallel("mixer.A_log", &[widths.heads], 1),
        of(Component::MambaD).column_parallel("mixer.D", &[widths.heads], 1),
    ]);
}

/// Batches come first for the scan, and context-parallel ranks trade their parts of the sequence for a part of the
/// heads (`MambaContextParallel.pre_conv_ssm`). With one sample on one rank both are the tensor itself.
fn exchange(sizes: &Sizes<'_>, tape: &mut AutogradTape, mut sequence: TensorId, widths: &Widths) -> TensorId {
    let shape = sizes.columns(&[widths.scanned]);
    if sizes.m.sequence_parts() > 1 {
        tape.at(Family::Attention, Source::MambaContextParallel);
        let received = tape.tensor("z, x, B, C and dt of whole sequences", shape, sizes.width());
        let pieces = tape.tensor("pieces that ranks exchange", shape, sizes.width());
        tape.op("pre_conv_ssm", Work::MemoryBound, &[sequence], &[received])
            .forward(&[pieces])
            .backward(&[pieces]);
        sequence = received;
    }
    if sizes.m.args.mamba_beside_attention {
        sequence = with_factors(sizes, tape, sequence, widths);
    }
    if sizes.m.args.micro_batch_size > 1 {
        tape.at(Family::Attention, Source::MambaMixer);
        let turned = tape.tensor("z, x, B, C and dt by sample", shape, sizes.width());
        tape.op("contiguous", Work::MemoryBound, &[sequence], &[turned]);
        sequence = turned;
    }
    sequence
}

/// z, x, B, C and dt times a factor each. The row of factors is kept for the backward pass.
fn with_factors(sizes: &Sizes<'_>, tape: &mut AutogradTape, sequence: TensorId, widths: &Widths) -> TensorId {
    tape.at(Family::Attention, Source::FalconH1MambaMixer);
    let shape = sizes.columns(&[widths.scanned]);
    let scaled = tape.tensor("z, x, B, C and dt times their factors", shape, sizes.width());
    let row = Shape::of(&[widths.scanned])
        .over(factor("TP", sizes.m.tp))
        .over(factor("CP", sizes.m.sequence_parts()));
    tape.op("mul", Work::MemoryBound, &[sequence], &[scaled])
        .keeps("factors of z, x, B, C and dt", row, sizes.width());
    scaled
}

/// The output of the scan, as the norm reads it.
struct Scanned {
    /// The output, and without the fused kernel the gate z.
    reads: Vec<TensorId>,
}

/// The scan's output by token again, and with context parallelism each rank's part of the sequence again.
fn back(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    what: &'static str,
    mut output: TensorId,
    widths: &Widths,
) -> TensorId {
    let shape = sizes.columns(&[widths.inner]);
    if sizes.m.args.micro_batch_size > 1 {
        tape.at(Family::Attention, Source::MambaMixer);
        let turned = tape.tensor(what, shape, sizes.width());
        tape.op("contiguous", Work::MemoryBound, &[output], &[turned]);
        output = turned;
    }
    if sizes.m.sequence_parts() > 1 {
        tape.at(Family::Attention, Source::MambaContextParallel);
        let received = tape.tensor(what, shape, sizes.width());
        let pieces = tape.tensor("pieces that ranks exchange", shape, sizes.width());
        tape.op("post_conv_ssm", Work::MemoryBound, &[output], &[received])
            .forward(&[pieces])
            .backward(&[pieces]);
        output = received;
    }
    output
}

/// Convolution, scan and gate in one kernel (`MambaSplitConv1dScanCombinedFn`). It keeps its input and its output
/// before the gate, and computes all else again in the backward pass.
fn fused_scan(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, sequence: TensorId) -> Scanned {
    let bytes = sizes.width();
    tape.at(Family::Attention, Source::MambaScan);
    let inner = sizes.columns(&[widths.inner]);
    let before_gate = tape.tensor("output of the scan before its gate", inner, bytes);
    let output = tape.tensor("gated output of the scan", inner, bytes);
    let convolved = tape.tensor("output of the convolution", sizes.columns(&[widths.mixed]), bytes);
    let kept = per_head(tape, sizes, widths);
    let forward = transients(sizes, tape, widths);
    let gradients = [
        tape.tensor(
            "gradient of the convolution's output",
            sizes.columns(&[widths.mixed]),
            bytes,
        ),
        tape.tensor("gradient of the scan's output", inner, bytes),
    ];
    let backward = gradient_transients(sizes, tape, widths);
    tape.op(
        "mamba_split_conv1d_scan_combined",
        scan(sizes, widths),
        &[sequence],
        &[output],
    )
    .saves(&[sequence, before_gate])
    .saves(&kept)
    .forward(&[convolved])
    .forward(&forward)
    .backward(&[convolved])
    .backward(&gradients)
    .backward(&backward);
    Scanned {
        reads: vec![back(sizes, tape, "output of the scan by token", output, widths)],
    }
}

/// Convolution and scan as operations of their own (`MambaMixer._static_prefill`), each with what it keeps.
fn plain_scan(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, sequence: TensorId) -> Scanned {
    let bytes = sizes.width();
    tape.at(Family::Attention, Source::MambaMixer);
    let mixed = sizes.columns(&[widths.mixed]);
    let inner = sizes.columns(&[widths.inner]);
    let states = sizes.columns(&[widths.states]);
    let heads = sizes.columns(&[widths.heads]);
    let by_channel = tape.tensor("x, B and C by channel", mixed, bytes);
    let z = tape.tensor("gate z", inner, bytes);
    let dt = tape.tensor("dt", heads, bytes);
    tape.op("split", Work::MemoryBound, &[sequence], &[by_channel, z, dt]);
    let convolved = tape.tensor("output of the convolution", mixed, bytes);
    tape.op("causal_conv1d", Work::MemoryBound, &[by_channel], &[convolved])
        .saves(&[by_channel]);
    let x = tape.tensor("x", inner, bytes);
    let b = tape.tensor("B", states, bytes);
    let c = tape.tensor("C", states, bytes);
    let by_token = tape.tensor("output of the convolution by token", mixed, bytes);
    tape.op("split", Work::MemoryBound, &[convolved], &[x, b, c])
        .forward(&[by_token]);
    tape.at(Family::Attention, Source::MambaScan);
    let decays = tape.tensor("sums of the decays in fp32", heads, 4);
    let output = tape.tensor("output of the scan", inner, bytes);
    let kept = per_head(tape, sizes, widths);
    let forward = transients(sizes, tape, widths);
    let backward = gradient_transients(sizes, tape, widths);
    tape.op(
        "mamba_chunk_scan_combined",
        scan(sizes, widths),
        &[x, dt, b, c],
        &[output],
    )
    .saves(&[output, x, dt, decays, b, c])
    .saves(&kept)
    .forward(&forward)
    .backward(&backward);
    let output = back(sizes, tape, "output of the scan by token", output, widths);
    let gate = back(sizes, tape, "gate z by token", z, widths);
    Scanned {
        reads: vec![output, gate],
    }
}

/// The scan: seven operations for each number of the states (`mamba_layer_flops`).
fn scan(sizes: &Sizes<'_>, widths: &Widths) -> Work {
    let states = sizes.columns(&[widths.inner, factor("N", sizes.m.args.mamba_state_dim)]);
    Work::Scan(multiply(7, states.elements()))
}

/// `exp(A_log)`, `A` and `dt_bias` in fp32, one number a head each.
fn per_head(tape: &mut AutogradTape, sizes: &Sizes<'_>, widths: &Widths) -> [TensorId; 3] {
    let shape = Shape::of(&[widths.heads])
        .over(factor("TP", sizes.m.tp))
        .over(factor("CP", sizes.m.sequence_parts()));
    ["exp(A_log) in fp32", "A in fp32", "dt_bias in fp32"].map(|what| tape.tensor(what, shape, 4))
}

/// The state at the end of every chunk, for each token of the chunk.
fn chunk_states(sizes: &Sizes<'_>, widths: &Widths) -> Shape {
    let state = factor("N", sizes.m.args.mamba_state_dim);
    sizes.columns(&[widths.inner, state]).over(chunk(sizes.m))
}

/// Tokens that one step of the scan works on (`chunk_size` of `MambaMixer`).
fn chunk(m: &Module) -> Factor {
    factor("(tokens of a chunk)", m.args.mamba_chunk_size)
}

/// The temporaries of the scan: the states of all chunks, first in fp32 and then in the precision of
/// training, dt and the sums of the decays in fp32, and products of B and C within chunks.
fn transients(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths) -> [TensorId; 4] {
    let states = chunk_states(sizes, widths);
    let steps = sizes.columns(&[factor("2", 2), widths.heads]);
    let products = sizes.columns(&[widths.groups, chunk(sizes.m)]);
    [
        tape.tensor("states of the chunks in fp32", states, 4),
        tape.tensor("states of the chunks", states, sizes.width()),
        tape.tensor("dt and sums of the decays in fp32", steps, 4),
        tape.tensor("products of B and C within chunks in fp32", products, 4),
    ]
}

/// The temporaries of the scan's backward pass besides what it computes again: gradients of the states and of the
/// products of B and C.
fn gradient_transients(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths) -> [TensorId; 5] {
    let states = chunk_states(sizes, widths);
    let steps = sizes.columns(&[factor("2", 2), widths.heads]);
    let products = sizes.columns(&[widths.groups, chunk(sizes.m)]);
    [
        tape.tensor("states of the chunks", states, sizes.width()),
        tape.tensor("gradients of the chunks' states in fp32", states, 4),
        tape.tensor("dt and sums of the decays in fp32", steps, 4),
        tape.tensor("products of B and C within chunks in fp32", products, 4),
        tape.tensor("gradients of these products in fp32", products, 4),
    ]
}
