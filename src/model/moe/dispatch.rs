//! The token dispatcher: tokens are permuted, exchanged and sorted on their way to the experts, and combined on their
//! way back.

use super::experts::probability_width;
use super::{Rows, rows};
use crate::config::choices::{FlexBackend, RouterDtype, SoftwareFact, TokenDispatcher};
use crate::model::layer_spec::Experts;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, Point, TensorId, Work};
use crate::model::tensor::{Factor, Shape, factor};
use crate::source::Source;
use crate::units::multiply;

/// Whether tokens travel through `HybridEP`.
fn is_hybrid_ep(sizes: &Sizes<'_>) -> bool {
    let a = &sizes.m.args;
    a.moe_token_dispatcher_type == TokenDispatcher::Flex && a.moe_flex_dispatcher_backend == FlexBackend::HybridEp
}

/// The experts of this rank.
fn local_experts(sizes: &Sizes<'_>, moe: Experts) -> Factor {
    factor("E/EP", moe.num_experts / sizes.m.ep.max(1))
}

/// The maps of `HybridEP` over the tokens of all expert-parallel ranks: to which rank each token goes, to which of the
/// rank's experts each arriving one, and to which row of them. One byte a token more for each node is left out.
fn hybrid_ep_maps(sizes: &Sizes<'_>, tape: &mut AutogradTape, moe: Experts) -> Vec<TensorId> {
    let m = sizes.m;
    let ranks = sizes.own_tokens(&[factor("(EP·ETP)", multiply(m.ep, m.etp))]);
    let local = sizes.own_tokens(&[factor("(E·ETP)", multiply(moe.num_experts, m.etp))]);
    vec![
        tape.tensor("map of tokens to ranks", ranks, 4),
        tape.tensor("map of arriving tokens to local experts", local, 1),
        tape.tensor("row map of arriving tokens", local, 4),
    ]
}

/// Tokens between the router and the combined output: the tensor that they are in, and the steps that this dispatcher
/// takes.
pub(crate) struct DispatchedTokens<'a> {
    sizes: &'a Sizes<'a>,
    rows: Rows,
    /// Width of a token on its way.
    inner: Factor,
    current: TensorId,
    /// Where the exchange and the permutation put each token.
    tables: Vec<TensorId>,
    exchanged: bool,
    gathered: bool,
    sorted: bool,
    /// The first operation after the tokens' exchange (`dispatch_postprocess`).
    postprocess: usize,
    /// What variables of `MoELayer.forward` hold until the results have been combined.
    held: Vec<TensorId>,
}

impl<'a> DispatchedTokens<'a> {
    /// Brings the tokens to the experts.
    pub(crate) fn dispatch(
        sizes: &'a Sizes<'a>,
        tape: &mut AutogradTape,
        moe: Experts,
        input: TensorId,
        inner: Factor,
    ) -> Self {
        let (m, rows_of) = (sizes.m, Rows::new(sizes.m, moe));
        let alltoall = m.args.moe_token_dispatcher_type == TokenDispatcher::AllToAll;
        let gathers = m.args.moe_token_dispatcher_type == TokenDispatcher::AllGather;
        let indices = if gathers { rows_of.routed } else { rows_of.sent };
        tape.at(Family::Experts, Source::Permute);
        let tables = if is_hybrid_ep(sizes) {
            tape.at(Family::Experts, Source::HybridEpMaps);
            let maps = hybrid_ep_maps(sizes, tape, moe);
            tape.at(Family::Experts, Source::Permute);
            maps
        } else if gathers && m.args.moe_permute_fusion {
            let local = local_experts(sizes, moe).value;
            let width = factor("(2·E/EP + 1)", 2 * local + 1);
            vec![tape.tensor("row map of the permutation", rows(rows_of.all, width), 4)]
        } else if m.args.moe_permute_fusion {
            let width = factor("(2·E + 1)", 2 * moe.num_experts + 1);
            vec![tape.tensor("row map of the permutation", sizes.own_tokens(&[width]), 4)]
        } else {
            vec![tape.tensor("sorted indices of the permutation", Shape::of(&[indices]), 8)]
        };
        // The other dispatchers hand the experts their tokens in one step.
        let first = if alltoall { rows_of.sent } else { rows_of.routed };
        if rows_of.fixed {
            tape.at(Family::Experts, Source::RankCapacity);
        }
        let permuted = tape.tensor("dispatched tokens", rows(first, inner), sizes.width());
        if !alltoall {
            // What these do before tokens travel makes no new ones.
            tape.reaches(Point::Preprocess);
        }
        tape.op("permute", Work::MemoryBound, &[input], &[permuted])
            .saves(&tables);
        tape.reaches(Point::Preprocess);
        let mut tokens = Self {
            sizes,
            rows: rows_of,
            inner,
            current: permuted,
            tables,
            exchanged: alltoall && m.ep > 1,
            gathered: alltoall && m.etp > 1,
            sorted: alltoall && moe.num_experts / m.ep.max(1) > 1,
            postprocess: tape.here(),
            held: if alltoall { vec![permuted] } else { Vec::new() },
        };
        tape.at(Family::Experts, Source::Dispatch);
        if tokens.exchanged {
            tokens.step(
                tape,
                "all_to_all",
                Work::Exchange,
                "tokens received from other ranks",
                rows_of.received,
            );
            tokens.held.push(tokens.current);
            tokens.postprocess = tape.here();
        }
        if tokens.gathered {
            let what = "tokens gathered over expert-tensor-parallel ranks";
            tokens.step(tape, "all_gather", Work::Exchange, what, rows_of.routed);
        }
        if tokens.sorted {
            tokens.step(
                tape,
                "sort_chunks_by_idxs",
                Work::MemoryBound,
                "tokens sorted by expert",
                rows_of.routed,
            );
        }
        tokens
    }

