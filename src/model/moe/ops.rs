//! What a `MoE` layer keeps: router, dispatch, experts, combine.

use super::dispatch::Way;
use super::experts;
use crate::config::choices::{OffloadModule, RecomputeModule, RouterDtype, TokenDispatcher};
use crate::config::job::Module;
use crate::model::layer_spec::Experts;
use crate::model::linear::{Linear, plain};
use crate::model::norm::ops::{PRE_MLP, residual_norm};
use crate::model::quantization::expert_alignment;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, Gradient, Point, TensorId};
use crate::model::tensor::{Factor, Shape, factor};
use crate::model::{hidden, shared_expert};
use crate::source::{LATENT, ROUTER, SHARED_EXPERTS, TE_LAYERNORM_LINEAR};
use crate::units::multiply;

/// How many rows of tokens exist at each point on the way to the experts and back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    /// Copies of this rank's tokens, one for each chosen expert: N.
    pub(crate) sent: Factor,
    /// What arrives from the expert-parallel ranks.
    pub(crate) received: Factor,
    /// What the experts of this rank work on, after the gather over expert-tensor-parallel ranks: R.
    pub(crate) routed: Factor,
    /// The same with every expert's rows filled up to what fp8 needs.
    pub(crate) aligned: Factor,
    /// All tokens of the expert-parallel ranks, with the all-gather dispatcher.
    pub(crate) all: Factor,
}

impl Rows {
    /// The rows of a layer on the rank that gets most. Padded to capacity, every rank gets the same number.
    pub(crate) fn new(m: &Module, moe: Experts) -> Self {
        let a = &m.args;
        let tokens = multiply(a.seq_length, a.micro_batch_size) / m.cp.max(1);
        let tokens = if m.sequence_parallel {
            tokens / m.tp.max(1)
        } else {
            tokens
        };
        let mean = multiply(tokens, moe.topk);
        let capacity = a.moe_expert_capacity_factor.map(|capacity| {
            // ceil(T·k / E · factor) for each expert, in whole millionths.
            let slots = u128::from(mean) * u128::from(capacity.0);
            let each = slots.div_ceil(u128::from(moe.num_experts) * 1_000_000);
            multiply(u64::try_from(each).unwrap_or(u64::MAX), moe.num_experts)
        });
        let sent = match capacity {
            Some(capacity) if a.moe_pad_expert_input_to_capacity => capacity,
            _ => mean,
        };
        let scaled = |rows: u64| {
            let busiest = u128::from(rows) * u128::from(moe.load_imbalance.0) / 1_000_000;
            let busiest = u64::try_from(busiest).unwrap_or(u64::MAX);
            // Dropping keeps every expert below its capacity.
            match capacity {
                Some(capacity) if a.moe_pad_expert_input_to_capacity => capacity,
                Some(capacity) => busiest.min(capacity.max(1)),
                None => busiest,
            }
        };
        let received = scaled(sent);
        let routed = multiply(received, m.etp);
        let experts = (moe.num_experts / m.ep.max(1)).max(1);
        let each = routed
            .div_ceil(experts)
            .next_multiple_of(expert_alignment(m));
        let aligned = if expert_alignment(m) > 1 {
            multiply(each, experts)
        } else {
            routed
        };
        let rank_tokens = multiply(multiply(tokens, m.ep), m.etp);
        Self {
            sent: factor("N (tokens · k)", sent),
            received: factor("N · imbalance", received),
            routed: factor("R (rows at the experts)", routed),
            aligned: factor("R (rows at the experts)", aligned),
            all: factor("tokens of all expert-parallel ranks", rank_tokens),
        }
    }
}

/// Rows of this width.
pub(crate) fn rows(count: Factor, width: Factor) -> Shape {
    Shape::of(&[count, width])
}

