//! The tensors of one chunk, added up as its profile adds them up.

use core::ops::Range;

use super::terms::{Term, Terms};
use crate::memory::blocks::handed_on::HandedOn;
use crate::memory::blocks::{Block, BlockKind, CompiledTapes, attention_biases, attention_mask};
use crate::memory::chunk_profile::{BEFORE_CAPTURE, ChunkPeak, ChunkProfile, Pass};
use crate::model::tape::Family;
use crate::model::tape::liveness::{CompiledTape, LARGE, TRANSIENT};
use crate::model::tensor::{Shape, factor};
use crate::parallel::stages::Chunk;
use crate::source::Source;
use crate::units::multiply;

/// One chunk, itemised the way [`ChunkProfile`] adds it up.
pub(super) struct ItemisedChunk<'a> {
    pub tapes: &'a CompiledTapes<'a>,
    pub chunk: &'a Chunk,
    pub passes: &'a ChunkProfile<'a>,
}

/// A key of blocks: those with an equal key keep the same tensors.
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
/// Inputs of recomputed layers with attention residuals.
const INPUTS_WITH_SNAPSHOTS: &str = "inputs of recomputed layers, with new snapshots of the residual stream";

/// Adds the input of a layer with attention residuals, without snapshots that are kept before it.
fn own_input(block: &Block<'_>, usage: usize, terms: &mut Terms) {
    let own = block.handed_on.map_or(0, HandedOn::own_input);
    terms.plain(INPUTS_WITH_SNAPSHOTS, usage, own, 1, Source::Recompute);
}

