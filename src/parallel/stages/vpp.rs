//! How many virtual chunks a rank has, from the three ways to say it.

use super::divisors::{list, near_divisors};
use super::rules::{
    CHUNKS_PER_RANK, FIRST, LAST, LAYERS, LAYERS_PER_CHUNK, LAYOUT, PP, interleaved_needs_pipeline, layers_per_rank,
    layout_stages, too_many_chunks, zero,
};
use super::{MAX_CHUNKS, StageInput, StageProblem};

/// The arguments of Megatron-LM that decide the number of virtual chunks, besides a layout.
#[derive(Clone, Copy, Debug)]
pub struct VppChoice {
    /// `--num-layers-per-virtual-pipeline-stage`.
    pub num_layers_per_virtual_pipeline_stage: Option<u32>,
    /// `--num-virtual-stages-per-pipeline-rank`.
    pub num_virtual_stages_per_pipeline_rank: Option<u32>,
    /// Whether p2p communication overlaps with computation: Megatron-LM's default with interleaving,
    /// switched off by `--no-overlap-p2p-communication`.
    pub overlap_p2p_comm: bool,
}

impl Default for VppChoice {
    fn default() -> Self {
        Self {
            num_layers_per_virtual_pipeline_stage: None,
            num_virtual_stages_per_pipeline_rank: None,
            overlap_p2p_comm: true,
        }
    }
}

/// Virtual chunks per rank as `validate_args` in `arguments.py` derives it; `input.vpp` is not read.
///
/// One chunk is no interleaving: the answer is then `None`, never `Some(1)`.
///
/// # Errors
/// Every rule about virtual stages that the arguments break. Whether the layers can be split that way is
/// for [`stage_layout`](super::stage_layout) to say.
pub fn resolve_vpp(input: &StageInput<'_>, choice: &VppChoice) -> Result<Option<u32>, Vec<StageProblem>> {
    let per_stage = choice.num_layers_per_virtual_pipeline_stage;
    let per_rank = choice.num_virtual_stages_per_pipeline_rank;

    if let Some(segments) = input.hybrid_segments {
        return super::hybrid::vpp(input, segments, choice);
    }
    let mut given = Vec::new();
    given.extend(per_stage.map(|n| format!("{LAYERS_PER_CHUNK} ({n})")));
    given.extend(per_rank.map(|n| format!("{CHUNKS_PER_RANK} ({n})")));
    given.extend(input.layout.map(|_| LAYOUT.to_owned()));
    if given.len() > 1 {
        let given = given.join(", ");
        let message = format!("only one of these may say how many virtual stages there are: {given}");
        return Err(vec![StageProblem::error(
            &[LAYERS_PER_CHUNK, CHUNKS_PER_RANK, LAYOUT],
            message,
        )]);
    }
    if input.pp == 0 {
        return Err(vec![zero(PP)]);
    }

    let vpp = if let Some(layout) = input.layout {
        let stages = layout.num_stages();
        if !stages.is_multiple_of(input.pp) {
            return Err(vec![layout_stages(stages, input.pp)]);
        }
        stages / input.pp
    } else if let Some(per_rank) = per_rank {
        if per_rank == 0 {
            return Err(vec![zero(CHUNKS_PER_RANK)]);
        }
        per_rank
    } else if let Some(per_stage) = per_stage {
        from_layers_per_stage(input, per_stage)?
    } else {
        1
    };

    if vpp == 1 {
        return Ok(None);
    }
    let least_pp = if choice.overlap_p2p_comm { 2 } else { 3 };
    if input.pp < least_pp {
        return Err(vec![interleaved_needs_pipeline(input.pp, vpp, least_pp)]);
    }
    if u64::from(input.pp) * u64::from(vpp) > u64::from(MAX_CHUNKS) {
        return Err(vec![too_many_chunks(input.pp, vpp)]);
    }
    Ok(Some(vpp))
}

fn from_layers_per_stage(input: &StageInput<'_>, per_stage: u32) -> Result<u32, Vec<StageProblem>> {
    if per_stage == 0 {
        return Err(vec![zero(LAYERS_PER_CHUNK)]);
    }
    if input.decoder_first_pipeline_num_layers.is_some() || input.decoder_last_pipeline_num_layers.is_some() {
        let message =
            format!("with an uneven first or last pipeline rank, give {CHUNKS_PER_RANK} instead of {LAYERS_PER_CHUNK}");
        return Err(vec![StageProblem::error(&[LAYERS_PER_CHUNK, FIRST, LAST], message)]);
    }
    let slots = input.slots();
    if !slots.is_multiple_of(input.pp) {
        return Err(vec![layers_per_rank(input)]);
    }
    let layers = slots / input.pp;
    if !layers.is_multiple_of(per_stage) {
        let near = near_divisors(layers, per_stage);
        let message = format!(
            "each pipeline rank has {layers} layers, which {LAYERS_PER_CHUNK} {per_stage} does not divide; near: {}",
            list(&near)
        );
        let problem = StageProblem::error(&[LAYERS_PER_CHUNK, LAYERS, PP], message);
        return Err(vec![problem.fix_each(LAYERS_PER_CHUNK, &near)]);
    }
    Ok(layers / per_stage)
}
