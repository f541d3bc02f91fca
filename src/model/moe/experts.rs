//! The operations of the routed experts of one rank, with the tensors that they save.

use super::{Rows, rows};
use crate::config::choices::{Fp8Recipe, OffloadModule, RecomputeModule};
use crate::config::job::Activation;
use crate::model::layer_spec::Experts;
use crate::model::linear::{Linear, plain, shape_of};
use crate::model::mlp::{activation_input, activation_saves, fc1_width, fuses_gate};
use crate::model::quantization::fuses_experts;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, TensorId, Work};
use crate::model::tensor::{Component, Factor, Row, Shape, Sharding, factor};
use crate::model::weights::Weights;
use crate::source::Source;

/// The experts: fc1, the activation times the router's probability, fc2.
#[allow(
    clippy::too_many_lines,
    reason = "one tensor and one operation after the other, in the order of the forward pass"
)]
pub(crate) fn build(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    moe: Experts,
    r: Rows,
    input: TensorId,
    inner: Factor,
) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let etp = factor("ETP", m.etp);
    let fc1 = fc1_width(m, "f_e", "2·f_e", moe.ffn_hidden_size);
    let f_e = factor("f_e", moe.ffn_hidden_size);
    let experts = factor("E", moe.num_experts);
    let rows_at = |width: Factor| rows(r.aligned, width);
    tape.at(Family::Experts, Source::Experts);
    let padded = padding(sizes, tape, r, input, rows_at(inner));
    let raw = tape.tensor("experts: output of linear_fc1", rows_at(fc1).over(etp), bytes);
    let weights = Weights::of(m, Component::RoutedExperts, Source::Experts);
    let ep = factor("EP", m.ep);
    let expert = |name, shape: Shape, etp, dimensions, row| {
        weights.tensor(name, shape.over(ep).over(etp), Sharding::Expert, dimensions, row)
    };
    let has_bias = m.args.add_bias_linear;
    let first = Linear {
        name: "experts.linear_fc1",
        input: padded,
        width: inner,
        output: raw,
        weight: expert(
            "mlp.experts.linear_fc1.weight*",
            Shape::of(&[experts, fc1, inner]),
            etp,
            2,
            Row::Elements(inner.value),
        ),
        bias: has_bias.then(|| {
            let shape = Shape::of(&[experts, fc1]);
            expert("mlp.experts.linear_fc1.bias*", shape, etp, 1, Row::Elements(1))
        }),
    };
    let offloaded = sizes
        .recompute_options
        .offload
        .is_some_and(|set| set.contains(OffloadModule::ExpertFc1));
    let (start, one_operation) = (tape.here(), fuses_experts(m));
    let first_op = start;
    let keeps_quantized = m.args.fp8_recipe == Fp8Recipe::Mxfp8 || m.args.fp4_format.is_some();
    if offloaded && !keeps_quantized {
        plain(&sizes.sharing(), tape, &first);
    } else {
        plain(sizes, tape, &first);
    }
    tape.offload(OffloadModule::ExpertFc1, start);
    tape.at(Family::Experts, Source::ExpertActivation);
    let start = tape.here();
    let inner_shape = rows_at(f_e).over(etp);
    let activated = tape.tensor("experts: output of the activation function", inner_shape, bytes);
    let probabilities = tape.tensor(
        "probabilities of the dispatched tokens",
        Shape::of(&[r.aligned]),
        probability_width(sizes),
    );
    let fused = match m.activation {
        Activation::SquaredRelu => m.args.use_fused_weighted_squared_relu,
        Activation::SwiGlu | Activation::GeGlu | Activation::QuickGeGlu => fuses_gate(m),
        Activation::Gelu | Activation::SiTu => false,
    };
    if fused || one_operation {
        // SwiGLU clamps within its kernel.
        let clamps = m.activation == Activation::QuickGeGlu && !one_operation;
        let input = if clamps && m.args.activation_func_clamp_value.is_some() {
            clamped(sizes, tape, raw)
        } else {
            raw
        };
        let kept = if one_operation {
            input
        } else {
            activation_input(sizes, tape, input)
        };
        tape.op("experts.activation_func", Work::MemoryBound, &[input], &[activated])
            .saves(&[kept, probabilities]);
    } else {
        // Without a fused kernel the activation's result is kept for its product with the probability.
        let before = tape.tensor("experts: activation before the probability", inner_shape, bytes);
        let kept = activation_saves(sizes, tape, raw, inner_shape);
        tape.op("experts.activation_func", Work::MemoryBound, &[raw], &[before])
            .saves(&kept);
        tape.op("experts.probability", Work::MemoryBound, &[before], &[activated])
            .saves(&[before, probabilities]);
    }
    tape.offload(OffloadModule::MoeAct, start);
    let end = tape.here();
    tape.at(Family::Experts, Source::Experts);
    let output = tape.tensor("experts: output of linear_fc2", rows_at(inner), bytes);
    let second = Linear {
        name: "experts.linear_fc2",
        input: activated,
        width: f_e,
        output,
        weight: expert(
            "mlp.experts.linear_fc2.weight*",
            Shape::of(&[experts, inner, f_e]),
            etp,
            2,
            Row::OneOf(inner.value),
        ),
        // Every expert-tensor-parallel rank has it in full.
        bias: has_bias.then(|| {
            let shape = Shape::of(&[experts, inner]);
            expert("mlp.experts.linear_fc2.bias*", shape, Factor::NONE, 1, Row::Elements(1))
        }),
    };
    // Of fused operations only the one with a squared ReLU computes the input of linear_fc2 again.
    let recomputes = !one_operation || m.activation == Activation::SquaredRelu;
    if one_operation {
        plain(sizes, tape, &second);
        // Only what is quantized goes to the pages of a stash (`mark_grouped_tensor`).
        if sizes.fp8.is_some() || !m.args.moe_paged_stash {
            tape.offload(OffloadModule::FusedGroupMlp, first_op);
        }
    } else {
        plain(&sizes.sharing_with(RecomputeModule::MoeAct), tape, &second);
    }
    if m.args.moe_grouped_gemm && recomputes {
        let keeps = [raw, probabilities];
        tape.discarding_section(RecomputeModule::MoeAct, start..end, &keeps, &[activated]);
    }
    if padded == input {
        return output;
    }
    let unpadded = tape.tensor("experts: output without padding", rows(r.routed, inner), bytes);
    // Variables of the experts hold what they read until they are done.
    tape.op("quantization_unpadding", Work::MemoryBound, &[output], &[unpadded])
        .holds(&[input, padded, activated]);
    unpadded
}

