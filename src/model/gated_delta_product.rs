//! The gated delta product (`GatedDeltaProductMixer`): a linear recurrence that takes several steps of the gated delta
//! rule for each token. It has the sizes and the parameters' names of a Mamba mixer.

use super::mamba;
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Component, Factor, factor};
use super::weights::Weights;
use crate::config::choices::{OffloadModule, RecomputeModule};
use crate::config::job::Module;
use crate::source::Source;
use crate::units::multiply;

/// Tokens that the causal convolution sees (`d_conv`).
const KERNEL: u64 = 4;
/// Steps that one chunk of the recurrence has.
const CHUNK: u64 = 64;

/// Widths of one token, over all tensor-parallel ranks. With more context-parallel ranks than groups, several ranks
/// have the queries and keys of one group, as the recurrence sees them.
struct Widths {
    /// Heads: `n_m`.
    heads: Factor,
    /// Columns of a head's state.
    state: Factor,
    /// Steps for each token: `k_h`.
    steps: Factor,
    /// All heads' values of one step: gate and output.
    inner: Factor,
    /// Gate, values, keys, queries, and the numbers for writing and forgetting, as `in_proj` makes them.
    projected: Factor,
    /// The outputs of `in_proj` in the recurrence, where context-parallel ranks hold some heads of all tokens.
    exchanged: Factor,
    /// Values, keys and queries: what the convolution works on.
    convolved: Factor,
    /// Values, keys and queries in the recurrence.
    mixed: Factor,
    /// Values of all steps.
    values: Factor,
    /// Heads of all steps.
    head_steps: Factor,
    /// Queries, by group.
    queries: Factor,
    /// Keys of all steps, by group.
    keys: Factor,
    /// Groups of the norm's statistics.
    groups: Factor,
    /// Whether several heads share queries and keys.
    shared: bool,
}

impl Widths {
    fn of(m: &Module) -> Self {
        let a = &m.args;
        let heads = m.mamba_num_heads();
        let inner = heads.saturating_mul(a.mamba_head_dim);
        let groups = a.mamba_num_groups;
        let seen = groups.max(m.tp.saturating_mul(m.sequence_parts()));
        let steps = a.gdp_num_householder;
        let width = a.mamba_state_dim;
        let convolved = |groups: u64| {
            let states = groups.saturating_mul(width);
            let values = steps.saturating_mul(inner);
            values.saturating_add(steps.saturating_add(1).saturating_mul(states))
        };
        let projected = |groups: u64| {
            let gates = steps.saturating_add(1).saturating_mul(heads);
            convolved(groups).saturating_add(inner).saturating_add(gates)
        };
        let all = "(1 + k_h)·(n_m·d_m + g_m·N + n_m)";
        let some = "(k_h·n_m·d_m + (1 + k_h)·g_m·N)";
        let by_group = seen.saturating_mul(width);
        Self {
            heads: factor("n_m", heads),
            state: factor("N", width),
            steps: factor("k_h", steps),
            inner: factor("n_m·d_m", inner),
            projected: factor(all, projected(groups)),
            exchanged: factor(all, projected(seen)),
            convolved: factor(some, convolved(groups)),
            mixed: factor(some, convolved(seen)),
            values: factor("k_h·n_m·d_m", steps.saturating_mul(inner)),
            head_steps: factor("k_h·n_m", steps.saturating_mul(heads)),
            queries: factor("g_m·N", by_group),
            keys: factor("k_h·g_m·N", steps.saturating_mul(by_group)),
            groups: factor("g_m", groups),
            shared: heads > seen,
        }
    }
}

/// Queries, keys and values of the recurrence.
type Operands = [TensorId; 3];

/// One gated delta product from the residual stream to the output of `out_proj`.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) -> TensorId {
    let m = sizes.m;
    let widths = Widths::of(m);
    let start = tape.here();
    let sequence = project(sizes, tape, &widths, input);
    let projected = tape.here();
    let operands = prepare(sizes, tape, &widths, sequence);
    tape.offload(OffloadModule::GdpQkv, projected);
    let prepared = tape.here();
    let output = recur(sizes, tape, &widths, (sequence, operands));
    tape.discarding_section(RecomputeModule::GdpQkv, projected..prepared, &[sequence], &operands);
    let normed = gated_norm(sizes, tape, &widths, (output, sequence));
    tape.discarding_section(RecomputeModule::GdpInProj, start..projected, &[input], &[sequence]);
    let what = "gated delta product branch";
    mamba::out_proj(sizes, tape, what, Source::GatedDeltaProduct, widths.inner, normed)
}

