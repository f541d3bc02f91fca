//! An iteration of one pipeline stage, step by step: the bytes that are alive at a moment, and what is at work then.

use core::cell::RefCell;

use super::{PassName, PeakMoment};
use crate::memory::chunk_profile::{ChunkPeak, ChunkProfile, Pass};
use crate::memory::ep_overlap::{OverlapPeak, overlap};
use crate::memory::graph_phase::GraphPhase;
use crate::memory::stage_totals::StageTotals;
use crate::model::tape::liveness::Usage;
use crate::parallel::schedule::Moment;

/// The schedule of one stage with the profiles of its chunks, from which the memory at any moment follows.
pub(crate) struct StageReplay<'t> {
    pub(crate) totals: StageTotals,
    pub(crate) chunks: Vec<ChunkProfile<'t>>,
    pub(crate) retained: bool,
    /// A cache of the peaks of pairs of chunks whose passes run at once.
    pub(super) overlaps: RefCell<Vec<((u32, u32), OverlapPeak)>>,
}

impl StageReplay<'_> {
    /// The heaviest moment.
    pub(crate) fn peak(&self) -> Moment {
        let overlap = |forward, backward| self.overlap(forward, backward).total;
        self.totals.peak(&overlap)
    }

    /// Heaviest moments of equal shares of the steps.
    pub(crate) fn timeline(&self, points: u32) -> Vec<Moment> {
        let overlap = |forward, backward| self.overlap(forward, backward).total;
        self.totals.timeline(&overlap, points)
    }

    /// A forward pass of one chunk and a backward pass of another at once.
    pub(crate) fn overlap(&self, forward: u32, backward: u32) -> OverlapPeak {
        let known = self
            .overlaps
            .borrow()
            .iter()
            .find(|(of, _)| *of == (forward, backward))
            .map(|(_, known)| *known);
        known.unwrap_or_else(|| {
            let chunk = |index: u32| self.chunks.get(index as usize);
            let peak = chunk(forward)
                .zip(chunk(backward))
                .map(|(forward, backward)| overlap(forward, backward))
                .unwrap_or_default();
            self.overlaps.borrow_mut().push(((forward, backward), peak));
            peak
        })
    }

    /// Of a step with both passes: the two chunks and their heaviest moment.
    pub(crate) fn both(&self, moment: &Moment) -> Option<(u32, u32, OverlapPeak)> {
        let step = self.totals.schedule.step(moment.step)?;
        let (forward, backward) = (step.forward?.chunk, step.backward?.chunk);
        Some((forward, backward, self.overlap(forward, backward)))
    }

    /// The pass at work at a moment and its chunk.
    pub(crate) fn pass(&self, moment: &Moment) -> Option<(usize, &ChunkPeak, bool)> {
        let step = self.totals.schedule.step(moment.step)?;
        let (pass, backward) = match (step.forward, step.backward) {
            (Some(pass), _) => (pass, false),
            (None, Some(pass)) => (pass, true),
            (None, None) => return None,
        };
        let chunk = pass.chunk as usize;
        let passes = self.chunks.get(chunk)?;
        Some((
            chunk,
            if backward { &passes.backward } else { &passes.forward },
            backward,
        ))
    }

    /// Bytes by use at a moment.
    pub(crate) fn usage(&self, moment: &Moment) -> Usage {
        let both = self.both(moment);
        let both = both.map(|(_, backward, overlap)| (backward, overlap.usage));
        self.totals.usage(moment, both)
    }

    /// The pass, layer and operation at work at a moment.
    pub(crate) fn moment(&self, moment: &Moment) -> PeakMoment {
        let step = self.totals.schedule.step(moment.step);
        let (forward, backward) = step.map_or((None, None), |step| (step.forward, step.backward));
        let overlap = self.both(moment).map(|(.., overlap)| overlap);
        let at_work = match &overlap {
            Some(overlap) if !overlap.forward => backward,
            _ => forward.or(backward),
        };
        let Some(at_work) = at_work else {
            return PeakMoment::default();
        };
        let chunk = at_work.chunk as usize;
        let backward = Some(at_work) == backward && !overlap.is_some_and(|overlap| overlap.forward);
        let peak = overlap
            .map(|overlap| overlap.peak)
            .or_else(|| self.pass(moment).map(|(_, peak, _)| *peak));
        let peak = peak.unwrap_or_default();
        let passes = self.chunks.get(chunk);
        let block = passes.and_then(|passes| passes.blocks.get(peak.block));
        let op = block
            .and_then(|block| block.compiled.tape.ops.get(peak.peak.op))
            .map_or("passes before its graph", |op| op.name);
        PeakMoment {
            graph_phase: GraphPhase::default(),
            pass: match (backward, peak.pass == Pass::RecomputedForward || peak.peak.again) {
                (false, _) => PassName::Forward,
                (true, true) => PassName::Recompute,
                (true, false) => PassName::Backward,
            },
            step: Some(moment.step),
            phase: step.map(|step| step.phase),
            chunk: u32::try_from(chunk).unwrap_or(u32::MAX),
            microbatch: at_work.microbatch,
            block: block.map(|block| block.kind),
            layer: block.and_then(|s| s.layer),
            op,
        }
    }
}
