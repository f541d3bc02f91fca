//! The rows of cells: the layers by pipeline chunk, and those of an MTP depth.

use core::ops::Range;

use super::edit::PatternPart;
use crate::state::State;
use leptos::prelude::*;
use megatron_memory::config::hybrid_pattern::HybridPattern;

/// A row of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StageRow {
    pub(super) part: PatternPart,
    /// Its layers, counted over its part from 0; may be empty.
    pub(super) layers: Range<usize>,
    /// The name of the stage, such as `PP 0`.
    pub(super) name: String,
    /// The name of the part of the stage, such as `chunk 1`; empty where stages have one part.
    pub(super) detail: String,
}

/// The rows of a pattern. `split` is how many layers each chunk has where the pattern has no `|`, in the order of the
/// layers.
pub(super) fn stage_rows(pattern: &HybridPattern, split: Option<Vec<usize>>, pp: u64) -> Vec<StageRow> {
    let lengths = match split.filter(|_| !pattern.is_segmented()) {
        Some(split) => split,
        None => pattern.segments().iter().map(Vec::len).collect(),
    };
    let count = lengths.len() as u64;
    let mut next = 0;
    let chunks = (0..).zip(lengths).map(|(index, length): (u64, usize)| {
        let layers = next..next + length;
        next = layers.end;
        let (name, detail) = match index.checked_rem(pp) {
            // The first chunk of every rank comes before the second chunk of any.
            Some(rank) if count.is_multiple_of(pp) && count > pp => {
                (format!("PP {rank}"), format!("chunk {}", index / pp))
            }
            Some(rank) if count == pp => (format!("PP {rank}"), String::new()),
            _ if count == 1 => (String::from("all stages"), String::new()),
            _ => (format!("segment {index}"), String::new()),
        };
        StageRow {
            part: PatternPart::Decoder,
            layers,
            name,
            detail,
        }
    });
    let mut rows: Vec<StageRow> = chunks.collect();
    if pattern.depths() > 0 {
        rows.push(StageRow {
            part: PatternPart::Mtp,
            layers: 0..pattern.mtp().len(),
            name: String::from("MTP"),
            detail: match pattern.depths() {
                1 => String::from("1 depth"),
                depths => format!("{depths} depths"),
            },
        });
    }
    rows
}

/// How Megatron splits the layers of a pattern without `|` over `pp` ranks; `None` where the last valid job is another.
pub(super) fn chunks_without_borders(state: State, pattern: &HybridPattern, pp: u64) -> Option<Vec<usize>> {
    let outcome = state.outcome.read();
    let module = outcome.as_ref()?.module(state.form.module.get())?;
    let is_same = module.hybrid() == Some(pattern) && u64::from(module.stages.pp()) == pp;
    // Without `|` a rank has one chunk, so that the order of the ranks is the order of the layers.
    let chunks = module.stages.chunks().iter();
    is_same.then(|| chunks.map(|chunk| chunk.layers.len()).collect())
}

#[cfg(test)]
mod tests {
    use super::stage_rows;
    use wasm_bindgen_test::wasm_bindgen_test;

    #[wasm_bindgen_test(unsupported = test)]
    fn rows_are_named_by_rank_and_chunk() {
        let rows = |pattern: &str, split: Option<Vec<usize>>, pp: u64| {
            let rows = stage_rows(&pattern.parse().unwrap(), split, pp);
            let rows = rows
                .into_iter()
                .map(|row| format!("{} {} {:?}", row.name, row.detail, row.layers));
            rows.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(rows("M-M-", None, 1), "PP 0  0..4");
        assert_eq!(rows("M-M-", Some(vec![2, 2]), 2), "PP 0  0..2, PP 1  2..4");
        assert_eq!(
            rows("M|-|M|-", Some(vec![9]), 2),
            "PP 0 chunk 0 0..1, PP 1 chunk 0 1..2, PP 0 chunk 1 2..3, PP 1 chunk 1 3..4"
        );
        assert_eq!(
            rows("M||-/M-/M-", None, 2),
            "segment 0  0..1, segment 1  1..1, segment 2  1..2, MTP 2 depths 0..2"
        );
    }
}
