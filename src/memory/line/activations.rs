//! Every tensor alive at the heaviest moment, as lines below their buckets.

mod chunk;
mod terms;

use super::formula::{Formula, Kind};
use super::{Confidence, Line};
use crate::config::choices::CudaGraphImpl;
use crate::memory::blocks::{CompiledTapes, deferred_input, deferred_logits};
use crate::memory::bucket::Bucket;
use crate::memory::chunk_profile::ChunkProfile;
use crate::memory::peak::{StageReplay, Stages};
use crate::memory::states::step_copies;
use crate::memory::{StageEstimate, peak};
use crate::model::tape::block;
use crate::model::tape::liveness::TRANSIENT;
use crate::model::tensor::{Shape, factor};
use crate::parallel::groups::View;
use crate::parallel::schedule::Moment;
use crate::source::Source;
use crate::units::{Bytes, multiply};
use chunk::ItemisedChunk;
use terms::{Term, Terms};

/// The lines of all activation buckets of a stage.
pub(super) fn lines(stages: &Stages<'_>, pp_rank: u32, held: &StageEstimate) -> Vec<Line> {
    let graph_phase = held.moment.graph_phase;
    let replay = stages.replay(pp_rank, graph_phase);
    let sizes = stages.tapes.sizes();
    let mut terms = Terms {
        all: Vec::new(),
        stream: (sizes.streams(), sizes.stream_width()),
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
        let copies = stages.optimizer_copies(&stages.rules.count(&held.parameters()));
        let beside = stages.beside(pp_rank, graph_phase, &copies);
        let local = stages.m.args.cuda_graph_impl == CudaGraphImpl::Local;
        let what = if local {
            "last inputs of the passes before the capture, and their gradients"
        } else {
            "last inputs and fp32 gradients of the iteration before the capture"
        };
        terms.plain(what, TRANSIENT, beside.0, 1, Source::CudaGraphs);
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

/// The copies that are alive in the optimizer step besides states and buffers.
fn optimizer_step(stages: &Stages<'_>, replay: &StageReplay<'_>, held: &StageEstimate, terms: &mut Terms) {
    let what = "last input of each chunk and its gradient";
    terms.plain(what, TRANSIENT, replay.totals.idle().0, 1, Source::InputTensor);
    for block in replay.chunks.iter().flat_map(|chunk| &chunk.blocks) {
        for tensor in &block.compiled.lasting.attributes {
            terms.tensor("token dispatcher", tensor, TRANSIENT, false, 1);
        }
    }
    let ends = replay.chunks.iter().map(ChunkProfile::held_by_graphs);
    let what = "where the graphs of routers' probabilities begin: inputs and their gradients";
    terms.plain(what, TRANSIENT, ends.fold(0, u64::saturating_add), 1, Source::GraphEnds);
    let held = stages.rules.count(&held.parameters());
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
            Source::Schedules,
        ),
        _ => (
            "Kept from the forward to the backward pass of every live micro batch",
            Source::Recompute,
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
    let view = |index: usize| -> Option<ItemisedChunk<'_>> {
        Some(ItemisedChunk {
            tapes,
            chunk: chunks.get(index)?,
            passes: replay.chunks.get(index)?,
        })
    };
    let both = replay.both(moment);
    let at_work = if both.is_some() { None } else { replay.pass(moment) };
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
        if let Some(view) = view(other as usize) {
            if pair.kept > 0 {
                view.kept(pair.kept, 1, terms);
            }
            if pair.forward && pair.kept < view.passes.blocks.len() {
                view.output(1, terms);
            }
        }
        terms.plain(
            "tensor on its way to the next layer",
            TRANSIENT,
            pair.passing,
            1,
            Source::Schedules,
        );
        let what = "inputs and output gradients that wait for weight gradients";
        terms.plain(what, TRANSIENT, pair.delayed, 1, Source::DelayedWgrad);
    }
    if replay.chunks.iter().any(|passes| passes.deferred > 0) {
        let deferred = u64::try_from(moment.deferred).unwrap_or(u64::MAX);
        let [logits, input] = [deferred_logits, deferred_input].map(|of| of(stages.tapes.sizes()));
        let bytes = |(shape, width): (Shape, u64)| block(multiply(shape.elements(), width));
        let times = deferred / bytes(logits).saturating_add(bytes(input)).max(1);
        let what = "logits' gradients that wait for the output layer's weight gradient";
        terms.shaped(what, TRANSIENT, logits, times, Source::DeferredWgrad);
        let what = "inputs that wait with them";
        terms.shaped(what, TRANSIENT, input, times, Source::DeferredWgrad);
    }
    let left = u64::try_from(moment.left).unwrap_or(u64::MAX);
    terms.plain(
        "inputs, outputs and gradients that variables of earlier passes hold",
        TRANSIENT,
        left,
        1,
        Source::Schedules,
    );
}