/// `in_proj` with the norm before it. Context-parallel ranks then trade their parts of the sequence for a part of the
/// heads, and samples come first.
fn project(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, input: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let what = "gates, values, keys and queries";
    let columns = widths.projected;
    let mut sequence = mamba::in_proj(sizes, tape, what, Source::GatedDeltaProduct, columns, input);
    tape.at(Family::Attention, Source::GatedDeltaProduct);
    let shape = sizes.columns(&[widths.exchanged]);
    if m.sequence_parts() > 1 {
        let what = "gates, values, keys and queries of whole sequences";
        let received = tape.tensor(what, shape, bytes);
        let pieces = tape.tensor("pieces that ranks exchange", shape, bytes);
        tape.op("pre_conv_ssm", Work::MemoryBound, &[sequence], &[received])
            .forward(&[pieces])
            .backward(&[pieces]);
        sequence = received;
    }
    if m.args.micro_batch_size > 1 {
        let what = "gates, values, keys and queries by sample";
        let turned = tape.tensor(what, shape, bytes);
        tape.op("contiguous", Work::MemoryBound, &[sequence], &[turned]);
        sequence = turned;
    }
    sequence
}

/// Convolution, split, and norms on queries and keys (`_prepare_qkv`).
fn prepare(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, sequence: TensorId) -> Operands {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Attention, Source::GatedDeltaProduct);
    let conv1d = Weights::of(m, Component::MambaConv1d, Source::GatedDeltaProduct);
    let kernel = factor("4", KERNEL);
    tape.declare([conv1d.column_parallel("mixer.conv1d.weight", &[widths.convolved, kernel], 3)]);
    let convolved = sizes.columns(&[widths.mixed]);
    let convolved = tape.tensor("output of the convolution", convolved, bytes);
    let products = multiply(2, sizes.columns(&[widths.mixed, kernel]).elements());
    tape.op("causal_conv1d", Work::Scan(products), &[sequence], &[convolved])
        .saves(&[sequence]);
    let mut tensor = |what, width| tape.tensor(what, sizes.columns(&[width]), bytes);
    let split = [
        tensor("queries before their norm", widths.queries),
        tensor("keys before their norm", widths.keys),
    ];
    let values = tensor("values", widths.values);
    let normed = [
        tensor("normed queries", widths.queries),
        tensor("normed keys", widths.keys),
    ];
    let [before_q, before_k] = split;
    tape.op("split", Work::MemoryBound, &[convolved], &[before_q, before_k, values]);
    let rows = factor("(1 + k_h)·g_m", {
        let groups = widths.queries.value / widths.state.value.max(1);
        groups.saturating_mul(widths.steps.value.saturating_add(1))
    });
    // The norm keeps its output and one fp32 number a group.
    tape.op("l2_norm", Work::MemoryBound, &split, &normed)
        .saves(&normed)
        .keeps("reciprocal lengths of queries and keys", sizes.columns(&[rows]), 4);
    if !widths.shared {
        let [queries, keys] = normed;
        return [queries, keys, values];
    }
    let of_queries = sizes.columns(&[widths.heads, widths.state]);
    let of_keys = sizes.columns(&[widths.head_steps, widths.state]);
    let queries = tape.tensor("queries of every head", of_queries, bytes);
    let keys = tape.tensor("keys of every head", of_keys, bytes);
    tape.op("repeat_interleave", Work::MemoryBound, &normed, &[queries, keys]);
    [queries, keys, values]
}