/// For products in fp8 and fused operations every expert's rows are filled up in a copy, unless the router has done
/// that.
fn padding(sizes: &Sizes<'_>, tape: &mut AutogradTape, r: Rows, input: TensorId, shape: Shape) -> TensorId {
    let fills = sizes.m.is_quantized() || fuses_experts(sizes.m);
    // A dispatcher that makes tensors of a fixed size has filled them up (`skip_routed_expert_padding`).
    if !fills || sizes.m.args.moe_router_padding_for_quantization || r.fixed {
        return input;
    }
    let padded = tape.tensor("experts: padded input", shape, sizes.width());
    tape.op("quantization_padding", Work::MemoryBound, &[input], &[padded]);
    padded
}

/// Bytes of a dispatched probability, which has the router's dtype.
pub(super) fn probability_width(sizes: &Sizes<'_>) -> u64 {
    match sizes.m.args.moe_router_dtype {
        Some(crate::config::choices::RouterDtype::Fp64) => 8,
        Some(crate::config::choices::RouterDtype::Fp32) => 4,
        None => sizes.width(),
    }
}

/// Both halves of the activation's input are clamped one by one, which keeps what they were, and joined again
/// (`weighted_bias_quick_geglu_impl`).
fn clamped(sizes: &Sizes<'_>, tape: &mut AutogradTape, raw: TensorId) -> TensorId {
    tape.at(Family::Experts, Source::ClampedQuickGeglu);
    let (shape, width) = (shape_of(tape, raw), sizes.width());
    let halves = tape.tensor("clamped halves before they are joined", shape, width);
    let joined = tape.tensor("experts: clamped input of the activation", shape, width);
    tape.op("experts.clamp", Work::MemoryBound, &[raw], &[joined])
        .saves(&[raw])
        .forward(&[halves])
        .backward(&[halves]);
    tape.at(Family::Experts, Source::ExpertActivation);
    joined
}
