//! Every tensor alive at the heaviest moment, as lines below their buckets.

use core::ops::Range;

use super::{Confidence, Formula, Line};
use crate::memory::bucket::Bucket;
use crate::memory::passes::{ChunkHigh, ChunkPasses, Reel, SegmentKind, Tapes, Turn};
use crate::memory::peak::{Leftover, Replay, Stages};
use crate::memory::{StageEstimate, peak};
use crate::model::tape::replay::{TRANSIENT, alive_at, kept_tensors};
use crate::model::tape::{ActivationTensor, Family};
use crate::parallel::schedule::Moment;
use crate::parallel::stages::Chunk;
use crate::source::{ATTENTION_MASK, BRIDGE_COMMUNICATOR, RECOMPUTE, SCHEDULES, Source};
use crate::units::Bytes;

/// A tensor that is alive some number of times.
struct Term {
    part: &'static str,
    what: &'static str,
    gradient: bool,
    usage: usize,
    /// Bytes of one, as the allocator hands them out.
    each: u64,
    times: u64,
    formula: Option<ActivationTensor>,
    source: Source,
}

/// Collects terms, equal ones together.
#[derive(Default)]
struct Terms(Vec<Term>);

impl Terms {
    fn push(&mut self, term: Term) {
        if term.each == 0 || term.times == 0 {
            return;
        }
        let same = self.0.iter_mut().find(|other| {
            (
                other.part,
                other.what,
                other.gradient,
                other.usage,
                other.each,
            ) == (term.part, term.what, term.gradient, term.usage, term.each)
        });
        match same {
            Some(other) => other.times += term.times,
            None => self.0.push(term),
        }
    }

    fn tensor(
        &mut self,
        part: &'static str,
        tensor: &ActivationTensor,
        usage: usize,
        gradient: bool,
        times: u64,
    ) {
        self.push(Term {
            part,
            what: tensor.what,
            gradient,
            usage,
            each: tensor.allocated(),
            times,
            formula: Some(*tensor),
            source: tensor.source,
        });
    }

    fn plain(&mut self, what: &'static str, usage: usize, each: u64, times: u64, source: Source) {
        self.push(Term {
            part: "",
            what,
            gradient: false,
            usage,
            each,
            times,
            formula: None,
            source,
        });
    }
}

/// The lines of all activation buckets of a stage.
pub(super) fn lines(stages: &Stages<'_>, pp_rank: u32, held: &StageEstimate) -> Vec<Line> {
    let replay = stages.replay(pp_rank);
    let mut terms = Terms::default();
    if held.moment.pass == peak::PassName::OptimizerStep {
        for Leftover {
            what,
            bytes,
            source,
        } in stages.optimizer_step(&replay, &stages.rules.held(&held.parameters()))
        {
            terms.plain(what, TRANSIENT, bytes, 1, source);
        }
    } else {
        let moment = replay.peak();
        at_moment(stages, pp_rank, &replay, &moment, &mut terms);
    }
    Bucket::ALL
        .into_iter()
        .filter_map(|bucket| {
            let usage = bucket.usage()?;
            let children: Vec<Line> = terms
                .0
                .iter()
                .filter(|term| term.usage == usage)
                .map(|term| line(bucket, term))
                .collect();
            (!children.is_empty()).then(|| super::parent(bucket, describe(bucket), children))
        })
        .collect()
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
    let part = if term.part.is_empty() {
        String::new()
    } else {
        format!("{}: ", term.part)
    };
    let label = format!("{part}{of}{}", term.what);
    let id: String = label
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '_' })
        .collect();
    let formula = match &term.formula {
        Some(tensor) => formula(tensor, term.times),
        None => super::sum(term.each, term.times),
    };
    Line {
        id: format!("{}/{id}", bucket.id()),
        bytes: Bytes(term.each.saturating_mul(term.times)),
        what: match term.times {
            1 => format!("{of}{}", term.what),
            times => format!("{of}{}, {times} at the heaviest moment", term.what),
        },
        label,
        formula: Some(formula),
        source: term.source,
        confidence: Confidence::Modelled,
        children: Vec::new(),
    }
}

fn formula(tensor: &ActivationTensor, times: u64) -> Formula {
    let shape = &tensor.shape;
    let mut legend: Vec<_> = shape
        .factors()
        .chain(shape.divisors())
        .map(|f| (f.symbol, f.value))
        .collect();
    let (mut symbols, mut values) = (shape.to_string(), shape.substituted());
    if times > 1 {
        symbols = format!("alive · {symbols}");
        values = format!("{times} · {values}");
        legend.insert(0, ("alive", times));
    }
    let rounded = if tensor.bytes() == tensor.allocated() {
        ""
    } else {
        ", in blocks of 512 B"
    };
    Formula {
        symbols: format!("{symbols} · {} B{rounded}", tensor.width),
        values: format!("{values} · {} B{rounded}", tensor.width),
        legend,
    }
}