/// The gates and the recurrence (`_compute_gating`, `chunk_gated_delta_product`), which computes its states again in
/// the backward pass, for as many steps as all tokens have.
fn recur(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    (sequence, [queries, keys, values]): (TensorId, Operands),
) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Attention, Source::GatedDeltaProduct);
    let of = |component| Weights::of(m, component, Source::GatedDeltaProduct);
    tape.declare([
        of(Component::MambaDtBias).column_parallel("mixer.dt_bias", &[widths.heads], 1),
        of(Component::MambaALog).column_parallel("mixer.A_log", &[widths.heads], 1),
    ]);
    let heads = sizes.columns(&[widths.heads]);
    let of_steps = sizes.columns(&[widths.head_steps]);
    let strength = tape.tensor("writing strength of every step", of_steps, bytes);
    let decay = tape.tensor("decay of every head in fp32", heads, 4);
    let inner = [
        tape.tensor("input of the softplus in fp32", heads, 4),
        tape.tensor("output of the softplus in fp32", heads, 4),
    ];
    tape.op("gates", Work::MemoryBound, &[sequence], &[strength, decay])
        .saves(&[strength])
        .saves(&inner);
    let output = tape.tensor("output of the recurrence", sizes.columns(&[widths.inner]), bytes);
    let by_state = sizes.columns(&[widths.inner, widths.state]);
    // Operations for each number of the states (`gated_delta_product_layer_flops`).
    let each = multiply(4, widths.steps.value).saturating_add(3);
    let sums = tape.tensor("sums of the decays in fp32", of_steps, 4);
    let chunk = factor("64", CHUNK);
    let of_chunks = sizes.columns(&[widths.head_steps, chunk]);
    let inverse = tape.tensor("inverse of every chunk", of_chunks, bytes);
    let raw = tape.tensor("products of keys in every chunk in fp32", of_chunks, 4);
    let by_key = sizes.columns(&[widths.head_steps, widths.state]);
    let by_value = sizes.columns(&[widths.values]);
    let states = sizes.columns(&[widths.values, widths.state]).over(chunk);
    let once = [
        tape.tensor("keys of the recurrence", by_key, bytes),
        tape.tensor("values of the recurrence, twice", by_value, 2 * bytes),
        tape.tensor("states of the chunks", states, bytes),
    ];
    let gradients = [
        tape.tensor("queries of every step, twice", by_key, 2 * bytes),
        tape.tensor("output gradient of every step, twice", by_value, 2 * bytes),
        tape.tensor("gradients of the chunks' states", states, bytes),
        tape.tensor("gradient of queries of every step", by_key, bytes),
    ];
    tape.op(
        "chunk_gated_delta_product",
        Work::Scan(multiply(each, by_state.elements())),
        &[queries, keys, values, strength, decay],
        &[output],
    )
    .saves(&[queries, keys, values, strength, sums, inverse])
    .forward(&[raw])
    .forward(&once)
    .backward(&once)
    .backward(&gradients);
    output
}

/// The norm on the output times its gate, which is copied out of the projection (`_postprocess`).
fn gated_norm(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    (mut output, sequence): (TensorId, TensorId),
) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Attention, Source::GatedDeltaProduct);
    let shape = sizes.columns(&[widths.inner]);
    let mut gate = tape.tensor("gate", shape, bytes);
    tape.op("split", Work::MemoryBound, &[sequence], &[gate]);
    if m.args.micro_batch_size > 1 {
        let turned = tape.tensor("output of the recurrence by token", shape, bytes);
        tape.op("contiguous", Work::MemoryBound, &[output], &[turned]);
        output = turned;
    }
    if m.sequence_parts() > 1 {
        for (tensor, what) in [
            (&mut output, "output of the recurrence of own tokens"),
            (&mut gate, "gate of own tokens"),
        ] {
            let received = tape.tensor(what, shape, bytes);
            let pieces = tape.tensor("pieces that ranks exchange", shape, bytes);
            tape.op("post_conv_ssm", Work::MemoryBound, &[*tensor], &[received])
                .forward(&[pieces])
                .backward(&[pieces]);
            *tensor = received;
        }
    }
    tape.at(Family::Attention, Source::MambaNorm);
    let weights = Weights::of(m, Component::MambaNorm, Source::GatedDeltaProduct);
    tape.declare([weights.column_parallel("mixer.norm.weight", &[widths.inner], 1)]);
    let normed = tape.tensor("normed output of the recurrence", shape, bytes);
    let statistics = sizes.columns(&[widths.groups]);
    let statistics = tape.tensor("norm statistics", statistics, 4);
    tape.op("norm", Work::MemoryBound, &[output, gate], &[normed])
        .saves(&[output, gate, statistics]);
    normed
}
