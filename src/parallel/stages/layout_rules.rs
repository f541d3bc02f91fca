//! A custom layout against the model: Megatron's `validate_layer_layout`, and the split that it gives.

use super::rules::{EMBEDDING, FIRST, LAST, LAYERS, LAYOUT, LOSS, VPP, interleaved_needs_pipeline, layout_stages};
use super::{LayerType, PipelineLayout, Share, StageInput, StageLayout, StageProblem, deal};

pub(super) fn split(input: &StageInput<'_>, layout: &PipelineLayout) -> Result<StageLayout, Vec<StageProblem>> {
    let mut problems = Vec::new();
    if input.uneven() || input.accounts() {
        let message = format!("{LAYOUT} cannot be combined with {FIRST}, {LAST}, {EMBEDDING} or {LOSS}");
        problems.push(StageProblem::error(&[LAYOUT, FIRST, LAST, EMBEDDING, LOSS], message));
    }
    let stages = layout.num_stages();
    if !stages.is_multiple_of(input.pp) {
        problems.push(layout_stages(stages, input.pp));
    }
    let layout_vpp = stages.checked_div(input.pp).unwrap_or(0);
    let vpp = input.vpp.or((layout_vpp > 1).then_some(layout_vpp));
    if problems.is_empty() {
        if vpp.is_some_and(|vpp| vpp != layout_vpp) {
            let asked = input.vpp.unwrap_or(1);
            let message = format!("the layout has {layout_vpp} stages on each pipeline rank, but {VPP} is {asked}");
            problems.push(StageProblem::error(&[LAYOUT, VPP], message));
        } else if vpp.is_some() && input.pp < 2 {
            problems.push(interleaved_needs_pipeline(input.pp, layout_vpp, 2));
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
    let instead = |found: Option<LayerType>| {
        found.map_or_else(
            || ", and this one is empty".to_owned(),
            |layer| format!(", not with {layer}"),
        )
    };
    if first != Some(LayerType::Embedding) {
        let message = format!("a layout begins with the embedding (E){}", instead(first));
        problems.push(StageProblem::error(&[LAYOUT], message));
    }
    if last != Some(LayerType::Loss) {
        let message = format!("a layout ends with the loss (L){}", instead(last));
        problems.push(StageProblem::error(&[LAYOUT], message));
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
            problems.push(count(layer, found, expected));
        }
    }

    let mut mtp_seen = false;
    let decoder_after_mtp = layout.layers().any(|layer| {
        mtp_seen |= layer == LayerType::Mtp;
        mtp_seen && layer == LayerType::Decoder
    });
    if decoder_after_mtp {
        let message = "in a layout all decoder layers (t) come before the MTP layers (m)";
        problems.push(StageProblem::error(&[LAYOUT], message));
    }
}

/// Too many or too few layers of a kind.
fn count(layer: LayerType, found: u32, expected: u32) -> StageProblem {
    const MTP: &str = "mtp_num_layers";
    match layer {
        LayerType::Decoder => {
            let message = format!("the layout has {found} decoder layers (t), and {LAYERS} is {expected}");
            StageProblem::error(&[LAYOUT, LAYERS], message)
        }
        LayerType::Mtp => {
            let message = format!("the layout has {found} MTP layers (m), and {MTP} is {expected}");
            StageProblem::error(&[LAYOUT, MTP], message)
        }
        LayerType::Embedding | LayerType::Loss => {
            let message = format!("a layout has {layer} exactly once, and this one {found} times");
            StageProblem::error(&[LAYOUT], message)
        }
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
            let message = format!(
                "MTP layers (m) must be on the last virtual stage of their pipeline rank, and here they are on stage {vp_stage} of 0 to {} on rank {}",
                vpp.saturating_sub(1),
                index.checked_rem(input.pp).unwrap_or(0)
            );
            problems.push(StageProblem::error(&[LAYOUT], message));
        }
    }
    if holders > 1 {
        let message = format!("all MTP layers (m) must be on one stage, and here they are on {holders}");
        problems.push(StageProblem::error(&[LAYOUT], message));
    }
}