impl ItemisedChunk<'_> {
    /// Adds the tensors that the first blocks keep for so many micro batches.
    pub(super) fn kept(&self, blocks: usize, times: u64, terms: &mut Terms) {
        let p = self.passes;
        self.mask(Family::Attention as usize, p.kept_mask, times, terms);
        if p.kept_biases > 0 {
            let biases = attention_biases(self.tapes.sizes());
            let what = "biases of image attention";
            terms.shaped(
                what,
                Family::Attention as usize,
                biases,
                times,
                Source::ImageAttentionBiases,
            );
        }
        let (what, source) = if self.chunk.embedding {
            ("outputs of the encoders", Source::BridgeCommunicator)
        } else {
            ("received input", Source::Schedules)
        };
        terms.plain(what, RESIDUAL, p.received_kept, times, source);
        let what = "static inputs and outputs of CUDA graphs";
        terms.plain(what, RESIDUAL, p.captured_before(blocks), times, Source::GraphBuffers);
        if blocks >= p.blocks.len() {
            self.output(times, terms);
        }
        // All blocks of a kind keep the same, so each kind is looked through once.
        let on_host = p.on_host(blocks);
        let blocks = p.blocks.get(..blocks).unwrap_or(&p.blocks);
        let (mut kinds, mut inputs) = (Vec::new(), 0u64);
        for (index, block) in blocks.iter().enumerate() {
            let below = if on_host.contains(&index) { LARGE } else { u64::MAX };
            match block.group {
                None => {
                    let keeping = Keeping {
                        kind: block.kind,
                        below,
                        pooled: block.pooled_kept(),
                    };
                    count(&mut kinds, Some(keeping));
                }
                Some((first, _)) if first == index => match block.handed_on {
                    None => count(&mut kinds, None),
                    Some(handed_on) => inputs = inputs.saturating_add(handed_on.own_input()),
                },
                Some(_) => {}
            }
        }
        terms.plain(INPUTS_WITH_SNAPSHOTS, RESIDUAL, inputs, times, Source::Recompute);
        for (keeping, blocks) in kinds {
            let times = multiply(times, blocks);
            match keeping {
                Some(keeping) => self.block(keeping, times, terms),
                None => self.group_input(times, terms),
            }
        }
    }

    /// Adds the outputs of so many micro batches, which wait for their backward passes.
    pub(super) fn output(&self, times: u64, terms: &mut Terms) {
        let what = "output that is not deallocated";
        terms.plain(what, RESIDUAL, self.passes.output_kept, times, Source::Deallocate);
    }

    /// Adds the tensors that one block keeps.
    fn block(&self, keeping: Keeping, times: u64, terms: &mut Terms) {
        let Keeping { kind, below, pooled } = keeping;
        let Some(CompiledTape { tape, planned, .. }) = self.tapes.tape(kind, self.chunk) else {
            return;
        };
        let kept = planned.kept.iter().filter(|id| pooled == 0 || tape.input != Some(**id));
        let tensors = kept.filter_map(|id| tape.get(*id));
        for tensor in tensors.filter(|tensor| tensor.shape.elements() < below) {
            terms.tensor(kind.to_string(), tensor, tensor.family as usize, false, times);
        }
    }

    fn group_input(&self, times: u64, terms: &mut Terms) {
        let what = "input of recomputed layers";
        let (mut shape, width) = terms.stream;
        if self.passes.distributed {
            shape = shape.over(factor("TP", self.tapes.sizes().m.tp));
        }
        terms.shaped(what, RESIDUAL, (shape, width), times, Source::Recompute);
    }

    fn mask(&self, usage: usize, bytes: u64, times: u64, terms: &mut Terms) {
        let m = self.tapes.sizes().m;
        let shape = attention_mask(m);
        let times = if bytes > 0 { times } else { 0 };
        terms.shaped("attention mask", usage, (shape, 1), times, Source::AttentionMask);
    }

    /// Adds the tensors of `times` recomputed blocks while they run again, and the inputs of `inputs` of them.
    fn recomputed(&self, kind: BlockKind, [times, inputs]: [u64; 2], terms: &mut Terms) {
        let Some(CompiledTape { tape, planned, .. }) = self.tapes.tape(kind, self.chunk) else {
            return;
        };
        for id in &planned.kept {
            let Some(tensor) = tape.get(*id) else { continue };
            let times = if tape.input == Some(*id) { inputs } else { times };
            terms.tensor(kind.to_string(), tensor, TRANSIENT, false, times);
        }
    }

    /// Offloaded tensors that wait for the next backward pass.
    fn prefetched(&self, terms: &mut Terms) {
        let compiled = self
            .passes
            .prefetched
            .and_then(|kind| self.tapes.tape(kind, self.chunk));
        let Some(CompiledTape { tape, planned, .. }) = compiled else {
            return;
        };
        for moved in &planned.plan.moved {
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

    pub(super) fn peak(&self, peak: &ChunkPeak, retained: bool, terms: &mut Terms) {
        let p = self.passes;
        let Some(block) = p.blocks.get(peak.block) else {
            return;
        };
        let (parameters, gradients) = p.fsdp_in_flight(peak.block, peak.pass);
        let (gather, reduce) = if self.tapes.sizes().m.args.use_torch_fsdp2 {
            (Source::TorchFsdp2Gather, Source::TorchFsdp2Reduce)
        } else {
            (Source::FsdpGather, Source::FsdpReduce)
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
        self.discarded(peak.block, terms);
        if peak.pass == Pass::Forward {
            self.mask(TRANSIENT, p.passing_mask, 1, terms);
            self.kept(peak.block, 1, terms);
            match block.group {
                None => self.alive(peak, retained, false, false, terms),
                Some((first, _)) if first == peak.block => {
                    if p.distributed {
                        self.group_input(1, terms);
                    }
                    own_input(block, RESIDUAL, terms);
                    self.alive(peak, retained, false, block.handed_on.is_some(), terms);
                }
                Some(_) => {
                    own_input(block, TRANSIENT, terms);
                    self.alive(peak, retained, true, block.handed_on.is_some(), terms);
                }
            }
            return;
        }
        self.output(1, terms);
        let Some((first, end)) = block.group else {
            self.kept(peak.block, 1, terms);
            self.alive(peak, retained, false, false, terms);
            if retained && peak.block != last {
                terms.plain("received gradient", TRANSIENT, p.sent, 1, Source::Schedules);
            }
            return;
        };
        self.kept(first, 1, terms);
        match p.blocks.get(first).filter(|first| first.handed_on.is_some()) {
            Some(first) => own_input(first, RESIDUAL, terms),
            None => self.group_input(1, terms),
        }
        if retained && end <= last {
            terms.plain("received gradient", TRANSIENT, p.sent, 1, Source::Schedules);
        }
        self.group_before(first..peak.block, terms);
        let without_input = peak.block == first && !p.distributed || block.handed_on.is_some();
        self.alive(peak, retained, true, without_input, terms);
        let outer = match peak.pass {
            Pass::RecomputedForward => 0,
            _ => 1,
        };
        if outer == 0 && peak.block != first {
            own_input(block, TRANSIENT, terms);
        }
        let last_of_group = end.checked_sub(1).and_then(|last| p.blocks.get(last));
        let [called_with, output, unread] = p.group_output(last_of_group.map(|last| &last.passes));
        let what = "gradient that recompute was called with";
        let called_with = if outer == 0 || peak.block + 1 < end {
            called_with
        } else {
            unread
        };
        terms.plain(what, TRANSIENT, called_with, 1, Source::Recompute);
        terms.plain("recomputed output", TRANSIENT, output, outer, Source::Recompute);
    }

    /// Adds the tensors that recompute module `mhc` discards of the layers before one in its group.
    fn discarded(&self, index: usize, terms: &mut Terms) {
        let before = self.passes.blocks.get(..=index).unwrap_or_default();
        // Nothing is discarded before the first layer of a group.
        let Some(first) = before.iter().rposition(|block| block.discarded_before == 0) else {
            return;
        };
        let layers = before.get(first..index).unwrap_or_default();
        let mut kinds = Vec::new();
        for layer in layers {
            count(&mut kinds, layer.kind);
        }
        for (kind, times) in kinds {
            let Some(CompiledTape { tape, planned, .. }) = self.tapes.tape(kind, self.chunk) else {
                continue;
            };
            for id in &planned.discarded_by_mhc {
                let Some(tensor) = tape.get(*id) else { continue };
                terms.tensor(kind.to_string(), tensor, TRANSIENT, false, times);
            }
        }
        let between = u64::try_from(layers.len()).unwrap_or(u64::MAX);
        let what = "residual streams between layers that recompute discards";
        let stream = terms.stream;
        terms.shaped(what, TRANSIENT, stream, between, Source::HyperConnectionRecompute);
    }

    /// Adds the tensors that the capture of the local CUDA graph at work holds beside its tape.
    fn captured(&self, peak: &ChunkPeak, terms: &mut Terms) {
        let capture = self.passes.capture(peak.block);
        if peak.pass != Pass::Forward {
            let what = "static outputs while their backward graph is captured";
            terms.plain(what, TRANSIENT, capture.backward, 1, Source::GraphBuffers);
            return;
        }
        let what = "main gradients of the layer, copied";
        terms.plain(what, TRANSIENT, capture.gradients, 1, Source::GraphWarmup);
        if peak.peak.op == BEFORE_CAPTURE.op {
            let what = "passes of the layer before its capture";
            terms.plain(what, TRANSIENT, capture.warmup, 1, Source::GraphWarmup);
            let what = "static input of its graph";
            terms.plain(what, TRANSIENT, capture.input, 1, Source::GraphBuffers);
        } else {
            let what = "inputs and outputs of the passes before the capture";
            terms.plain(what, TRANSIENT, capture.variables, 1, Source::GraphWarmup);
        }
    }

    /// Adds the tensors that the recomputed layers below the one at work keep.
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

    fn alive(&self, peak: &ChunkPeak, retained: bool, transient: bool, without_input: bool, terms: &mut Terms) {
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
            terms.tensor(block.kind.to_string(), &alive.tensor, usage, alive.gradient, 1);
        }
    }
}
