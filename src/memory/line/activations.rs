//! Every tensor alive at the heaviest moment, as lines below their buckets.

mod terms;

use core::ops::Range;

use super::formula::{Formula, Kind};
use super::{Confidence, Line};
use crate::config::choices::CudaGraphImpl;
use crate::memory::blocks::{BlockKind, CompiledTapes, attention_mask, deferred_logits};
use crate::memory::bucket::Bucket;
use crate::memory::chunk_profile::{BEFORE_CAPTURE, ChunkPeak, ChunkProfile, Pass};
use crate::memory::peak::{StageReplay, Stages};
use crate::memory::states::step_copies;
use crate::memory::{StageEstimate, peak};
use crate::model::tape::liveness::{CompiledTape, LARGE, TRANSIENT, kept_tensors};
use crate::model::tape::{Family, block};
use crate::model::tensor::{Shape, factor};
use crate::parallel::groups::View;
use crate::parallel::schedule::Moment;
use crate::parallel::stages::Chunk;
use crate::source::{
    ATTENTION_MASK, BRIDGE_COMMUNICATOR, CUDA_GRAPHS, DEFERRED_WGRAD, DELAYED_WGRAD, FSDP_GATHER,
    FSDP_REDUCE, GRAPH_BUFFERS, GRAPH_WARMUP, INPUT_TENSOR, RECOMPUTE, SCHEDULES, Source,
    TORCH_FSDP2_GATHER, TORCH_FSDP2_REDUCE,
};
use crate::units::{Bytes, multiply};
use terms::{Term, Terms};

/// The lines of all activation buckets of a stage.
pub(super) fn lines(stages: &Stages<'_>, pp_rank: u32, held: &StageEstimate) -> Vec<Line> {
    let graph_phase = held.moment.graph_phase;
    let replay = stages.replay(pp_rank, graph_phase);
    let sizes = stages.tapes.sizes();
    let mut terms = Terms {
        all: Vec::new(),
        stream: (sizes.residual(), sizes.width()),
    };
    if matches!(
        held.moment.pass,
        peak::PassName::OptimizerStep | peak::PassName::BetweenIterations
    ) {
        optimizer_step(stages, &replay, held, &mut terms);
    } else {
        let moment = replay.peak();
        let place = (pp_rank, stages.tapes(graph_phase));
        at_moment(stages, place, &replay, &moment, &mut terms);
        let copies = stages.optimizer_copies(&stages.rules.held(&held.parameters()));
        let beside = stages.beside(pp_rank, graph_phase, &copies);
        let local = stages.m.args.cuda_graph_impl == CudaGraphImpl::Local;
        let what = if local {
            "last inputs of the passes before the capture, and their gradients"
        } else {
            "last inputs and fp32 gradients of the iteration before the capture"
        };
        terms.plain(what, TRANSIENT, beside.0, 1, CUDA_GRAPHS);
    }
    Bucket::ALL
        .into_iter()
        .filter_map(|bucket| {
            let usage = bucket.usage()?;
            let children: Vec<Line> = terms
                .all
                .iter()
                .filter(|term| term.usage == usage)
                .map(|term| line(bucket, term))
                .collect();
            (!children.is_empty()).then(|| super::parent(bucket, describe(bucket), children))
        })
        .collect()
}

/// What is alive in the optimizer step besides what stays.
fn optimizer_step(
    stages: &Stages<'_>,
    replay: &StageReplay<'_>,
    held: &StageEstimate,
    terms: &mut Terms,
) {
    let what = "last input of each chunk and its gradient";
    terms.plain(what, TRANSIENT, replay.totals.idle().0, 1, INPUT_TENSOR);
    for block in replay.chunks.iter().flat_map(|chunk| &chunk.blocks) {
        for tensor in block.compiled.attributes() {
            terms.tensor("token dispatcher", tensor, TRANSIENT, false, 1);
        }
    }
    let held = stages.rules.held(&held.parameters());
    for copy in step_copies(stages.m) {
        for (view, part, symbol) in [
            (View::Dense, "dense parameters", "(DP·CP)"),
            (View::Expert, "routed experts", "EDP"),
        ] {
            let (rule, count) = stages.rules.copied(&copy, &held, view);
            let Bytes(all) = rule.bytes_of(count);
            let shape = Shape::of(&[factor("parameters", count.elements)]);
            terms.push(Term {
                part: part.into(),
                what: copy.what,
                gradient: false,
                usage: TRANSIENT,
                each: all,
                times: 1,
                formula: Some((shape.over(factor(symbol, rule.shard)), rule.bytes)),
                source: copy.source,
            });
        }
    }
}

