//! Where each of packed samples starts.

use super::list::List;
use crate::model::sizes::Sizes;
use crate::model::tensor::{Shape, factor};
use crate::source::Source;

/// Adds the starts of packed samples.
pub(super) fn buffers(sizes: &Sizes<'_>, out: &mut List) {
    let m = sizes.m;
    let Some(packing) = &m.packing else {
        return;
    };
    let starts = Shape::of(&[
        factor("(cu_seqlens and cu_seqlens_padded)", 2),
        factor("(samples + 1)", packing.batch.samples.saturating_add(1)),
        factor("micro batches", m.num_microbatches.min(u64::from(m.stages.pp()))),
    ]);
    let what = "starts of packed samples";
    out.tensor(what, starts, 4, Source::CuSeqlens);
}