fn at_moment(
    stages: &Stages<'_>,
    pp_rank: u32,
    replay: &Replay,
    moment: &Moment,
    terms: &mut Terms,
) {
    let chunks = stages.m.stages.rank(pp_rank);
    let view = |index: usize| -> Option<View<'_>> {
        Some(View {
            tapes: &stages.tapes,
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
        view.kept(view.passes.segments.len(), others, terms);
        if let Some((_, high, _)) = at_work.filter(|_| working) {
            view.high(high, replay.held, terms);
        }
    }
    if let Some((up, down, pair)) = both {
        let (at_work, other) = if pair.forward { (up, down) } else { (down, up) };
        if let Some(view) = view(at_work as usize) {
            view.high(&pair.high, false, terms);
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

/// One chunk, itemised the way [`ChunkPasses`] adds it up.
struct View<'a> {
    tapes: &'a Tapes<'a>,
    chunk: &'a Chunk,
    passes: &'a ChunkPasses,
}

const RESIDUAL: usize = Family::Residual as usize;

impl View<'_> {
    /// What the first segments keep for so many micro batches.
    fn kept(&self, segments: usize, times: u64, terms: &mut Terms) {
        let p = self.passes;
        terms.plain(
            "attention mask",
            Family::Attention as usize,
            p.kept_mask,
            times,
            ATTENTION_MASK,
        );
        let (what, source) = if self.chunk.embedding {
            ("outputs of the encoders", BRIDGE_COMMUNICATOR)
        } else {
            ("received input", SCHEDULES)
        };
        terms.plain(what, RESIDUAL, p.received_kept, times, source);
        for (index, segment) in p.segments.iter().enumerate().take(segments) {
            match segment.group {
                None => self.segment(segment.kind, None, times, terms),
                Some((first, _)) if first == index => self.group_input(times, terms),
                Some(_) => {}
            }
        }
    }

    fn group_input(&self, times: u64, terms: &mut Terms) {
        terms.plain(
            "input of recomputed layers",
            RESIDUAL,
            self.passes.input_kept,
            times,
            RECOMPUTE,
        );
    }

    /// What one segment keeps; as a transient when it is recomputed, then without its input where that is counted already.
    fn segment(&self, kind: SegmentKind, recomputed: Option<bool>, times: u64, terms: &mut Terms) {
        let Some(Reel { tape, plan, .. }) = self.tapes.tape(kind, self.chunk) else {
            return;
        };
        for id in kept_tensors(plan) {
            let Some(tensor) = tape.get(id) else { continue };
            if recomputed == Some(true) && tape.input == Some(id) {
                continue;
            }
            let usage = if recomputed.is_some() {
                TRANSIENT
            } else {
                tensor.family as usize
            };
            terms.tensor(kind.label(), tensor, usage, false, times);
        }
    }

    fn high(&self, high: &ChunkHigh, held: bool, terms: &mut Terms) {
        let p = self.passes;
        let Some(segment) = p.segments.get(high.segment) else {
            return;
        };
        let last = p.segments.len().saturating_sub(1);
        if high.turn == Turn::Forward {
            terms.plain(
                "attention mask",
                TRANSIENT,
                p.passing_mask,
                1,
                ATTENTION_MASK,
            );
            self.kept(high.segment, 1, terms);
            match segment.group {
                None => self.alive(high, held, false, false, terms),
                Some((first, _)) if first == high.segment => {
                    if p.distributed {
                        self.group_input(1, terms);
                    }
                    self.alive(high, held, false, false, terms);
                }
                Some(_) => self.alive(high, held, true, false, terms),
            }
            return;
        }
        let Some((first, end)) = segment.group else {
            self.kept(high.segment, 1, terms);
            self.alive(high, held, false, false, terms);
            if held && high.segment != last {
                terms.plain("received gradient", TRANSIENT, p.sent, 1, SCHEDULES);
            }
            return;
        };
        self.kept(first, 1, terms);
        self.group_input(1, terms);
        if held && end <= last {
            terms.plain("received gradient", TRANSIENT, p.sent, 1, SCHEDULES);
        }
        self.group_before(first..high.segment, terms);
        self.alive(
            high,
            held,
            true,
            high.segment == first && !p.distributed,
            terms,
        );
        let outer = match high.turn {
            Turn::GroupAgain => 0,
            _ => 1,
        };
        if outer == 0 || high.segment + 1 < end {
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

    /// What the recomputed layers below the one at work keep.
    fn group_before(&self, layers: Range<usize>, terms: &mut Terms) {
        let first = layers.start;
        for index in layers {
            if let Some(segment) = self.passes.segments.get(index) {
                self.segment(
                    segment.kind,
                    Some(index == first && !self.passes.distributed),
                    1,
                    terms,
                );
            }
        }
    }

    fn alive(
        &self,
        high: &ChunkHigh,
        held: bool,
        transient: bool,
        without_input: bool,
        terms: &mut Terms,
    ) {
        let Some(segment) = self.passes.segments.get(high.segment) else {
            return;
        };
        let Some(Reel { tape, plan, .. }) = self.tapes.tape(segment.kind, self.chunk) else {
            return;
        };
        let input = tape.input.and_then(|id| tape.get(id));
        for alive in alive_at(
            tape,
            plan,
            self.passes.pass_kind(high, held),
            high.high.moment,
        ) {
            if without_input && !alive.gradient && input == Some(&alive.tensor) {
                continue;
            }
            let usage = if transient { TRANSIENT } else { alive.usage };
            terms.tensor(
                segment.kind.label(),
                &alive.tensor,
                usage,
                alive.gradient,
                1,
            );
        }
    }
}