    /// The tensors that attributes of the dispatcher refer to after the passes, or that autograd functions refer to whose
    /// results they are. `routed` is what the router returns: the map of tokens to experts, and the probabilities.
    pub(crate) fn attributes(&self, tape: &mut AutogradTape, moe: Experts, routed: [TensorId; 2]) -> Vec<TensorId> {
        let a = &self.sizes.m.args;
        let mut kept = Vec::new();
        match a.moe_token_dispatcher_type {
            // `probs`, `routing_map` and `reversed_local_input_permutation_mapping` of `MoEAlltoAllTokenDispatcher`.
            TokenDispatcher::AllToAll => {
                kept.extend(&self.tables);
                if !SoftwareFact::TopkDispatcher.holds(a) {
                    kept.extend(routed);
                }
            }
            // `routing_map`, `token_probs` and `dispatched_probs` of `_HybridEPManager`; the last is a result of
            // `HybridEPDispatch`, whose context has the maps.
            TokenDispatcher::Flex if a.moe_flex_dispatcher_backend == FlexBackend::HybridEp => {
                let [map, probabilities] = routed;
                kept.extend(&self.tables);
                kept.push(map);
                tape.at(Family::Experts, Source::HybridEpMaps);
                kept.push(if a.moe_router_dtype == Some(RouterDtype::Fp32) {
                    probabilities
                } else {
                    let scores = self.sizes.own_tokens(&[factor("E", moe.num_experts)]);
                    tape.tensor("router probabilities in fp32", scores, 4)
                });
                let what = "probabilities that the dispatcher hands to experts, in fp32";
                kept.push(tape.tensor(what, Shape::of(&[self.rows.routed]), 4));
            }
            // `local_map`, `local_probs` and `reversed_local_input_permutation_mapping` of `MoEAllGatherTokenDispatcher`.
            TokenDispatcher::AllGather => {
                kept.extend(&self.tables);
                tape.at(Family::Experts, Source::GatheredTokens);
                let map = rows(self.rows.all, local_experts(self.sizes, moe));
                kept.push(tape.tensor("map of all tokens to local experts", map, 1));
                let what = "probabilities of tokens for local experts";
                let chosen = Shape::of(&[self.rows.routed]);
                kept.push(tape.tensor(what, chosen, probability_width(self.sizes)));
            }
            TokenDispatcher::Flex => {}
        }
        kept
    }

    /// Whether the dispatcher refers to the router's probabilities after the passes, and so to the graph that made them, as
    /// all dispatchers do.
    pub(crate) fn holds_graph(&self) -> bool {
        !self.sizes.m.args.frozen
    }

    /// The first operation that runs with the experts' products, after the tokens' exchange.
    pub(crate) fn postprocess(&self) -> usize {
        self.postprocess
    }

    /// The tokens as the experts get them, and how many.
    pub(crate) fn arrived(&self) -> (TensorId, Rows) {
        (self.current, self.rows)
    }

    /// Brings the experts' results back and adds up those of each token.
    pub(crate) fn combine(mut self, tape: &mut AutogradTape, results: TensorId) -> TensorId {
        let (m, width) = (self.sizes.m, self.sizes.width());
        self.current = results;
        tape.at(Family::Experts, Source::Combine);
        if self.sorted {
            let what = "expert outputs in the order of ranks";
            self.step(tape, "unsort_chunks_by_idxs", Work::MemoryBound, what, self.rows.routed);
        }
        if self.gathered {
            let what = "expert outputs summed over expert-tensor-parallel ranks";
            self.step(tape, "reduce_scatter", Work::Exchange, what, self.rows.received);
        }
        if self.exchanged {
            self.step(
                tape,
                "all_to_all back",
                Work::Exchange,
                "expert outputs sent back",
                self.rows.sent,
            );
            tape.holds(&self.held);
            self.held.clear();
        }
        let allgather = m.args.moe_token_dispatcher_type == TokenDispatcher::AllGather;
        if allgather && (m.ep > 1 || m.etp > 1) {
            let all = rows(self.rows.all, self.inner);
            let twice = tape.tensor("expert outputs while they are added up", all, width);
            self.step(
                tape,
                "unpermute_all",
                Work::MemoryBound,
                "expert outputs for all tokens",
                self.rows.all,
            );
            tape.forward(&[twice]);
            if m.args.moe_router_dtype == Some(RouterDtype::Fp32) {
                let fp32 = tape.tensor("expert outputs for all tokens in fp32", all, 4);
                tape.op("to_fp32", Work::MemoryBound, &[self.current], &[fp32]);
                self.current = fp32;
            }
        }
        let shape = self.sizes.own_tokens(&[self.inner]);
        let output = tape.tensor("routed experts: combined output", shape, width);
        self.held.retain(|id| *id != self.current);
        tape.op("unpermute", Work::MemoryBound, &[self.current], &[output])
            .holds(&self.held);
        output
    }

    fn step(&mut self, tape: &mut AutogradTape, name: &'static str, work: Work, what: &'static str, count: Factor) {
        let next = tape.tensor(what, rows(count, self.inner), self.sizes.width());
        tape.op(name, work, &[self.current], &[next]);
        self.current = next;
    }
}
