//! A custom layout against the model: Megatron's `validate_layer_layout`, and the split that it gives.

use super::divisors::near_divisors;
use super::problem::StageProblem;
use super::{LayerType, PipelineLayout, Share, StageInput, StageLayout, deal};

pub(super) fn split(input: &StageInput<'_>, layout: &PipelineLayout) -> Result<StageLayout, Vec<StageProblem>> {
    let mut problems = Vec::new();
    if input.uneven() || input.accounts() {
        problems.push(StageProblem::LayoutWithOtherSplit);
    }
    let stages = layout.num_stages();
    if !stages.is_multiple_of(input.pp) {
        problems.push(StageProblem::LayoutStages {
            stages,
            pp: input.pp,
            near_pp: near_divisors(stages, input.pp),
        });
    }
    let layout_vpp = stages.checked_div(input.pp).unwrap_or(0);
    let vpp = input.vpp.or((layout_vpp > 1).then_some(layout_vpp));
    if problems.is_empty() {
        if vpp.is_some_and(|vpp| vpp != layout_vpp) {
            problems.push(StageProblem::LayoutVpp {
                vpp: input.vpp.unwrap_or(1),
                layout_vpp,
            });
        } else if vpp.is_some() && input.pp < 2 {
            problems.push(StageProblem::InterleavedNeedsPipeline {
                pp: input.pp,
                vpp: layout_vpp,
                least_pp: 2,
            });
        } else {
            mtp_place(input, layout, layout_vpp, &mut problems);
        }
    }
    content(input, layout, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }

    let count = |rank: u32, stage: u32, layer| {
        let index = u64::from(stage) * u64::from(input.pp) + u64::from(rank);
        usize::try_from(index).map_or(0, |i| layout.count_in_stage(i, layer))
    };
    Ok(deal(input, vpp, &|rank, stage| Share {
        layers: count(rank, stage, LayerType::Decoder),
        mtp: count(rank, stage, LayerType::Mtp),
    }))
}

/// The layers of all stages of the layout, in order.
fn content(input: &StageInput<'_>, layout: &PipelineLayout, problems: &mut Vec<StageProblem>) {
    let mut ends = layout.layers();
    let first = ends.next();
    let last = ends.last().or(first);
    if first != Some(LayerType::Embedding) {
        problems.push(StageProblem::LayoutStart { found: first });
    }
    if last != Some(LayerType::Loss) {
        problems.push(StageProblem::LayoutEnd { found: last });
    }

    let expected = [
        (LayerType::Embedding, 1),
        (LayerType::Loss, 1),
        (LayerType::Decoder, input.num_layers),
        (LayerType::Mtp, input.mtp_num_layers.unwrap_or(0)),
    ];
    for (layer, expected) in expected {
        let found = layout.count(layer);
        if found != expected {
            problems.push(StageProblem::LayoutCount { layer, found, expected });
        }
    }

    let mut mtp_seen = false;
    let decoder_after_mtp = layout.layers().any(|layer| {
        mtp_seen |= layer == LayerType::Mtp;
        mtp_seen && layer == LayerType::Decoder
    });
    if decoder_after_mtp {
        problems.push(StageProblem::LayoutDecoderAfterMtp);
    }
}

/// MTP is in one piece, on the last chunk of its rank.
fn mtp_place(input: &StageInput<'_>, layout: &PipelineLayout, vpp: u32, problems: &mut Vec<StageProblem>) {
    let mut holders = 0u32;
    for (index, _) in layout.stages().iter().enumerate() {
        if layout.count_in_stage(index, LayerType::Mtp) == 0 {
            continue;
        }
        holders += 1;
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let vp_stage = index.checked_div(input.pp).unwrap_or(0);
        if vp_stage + 1 < vpp {
            problems.push(StageProblem::LayoutMtpChunk {
                pp_rank: index.checked_rem(input.pp).unwrap_or(0),
                vp_stage,
                vpp,
            });
        }
    }
    if holders > 1 {
        problems.push(StageProblem::LayoutMtpParted { stages: holders });
    }
}
