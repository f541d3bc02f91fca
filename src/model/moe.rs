//! A `MoE` layer's MLP: router, latent projections, dispatch, routed and shared experts, combine.

pub(crate) mod dispatch;
pub(crate) mod experts;
mod pools;
mod rows;
mod separate_norms;

use self::dispatch::DispatchedTokens;
use self::pools::Pool;
pub(crate) use self::rows::{Rows, rows};
use self::separate_norms::Inputs;
use super::adapter::{self, AdapterInput};
use super::kimi::norm::rms_norm;
use super::layer_spec::Experts;
use super::linear::{Linear, plain};
use super::norm::{self, residual_norm};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, Gradient, Point, TensorId, Work};
use super::tensor::{Component, Factor, factor};
use super::weights::Weights;
use super::{hidden, shared_expert};
use crate::config::choices::{CudaGraphImpl, OffloadModule, RecomputeModule, RouterDtype, TokenDispatcher};
use crate::source::Source;

/// The MLP of a `MoE` layer from the residual stream to its output, with the norm before it.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, moe: Experts, x: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Residual, Source::TeLayernormLinear);
    let before_norm = tape.here();
    let separate = m.args.separate_moe_norms;
    let inputs = if separate {
        separate_norms::inputs(sizes, tape, x)
    } else {
        let normed = residual_norm(sizes, tape, &norm::pre_mlp(m), x);
        Inputs {
            experts: normed,
            shared: normed,
            router: normed,
        }
    };
    let before_pools = inputs.experts;
    tape.offload(OffloadModule::MlpNorm, before_norm);
    let start = tape.here();
    let (in_graph, ends_at) = (tape.is_in_graph(), tape.ends_at());
    let text = Pool::of_text(sizes, tape, moe, before_pools);
    let normed = text.map_or(before_pools, |text| text.tokens);
    let for_router = if separate {
        separate_norms::router_input(sizes, tape, inputs.router)
    } else {
        normed
    };
    let routed = router(sizes, tape, moe, for_router);
    // A graph ends before shared experts that run while tokens travel.
    let late = m.args.moe_shared_expert_overlap && ends_at.is_some();
    let shared = |tape: &mut AutogradTape| shared_expert::build(sizes, tape, moe, inputs.shared);
    let before = if late { None } else { shared(tape) };
    tape.reaches(Point::Router);
    let latent = Weights::of(m, Component::LatentProj, Source::Latent);
    let has_bias = m.args.add_bias_linear;
    tape.at(Family::Experts, Source::Latent);
    let inner = m.args.moe_latent_size.map_or(hidden(m), |latent| factor("l", latent));
    let mut input = normed;
    if m.args.moe_latent_size.is_some() {
        let output = tape.tensor("tokens in the latent space", sizes.own_tokens(&[inner]), bytes);
        let linear = Linear {
            name: "fc1_latent_proj",
            input: normed,
            width: hidden(m),
            output,
            weight: latent.whole("mlp.fc1_latent_proj.weight", &[inner, hidden(m)], 2),
            bias: has_bias.then(|| latent.whole("mlp.fc1_latent_proj.bias", &[inner], 1)),
        };
        plain(sizes, tape, &linear);
        input = output;
    }
    let tokens = DispatchedTokens::dispatch(sizes, tape, moe, input, inner);
    // What the static tensors of graphs are is not the dispatcher's own.
    if !in_graph && m.args.cuda_graph_impl != CudaGraphImpl::FullIteration {
        let kept = tokens.attributes(tape, moe, routed);
        tape.holds_graph = tokens.holds_graph();
        tape.attributes.extend(kept);
    }
    let shared = if late { shared(tape) } else { before };
    let (arrived, arrived_rows) = tokens.arrived();
    let of_experts = tokens.postprocess();
    let results = experts::build(sizes, tape, moe, arrived_rows, arrived, inner);
    let results = tokens.combine(tape, results);
    let mut output = normed_results(sizes, tape, results, inner);
    if m.args.moe_latent_size.is_some() {
        tape.at(Family::Experts, Source::Latent);
        let outer = tape.tensor("routed experts: output", sizes.residual(), bytes);
        let linear = Linear {
            name: "fc2_latent_proj",
            input: output,
            width: inner,
            output: outer,
            weight: latent.whole("mlp.fc2_latent_proj.weight", &[hidden(m), inner], 2),
            bias: has_bias.then(|| latent.whole("mlp.fc2_latent_proj.bias", &[hidden(m)], 1)),
        };
        plain(sizes, tape, &linear);
        output = outer;
    }
    tape.computes_weight_gradients(of_experts);
    if let Some(text) = text {
        output = text.put_back(sizes, tape, output);
    }
    output = with_shared(sizes, tape, output, shared);
    tape.section(Some(RecomputeModule::Moe), start, &inputs.each());
    if separate {
        return separate_norms::run(sizes, tape, separate_norms::AFTER_SUM, output);
    }
    // What a graph returns it cannot discard (`can_recompute_pre_mlp_layernorm_for_cudagraph`).
    let alltoall = m.args.moe_token_dispatcher_type == TokenDispatcher::AllToAll;
    let moved = alltoall || m.args.moe_latent_size.is_some();
    let discards = match ends_at {
        None => true,
        Some(point) => !late && point == Point::Preprocess && moved,
    };
    if discards {
        let norm = before_norm..before_norm + 1;
        tape.discarding_section(RecomputeModule::Layernorm, norm, &[x], &[before_pools]);
    }
    output
}

