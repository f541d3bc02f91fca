//! The groups that recomputation makes of the layers of a chunk.

use super::handed_on::HandedOnWalk;
use super::{Block, BlockKind, CompiledTapes};
use crate::config::choices::{RecomputeGranularity, RecomputeMethod, RecomputeModule};
use crate::config::job::Module;
use crate::model::tape::block;
use crate::parallel::stages::Chunk;
use crate::units::multiply;

/// Whether full recompute makes groups of a module's layers.
pub(super) fn recomputes_groups(m: &Module) -> bool {
    let detached = m.args.frozen && !m.io.is_language();
    !detached && m.args.recompute_granularity == Some(RecomputeGranularity::Full)
}

/// How many of the first layers of a chunk are groups of their own, as [`group_recomputed`] makes them; `None` where
/// several layers share one.
pub(crate) fn layers_in_own_groups(m: &Module) -> Option<usize> {
    let layers = m.args.recompute_num_layers.unwrap_or(1);
    match m.args.recompute_method {
        _ if !recomputes_groups(m) => Some(0),
        Some(RecomputeMethod::Block) => Some(usize::try_from(layers).unwrap_or(usize::MAX)),
        Some(RecomputeMethod::Uniform) | None if layers <= 1 => Some(usize::MAX),
        Some(RecomputeMethod::Uniform) | None => None,
    }
}

/// The groups that full recompute makes of the layers of a chunk.
pub(super) fn group_recomputed(m: &Module, tapes: &CompiledTapes<'_>, chunk: &Chunk, blocks: &mut [Block<'_>]) {
    let first = usize::from(chunk.embedding);
    let layers = chunk.num_layers() as usize;
    let size = usize::try_from(m.args.recompute_num_layers.unwrap_or(1)).unwrap_or(usize::MAX);
    let by_block = m.args.recompute_method == Some(RecomputeMethod::Block);
    let mut handed_on = HandedOnWalk::default();
    for offset in 0..layers {
        let group = if by_block {
            (offset < size).then_some((first + offset, first + offset + 1))
        } else {
            let start = offset / size.max(1) * size.max(1);
            Some((first + start, first + start.saturating_add(size.max(1)).min(layers)))
        };
        if let Some(of) = blocks.get_mut(first + offset) {
            of.passes.group = group;
            if let (Some((start, _)), Some(layer), BlockKind::Layer(spec)) = (group, of.layer, of.kind) {
                let begins = start == first + offset;
                of.passes.handed_on = handed_on.next(tapes, (chunk, layer), &spec, begins);
            }
        }
    }
}

/// Whether recompute module `mhc` discards anything.
pub(crate) fn recomputes_mhc(m: &Module) -> bool {
    let a = &m.args;
    let selective = a.recompute_granularity == Some(RecomputeGranularity::Selective);
    selective && a.enable_mhc_connections && a.recompute_modules.contains(RecomputeModule::Mhc)
}

/// The layers of a chunk that share what recompute module `mhc` discards: so many layers each, the last group perhaps
/// fewer (`TransformerBlock._build_mhc_recompute_layer_plan`).
pub(super) fn group_by_mhc(tapes: &CompiledTapes<'_>, chunk: &Chunk, blocks: &mut [Block<'_>]) {
    let sizes = tapes.sizes();
    let streams = block(multiply(sizes.streams().elements(), sizes.stream_width()));
    let layers = chunk.num_layers() as usize;
    let size = sizes.m.args.mhc_recompute_layer_num.unwrap_or(u64::MAX);
    let size = usize::try_from(size).unwrap_or(usize::MAX).max(1);
    let first = usize::from(chunk.embedding);
    let mut before = 0u64;
    for (index, of) in blocks.iter_mut().skip(first).take(layers).enumerate() {
        if index.is_multiple_of(size) {
            before = 0;
        } else {
            of.passes.pooled = streams;
        }
        of.passes.discarded_before = before;
        before = before
            .saturating_add(of.compiled.discarded_by_mhc)
            .saturating_add(streams);
    }
}