fn describe(bucket: Bucket) -> (&'static str, Source) {
    match bucket {
        Bucket::Transients => (
            "Gradients, temporaries and recomputed tensors that only the heaviest moment needs",
            SCHEDULES,
        ),
        _ => (
            "Kept from the forward to the backward pass of every live micro batch",
            RECOMPUTE,
        ),
    }
}

fn line(bucket: Bucket, term: &Term) -> Line {
    let of = if term.gradient { "gradient of " } else { "" };
    let colon = if term.part.is_empty() { "" } else { ": " };
    let label = [&*term.part, colon, of, term.what].concat();
    Line {
        id: [bucket.id(), "/", &super::id(&label)].concat(),
        bytes: Bytes(multiply(term.each, term.times)),
        what: match term.times {
            1 => [of, term.what].concat(),
            times => format!("{of}{}, {times} at the heaviest moment", term.what),
        },
        label,
        formula: Some(match &term.formula {
            Some((shape, width)) => super::product(shape, *width, term.times, term.each),
            None => Formula(Kind::Sum {
                each: term.each,
                times: term.times,
            }),
        }),
        source: term.source,
        confidence: Confidence::Modelled,
        children: Vec::new(),
    }
}

fn at_moment(
    stages: &Stages<'_>,
    (pp_rank, tapes): (u32, &CompiledTapes<'_>),
    replay: &StageReplay<'_>,
    moment: &Moment,
    terms: &mut Terms,
) {
    let chunks = stages.m.stages.rank(pp_rank);
    let view = |index: usize| -> Option<Itemised<'_>> {
        Some(Itemised {
            tapes,
            chunk: chunks.get(index)?,
            passes: replay.chunks.get(index)?,
        })
    };
    let both = replay.both(moment);
    let at_work = if both.is_some() {
        None
    } else {
        replay.pass(moment)
    };
    for (index, live) in moment.live.iter().enumerate() {
        let Some(view) = view(index) else { continue };
        let working = at_work.as_ref().is_some_and(|(chunk, ..)| *chunk == index);
        let down = both.is_some_and(|(_, down, _)| down as usize == index);
        let others = u64::from(*live).saturating_sub(u64::from(working || down));
        view.kept(view.passes.blocks.len(), others, terms);
        if let Some((_, peak, _)) = at_work.filter(|_| working) {
            view.peak(peak, replay.retained, terms);
        }
    }
    if let Some((up, down, pair)) = both {
        let (at_work, other) = if pair.forward { (up, down) } else { (down, up) };
        if let Some(view) = view(at_work as usize) {
            view.peak(&pair.peak, false, terms);
        }
        if let Some(view) = view(other as usize).filter(|_| pair.kept > 0) {
            view.kept(pair.kept, 1, terms);
        }
        terms.plain(
            "tensor on its way to the next layer",
            TRANSIENT,
            pair.passing,
            1,
            SCHEDULES,
        );
        let what = "inputs and output gradients that wait for weight gradients";
        terms.plain(what, TRANSIENT, pair.delayed, 1, DELAYED_WGRAD);
    }
    let waiting = replay.chunks.iter().find(|passes| passes.deferred > 0);
    if let Some(passes) = waiting {
        let deferred = u64::try_from(moment.deferred).unwrap_or(u64::MAX);
        let sizes = stages.tapes.sizes();
        let (shape, width) = deferred_logits(sizes);
        let one = block(multiply(shape.elements(), width)).saturating_add(passes.residual);
        let times = deferred / one.max(1);
        let what = "logits' gradients that wait for the output layer's weight gradient";
        terms.shaped(what, TRANSIENT, (shape, width), times, DEFERRED_WGRAD);
        let what = "inputs that wait with them";
        let input = (sizes.residual(), sizes.width());
        terms.shaped(what, TRANSIENT, input, times, DEFERRED_WGRAD);
    }
    let left = u64::try_from(moment.left).unwrap_or(u64::MAX);
    terms.plain(
        "inputs and gradients that variables of earlier passes hold",
        TRANSIENT,
        left,
        1,
        SCHEDULES,
    );
}

/// One chunk, itemised the way [`ChunkProfile`] adds it up.
struct Itemised<'a> {
    tapes: &'a CompiledTapes<'a>,
    chunk: &'a Chunk,
    passes: &'a ChunkProfile<'a>,
}

/// What tells blocks apart that keep different tensors.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Keeping {
    kind: BlockKind,
    /// Tensors of so many elements or more are on the host.
    below: u64,
    /// Bytes of its input that lie in a graph's pool.
    pooled: u64,
}

/// One more of a kind; kinds stay in the order in which they come.
fn count<K: PartialEq>(kinds: &mut Vec<(K, u64)>, kind: K) {
    match kinds.iter_mut().find(|(other, _)| *other == kind) {
        Some((_, times)) => *times += 1,
        None => kinds.push((kind, 1)),
    }
}

const RESIDUAL: usize = Family::Residual as usize;