/// The results of routed experts through a norm in their latent space, as Kimi K3 has it.
fn normed_results(sizes: &Sizes<'_>, tape: &mut AutogradTape, results: TensorId, inner: Factor) -> TensorId {
    let m = sizes.m;
    if m.args.kimi_attn_res_block_size.is_none() {
        return results;
    }
    tape.at(Family::Experts, Source::KimiK3Experts);
    let weights = Weights::of(m, Component::LatentProj, Source::KimiK3Experts);
    let norm = (norm::ROUTED_EXPERTS, weights.norm("mlp.routed_expert_norm", inner));
    rms_norm(sizes, tape, norm, (results, inner), |width| sizes.own_tokens(&[width]))
}

/// The sum of routed and shared experts, each after a norm of its own where the module has such norms.
fn with_shared(sizes: &Sizes<'_>, tape: &mut AutogradTape, routed: TensorId, shared: Option<TensorId>) -> TensorId {
    let separate = sizes.m.args.separate_moe_norms;
    let normed = |tape: &mut AutogradTape, norm, x| {
        if separate {
            separate_norms::run(sizes, tape, norm, x)
        } else {
            x
        }
    };
    let routed = normed(tape, separate_norms::AFTER_EXPERTS, routed);
    let Some(shared) = shared else { return routed };
    let shared = normed(tape, separate_norms::AFTER_SHARED, shared);
    tape.at(Family::Experts, Source::SharedExperts);
    let sum = tape.tensor("MLP branch", sizes.residual(), sizes.width());
    tape.op("add shared experts", Work::MemoryBound, &[routed, shared], &[sum])
        .gradients(&[Gradient::Shared, Gradient::Shared]);
    sum
}

/// The router. The bias of loss-free load balancing is a buffer and no parameter. Gives the routing map and the
/// probabilities.
fn router(sizes: &Sizes<'_>, tape: &mut AutogradTape, moe: Experts, normed: TensorId) -> [TensorId; 2] {
    tape.at(Family::Experts, Source::Router);
    let (experts, k) = (factor("E", moe.num_experts), factor("k", moe.topk));
    let scores = sizes.own_tokens(&[experts]);
    let width = match sizes.m.args.moe_router_dtype {
        Some(RouterDtype::Fp64) => 8,
        Some(RouterDtype::Fp32) => 4,
        None => sizes.width(),
    };
    let in_fp32 = sizes.m.args.moe_router_weight_in_fp32 && sizes.width() < 4;
    let normed = if in_fp32 {
        let copy = tape.tensor("input of the router in fp32", sizes.residual(), 4);
        tape.op("router.input.to", Work::MemoryBound, &[normed], &[copy]);
        copy
    } else {
        normed
    };
    let chosen = sizes.own_tokens(&[k]);
    let chosen_scores = tape.tensor("scores of the chosen experts in fp32", chosen, 4);
    let indices = tape.tensor("indices of the chosen experts", chosen, 8);
    let map = tape.tensor("routing map", scores, 1);
    let mut saved = vec![normed, chosen_scores, indices, map];
    if sizes.m.args.separate_moe_norms {
        tape.at(Family::Experts, Source::Gemma4Router);
        separate_norms::expert_factors(sizes.m, tape, experts);
        saved.extend(separate_norms::scores(sizes, tape, experts));
        tape.at(Family::Experts, Source::Router);
    }
    if sizes.kernels.balancing_loss {
        saved.push(tape.tensor("router scores in fp32", scores, 4));
        saved.push(tape.tensor("router scores for the balancing loss in fp32", scores, 4));
    }
    let probabilities = tape.tensor("router probabilities", scores, width);
    saved.push(probabilities);
    let weights = Weights::of(sizes.m, Component::Router, Source::Router);
    let hidden = hidden(sizes.m);
    let weight = weights.whole("mlp.router.weight", &[experts, hidden], 2);
    let weight = if in_fp32 { weight.kept_in_fp32() } else { weight };
    tape.declare([weight]);
    if sizes.m.args.add_bias_linear {
        tape.declare([weights.whole("mlp.router.bias", &[experts], 1)]);
    }
    let linear = Linear {
        name: "router.gating",
        input: normed,
        width: hidden,
        output: probabilities,
        weight,
        bias: None,
    };
    let mut reads = vec![normed];
    if adapter::has(sizes, &linear) {
        let logits = tape.tensor("router logits with its adapter's", scores, width);
        let linear = Linear {
            output: logits,
            ..linear
        };
        adapter::beside(sizes, tape, &linear, |tape, linear| {
            tape.op(linear.name, Work::UncountedFlops, &[normed], &[linear.output]);
            AdapterInput {
                tensor: normed,
                in_parts: false,
            }
        });
        reads.push(logits);
    }
    tape.op("router", Work::UncountedFlops, &reads, &[]).saves(&saved);
    [map, probabilities]
}