/// The MLP of a `MoE` layer from the residual stream to its output, with the norm before it.
pub(crate) fn ops(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    moe: Experts,
    x: TensorId,
) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Residual, TE_LAYERNORM_LINEAR);
    let norm = tape.here();
    let normed = residual_norm(sizes, tape, PRE_MLP, x);
    tape.offload(OffloadModule::MlpNorm, norm);
    let start = tape.here();
    let ends_at = tape.ends_at();
    router(sizes, tape, moe, normed);
    // A graph ends before shared experts that run while tokens travel.
    let late = m.args.moe_shared_expert_overlap && ends_at.is_some();
    let shared = |tape: &mut AutogradTape| shared_expert::ops::ops(sizes, tape, moe, normed);
    let before = if late { None } else { shared(tape) };
    tape.reaches(Point::Router);
    tape.at(Family::Experts, LATENT);
    let inner = m
        .args
        .moe_latent_size
        .map_or(hidden(m), |latent| factor("l", latent));
    let mut input = normed;
    if m.args.moe_latent_size.is_some() {
        let output = tape.tensor(
            "tokens in the latent space",
            sizes.own_tokens(&[inner]),
            bytes,
        );
        let weight = Shape::of(&[inner, hidden(m)]);
        plain(
            sizes,
            tape,
            Linear {
                name: "fc1_latent_proj",
                input: normed,
                width: hidden(m),
                output,
                weight,
            },
        );
        input = output;
    }
    let way = Way::dispatch(sizes, tape, moe, input, inner);
    let shared = if late { shared(tape) } else { before };
    let (arrived, arrived_rows) = way.arrived();
    let results = experts::ops(sizes, tape, moe, arrived_rows, arrived, inner);
    let mut output = way.combine(tape, results);
    if m.args.moe_latent_size.is_some() {
        tape.at(Family::Experts, LATENT);
        let outer = tape.tensor("routed experts: output", sizes.residual(), bytes);
        let weight = Shape::of(&[hidden(m), inner]);
        plain(
            sizes,
            tape,
            Linear {
                name: "fc2_latent_proj",
                input: output,
                width: inner,
                output: outer,
                weight,
            },
        );
        output = outer;
    }
    if let Some(shared) = shared {
        tape.at(Family::Experts, SHARED_EXPERTS);
        let sum = tape.tensor("MLP branch", sizes.residual(), bytes);
        tape.op("add shared experts", &[output, shared], &[sum])
            .gradients(&[Gradient::Shared, Gradient::Shared]);
        output = sum;
    }
    tape.section(Some(RecomputeModule::Moe), start, &[normed]);
    // What a graph returns it cannot discard (`can_recompute_pre_mlp_layernorm_for_cudagraph`).
    let alltoall = m.args.moe_token_dispatcher_type == TokenDispatcher::AllToAll;
    let moved = alltoall || m.args.moe_latent_size.is_some();
    let discards = match ends_at {
        None => true,
        Some(point) => !late && point == Point::Preprocess && moved,
    };
    if discards {
        tape.discarding_section(RecomputeModule::Layernorm, norm..norm + 1, &[x], &[normed]);
    }
    output
}

fn router(sizes: &Sizes<'_>, tape: &mut AutogradTape, moe: Experts, normed: TensorId) {
    tape.at(Family::Experts, ROUTER);
    let (experts, k) = (factor("E", moe.num_experts), factor("k", moe.topk));
    let scores = sizes.own_tokens(&[experts]);
    let width = match sizes.m.args.moe_router_dtype {
        Some(RouterDtype::Fp64) => 8,
        Some(RouterDtype::Fp32) => 4,
        None => sizes.width(),
    };
    let mut saved = vec![
        normed,
        tape.tensor(
            "scores of the chosen experts in fp32",
            sizes.own_tokens(&[k]),
            4,
        ),
        tape.tensor("indices of the chosen experts", sizes.own_tokens(&[k]), 8),
        tape.tensor("routing map", scores, 1),
    ];
    if sizes.kernels.balancing_loss {
        saved.push(tape.tensor("router scores in fp32", scores, 4));
        saved.push(tape.tensor("router scores for the balancing loss in fp32", scores, 4));
    }
    let probabilities = tape.tensor("router probabilities", scores, width);
    saved.push(probabilities);
    tape.op("router", &[normed], &[])
        .saves(&saved)
        .gradients(&[Gradient::New]);
}