impl Itemised<'_> {
    /// What the first blocks keep for so many micro batches.
    fn kept(&self, blocks: usize, times: u64, terms: &mut Terms) {
        let p = self.passes;
        self.mask(Family::Attention as usize, p.kept_mask, times, terms);
        let (what, source) = if self.chunk.embedding {
            ("outputs of the encoders", BRIDGE_COMMUNICATOR)
        } else {
            ("received input", SCHEDULES)
        };
        terms.plain(what, RESIDUAL, p.received_kept, times, source);
        let what = "static inputs and outputs of CUDA graphs";
        terms.plain(
            what,
            RESIDUAL,
            p.captured_before(blocks),
            times,
            GRAPH_BUFFERS,
        );
        // All blocks of a kind keep the same, so each kind is looked through once.
        let on_host = p.on_host(blocks);
        let blocks = p.blocks.get(..blocks).unwrap_or(&p.blocks);
        let mut kinds = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            let below = if on_host.contains(&index) {
                LARGE
            } else {
                u64::MAX
            };
            match block.group {
                None => {
                    let keeping = Keeping {
                        kind: block.kind,
                        below,
                        pooled: block.pooled_kept(),
                    };
                    count(&mut kinds, Some(keeping));
                }
                Some((first, _)) if first == index => count(&mut kinds, None),
                Some(_) => {}
            }
        }
        for (keeping, blocks) in kinds {
            let times = multiply(times, blocks);
            match keeping {
                Some(keeping) => self.block(keeping, times, terms),
                None => self.group_input(times, terms),
            }
        }
    }

    /// What one block keeps.
    fn block(&self, keeping: Keeping, times: u64, terms: &mut Terms) {
        let Keeping {
            kind,
            below,
            pooled,
        } = keeping;
        let Some(CompiledTape { tape, plan, .. }) = self.tapes.tape(kind, self.chunk) else {
            return;
        };
        let mut kept = kept_tensors(plan);
        kept.retain(|id| pooled == 0 || tape.input != Some(*id));
        let tensors = kept.into_iter().filter_map(|id| tape.get(id));
        for tensor in tensors.filter(|tensor| tensor.shape.elements() < below) {
            terms.tensor(
                kind.to_string(),
                tensor,
                tensor.family as usize,
                false,
                times,
            );
        }
    }

    fn group_input(&self, times: u64, terms: &mut Terms) {
        let what = "input of recomputed layers";
        let (mut shape, width) = terms.stream;
        if self.passes.distributed {
            shape = shape.over(factor("TP", self.tapes.sizes().m.tp));
        }
        terms.shaped(what, RESIDUAL, (shape, width), times, RECOMPUTE);
    }

    fn mask(&self, usage: usize, bytes: u64, times: u64, terms: &mut Terms) {
        let m = self.tapes.sizes().m;
        let shape = attention_mask(m);
        let times = if bytes > 0 { times } else { 0 };
        terms.shaped("attention mask", usage, (shape, 1), times, ATTENTION_MASK);
    }

    /// What so many recomputed blocks keep for a while, and so many of their inputs.
    fn recomputed(&self, kind: BlockKind, [times, inputs]: [u64; 2], terms: &mut Terms) {
        let Some(CompiledTape { tape, plan, .. }) = self.tapes.tape(kind, self.chunk) else {
            return;
        };
        for id in kept_tensors(plan) {
            let Some(tensor) = tape.get(id) else { continue };
            let times = if tape.input == Some(id) {
                inputs
            } else {
                times
            };
            terms.tensor(kind.to_string(), tensor, TRANSIENT, false, times);
        }
    }

    /// Offloaded tensors that wait for the next backward pass.
    fn prefetched(&self, terms: &mut Terms) {
        let compiled = self
            .passes
            .prefetched
            .and_then(|kind| self.tapes.tape(kind, self.chunk));
        let Some(CompiledTape { tape, plan, .. }) = compiled else {
            return;
        };
        for moved in &plan.moved {
            let Some(tensor) = tape.get(moved.tensor) else {
                continue;
            };
            let part = if moved.stashed {
                "back from the stash"
            } else {
                "back from the host"
            };
            terms.tensor(part, tensor, TRANSIENT, false, 1);
        }
    }

    fn peak(&self, peak: &ChunkPeak, retained: bool, terms: &mut Terms) {
        let p = self.passes;
        let Some(block) = p.blocks.get(peak.block) else {
            return;
        };
        let (parameters, gradients) = p.fsdp_in_flight(peak.block, peak.pass);
        let (gather, reduce) = if self.tapes.sizes().m.args.use_torch_fsdp2 {
            (TORCH_FSDP2_GATHER, TORCH_FSDP2_REDUCE)
        } else {
            (FSDP_GATHER, FSDP_REDUCE)
        };
        for (what, bytes, source) in [
            ("parameters gathered for layers", parameters, gather),
            ("gradients before their reduction", gradients, reduce),
        ] {
            let shape = Shape::of(&[factor("bytes of buckets", bytes)]);
            terms.push(Term {
                part: "".into(),
                what,
                gradient: false,
                usage: TRANSIENT,
                each: bytes,
                times: 1,
                formula: Some((shape, 1)),
                source,
            });
        }
        let last = p.blocks.len().saturating_sub(1);
        let forward = peak.pass == Pass::Forward;
        if block.group.is_none() && (forward || p.prefetched_beside(block) > 0) {
            self.prefetched(terms);
        }
        self.captured(peak, terms);
        if peak.pass == Pass::Forward {
            self.mask(TRANSIENT, p.passing_mask, 1, terms);
            self.kept(peak.block, 1, terms);
            match block.group {
                None => self.alive(peak, retained, false, false, terms),
                Some((first, _)) if first == peak.block => {
                    if p.distributed {
                        self.group_input(1, terms);
                    }
                    self.alive(peak, retained, false, false, terms);
                }
                Some(_) => self.alive(peak, retained, true, false, terms),
            }
            return;
        }
        let Some((first, end)) = block.group else {
            self.kept(peak.block, 1, terms);
            self.alive(peak, retained, false, false, terms);
            if retained && peak.block != last {
                terms.plain("received gradient", TRANSIENT, p.sent, 1, SCHEDULES);
            }
            return;
        };
        self.kept(first, 1, terms);
        self.group_input(1, terms);
        if retained && end <= last {
            terms.plain("received gradient", TRANSIENT, p.sent, 1, SCHEDULES);
        }
        self.group_before(first..peak.block, terms);
        self.alive(
            peak,
            retained,
            true,
            peak.block == first && !p.distributed,
            terms,
        );
        let outer = match peak.pass {
            Pass::GroupAgain => 0,
            _ => 1,
        };
        if outer == 0 || peak.block + 1 < end {
            terms.plain(
                "gradient that recompute was called with",
                TRANSIENT,
                p.residual,
                1,
                RECOMPUTE,
            );
        }
        terms.plain("recomputed output", TRANSIENT, p.residual, outer, RECOMPUTE);
    }

    /// What the capture of the local CUDA graph at work holds beside its tape.
    fn captured(&self, peak: &ChunkPeak, terms: &mut Terms) {
        let capture = self.passes.capture(peak.block);
        if peak.pass != Pass::Forward {
            let what = "static outputs while their backward graph is captured";
            terms.plain(what, TRANSIENT, capture.backward, 1, GRAPH_BUFFERS);
            return;
        }
        let what = "main gradients of the layer, copied";
        terms.plain(what, TRANSIENT, capture.gradients, 1, GRAPH_WARMUP);
        if peak.peak.op == BEFORE_CAPTURE.op {
            let what = "passes of the layer before its capture";
            terms.plain(what, TRANSIENT, capture.warmup, 1, GRAPH_WARMUP);
            let what = "static input of its graph";
            terms.plain(what, TRANSIENT, capture.input, 1, GRAPH_BUFFERS);
        } else {
            let what = "inputs and outputs of the passes before the capture";
            terms.plain(what, TRANSIENT, capture.variables, 1, GRAPH_WARMUP);
        }
    }

    /// What the recomputed layers below the one at work keep.
    fn group_before(&self, layers: Range<usize>, terms: &mut Terms) {
        let layers = self.passes.blocks.get(layers).unwrap_or_default();
        let Some((first, rest)) = layers.split_first() else {
            return;
        };
        let inputs = u64::from(self.passes.distributed);
        self.recomputed(first.kind, [1, inputs], terms);
        let mut kinds = Vec::new();
        for layer in rest {
            count(&mut kinds, layer.kind);
        }
        for (kind, layers) in kinds {
            self.recomputed(kind, [layers, layers], terms);
        }
    }

    fn alive(
        &self,
        peak: &ChunkPeak,
        retained: bool,
        transient: bool,
        without_input: bool,
        terms: &mut Terms,
    ) {
        let Some(block) = self.passes.blocks.get(peak.block) else {
            return;
        };
        let tape = &block.compiled.tape;
        let input = tape.input.and_then(|id| tape.get(id));
        let pass = self.passes.pass_kind(peak, retained);
        for alive in block.compiled.alive_at(pass, peak.peak.moment) {
            let without_input = without_input || block.pooled > 0;
            if without_input && !alive.gradient && input == Some(&alive.tensor) {
                continue;
            }
            let usage = if transient { TRANSIENT } else { alive.usage };
            terms.tensor(
                block.kind.to_string(),
                &alive.tensor,
                usage,
                alive.gradient,
                1,
            );
        }
    }
}
