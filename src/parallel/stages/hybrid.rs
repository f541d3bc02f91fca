//! The split of a `HybridModel`: `|` in its pattern ends pipeline segments (`select_pipeline_segment`,
//! `validate_args`).

use super::rules::{
    CHUNKS_PER_RANK, EMBEDDING, FIRST, LAST, LAYERS_PER_CHUNK, LAYOUT, LOSS, PATTERN, PP, VPP,
    interleaved_needs_pipeline, pattern_segments, pattern_with_other_split, too_many_chunks, zero,
};
use super::{MAX_CHUNKS, Share, StageInput, StageLayout, StageProblem, VppChoice, deal, split};
use crate::value::Value;

/// Chunks per rank, `None` for one: as many as there are segments for each rank.
pub(super) fn vpp(
    input: &StageInput<'_>,
    segments: &[u32],
    choice: &VppChoice,
) -> Result<Option<u32>, Vec<StageProblem>> {
    let refused = [
        (choice.num_layers_per_virtual_pipeline_stage, LAYERS_PER_CHUNK),
        (choice.num_virtual_stages_per_pipeline_rank, CHUNKS_PER_RANK),
    ];
    if let Some((_, field)) = refused.into_iter().find(|(value, _)| value.is_some()) {
        return Err(vec![pattern_with_other_split(field)]);
    }
    if input.pp == 0 {
        return Err(vec![zero(PP)]);
    }
    let count = u32::try_from(segments.len()).unwrap_or(u32::MAX);
    if count == 1 {
        return Ok(None);
    }
    if !count.is_multiple_of(input.pp) {
        return Err(vec![pattern_segments(count, input.pp)]);
    }
    let vpp = count / input.pp;
    if vpp > 1 && input.pp == 1 {
        return Err(vec![interleaved_needs_pipeline(1, vpp, 2)]);
    }
    if count > MAX_CHUNKS {
        return Err(vec![too_many_chunks(input.pp, vpp)]);
    }
    Ok((vpp > 1).then_some(vpp))
}

/// Deals out the segments, or without `|` the layers: evenly, or with another number on the first or last rank.
pub(super) fn split(input: &StageInput<'_>, segments: &[u32]) -> Result<StageLayout, Vec<StageProblem>> {
    let refused = [
        (input.layout.is_some(), LAYOUT),
        (input.account_for_embedding_in_pipeline_split, EMBEDDING),
        (input.account_for_loss_in_pipeline_split, LOSS),
        (
            segments.len() > 1 && input.decoder_first_pipeline_num_layers.is_some(),
            FIRST,
        ),
        (
            segments.len() > 1 && input.decoder_last_pipeline_num_layers.is_some(),
            LAST,
        ),
    ];
    let given = refused.into_iter().filter(|(given, _)| *given);
    let problems: Vec<StageProblem> = given.map(|(_, field)| pattern_with_other_split(field)).collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    if segments.len() == 1 {
        if let Some(vpp) = input.vpp {
            let pp = input.pp;
            let message = format!(
                "{VPP} {vpp} needs a pattern of PP {pp} · VPP {vpp} = {} segments: write | where each ends",
                u64::from(pp) * u64::from(vpp)
            );
            return Err(vec![
                StageProblem::error(&[PATTERN, VPP], message).fix(VPP, Value::Null),
            ]);
        }
        return split::split(input);
    }
    let count = u32::try_from(segments.len()).unwrap_or(u32::MAX);
    let chunks = input.vpp.unwrap_or(1);
    if count != input.pp.saturating_mul(chunks) {
        return Err(vec![pattern_segments(count, input.pp)]);
    }
    Ok(deal(input, input.vpp, &|pp_rank, vp_stage| {
        let index = vp_stage.saturating_mul(input.pp).saturating_add(pp_rank);
        Share {
            layers: segments.get(index as usize).copied().unwrap_or(0),
            mtp: input.mtp_num_layers.filter(|_| index + 1 == count).unwrap_or(0),
        }
    }))
}
