//! The split of a `HybridModel`: `|` in its pattern ends pipeline segments (`select_pipeline_segment`,
//! `validate_args`).

use super::divisors::near_divisors;
use super::problem::StageProblem;
use super::{MAX_CHUNKS, Share, StageInput, StageLayout, VppChoice, deal, split};

/// Chunks per rank, `None` for one: as many as there are segments for each rank.
pub(super) fn vpp(
    input: &StageInput<'_>,
    segments: &[u32],
    choice: &VppChoice,
) -> Result<Option<u32>, Vec<StageProblem>> {
    let refused = [
        (
            choice.num_layers_per_virtual_pipeline_stage,
            "num_layers_per_virtual_pipeline_stage",
        ),
        (
            choice.num_virtual_stages_per_pipeline_rank,
            "num_virtual_stages_per_pipeline_rank",
        ),
    ];
    if let Some((_, field)) = refused.into_iter().find(|(value, _)| value.is_some()) {
        return Err(vec![StageProblem::HybridWithOtherSplit { field }]);
    }
    if input.pp == 0 {
        return Err(vec![StageProblem::Zero {
            field: "pipeline_model_parallel_size",
        }]);
    }
    let count = u32::try_from(segments.len()).unwrap_or(u32::MAX);
    if count == 1 {
        return Ok(None);
    }
    if !count.is_multiple_of(input.pp) {
        return Err(vec![StageProblem::HybridSegments {
            segments: count,
            pp: input.pp,
            near_pp: near_divisors(count, input.pp),
        }]);
    }
    let vpp = count / input.pp;
    if vpp > 1 && input.pp == 1 {
        return Err(vec![StageProblem::InterleavedNeedsPipeline {
            pp: 1,
            vpp,
            least_pp: 2,
        }]);
    }
    if count > MAX_CHUNKS {
        return Err(vec![StageProblem::TooManyChunks { pp: input.pp, vpp }]);
    }
    Ok((vpp > 1).then_some(vpp))
}

/// Deals out the segments, or without `|` the layers: evenly, or with another number on the first or last rank.
pub(super) fn split(input: &StageInput<'_>, segments: &[u32]) -> Result<StageLayout, Vec<StageProblem>> {
    let refused = [
        (input.layout.is_some(), "pipeline_model_parallel_layout"),
        (
            input.account_for_embedding_in_pipeline_split,
            "account_for_embedding_in_pipeline_split",
        ),
        (
            input.account_for_loss_in_pipeline_split,
            "account_for_loss_in_pipeline_split",
        ),
        (
            segments.len() > 1 && input.decoder_first_pipeline_num_layers.is_some(),
            "decoder_first_pipeline_num_layers",
        ),
        (
            segments.len() > 1 && input.decoder_last_pipeline_num_layers.is_some(),
            "decoder_last_pipeline_num_layers",
        ),
    ];
    let problems: Vec<StageProblem> = refused
        .into_iter()
        .filter(|(given, _)| *given)
        .map(|(_, field)| StageProblem::HybridWithOtherSplit { field })
        .collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    if segments.len() == 1 {
        if let Some(vpp) = input.vpp {
            return Err(vec![StageProblem::HybridVppNeedsSegments { pp: input.pp, vpp }]);
        }
        return split::split(input);
    }
    let count = u32::try_from(segments.len()).unwrap_or(u32::MAX);
    let chunks = input.vpp.unwrap_or(1);
    if count != input.pp.saturating_mul(chunks) {
        return Err(vec![StageProblem::HybridSegments {
            segments: count,
            pp: input.pp,
            near_pp: near_divisors(count, input.pp),
        }]);
    }
    Ok(deal(input, input.vpp, &|pp_rank, vp_stage| {
        let index = vp_stage.saturating_mul(input.pp).saturating_add(pp_rank);
        Share {
            layers: segments.get(index as usize).copied().unwrap_or(0),
            mtp: input.mtp_num_layers.filter(|_| index + 1 == count).unwrap_or(0),
        }
    }))
}
