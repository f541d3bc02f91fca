//! How many virtual chunks a rank has, from the three ways to say it.

use super::divisors::near_divisors;
use super::problem::{Place, StageProblem};
use super::{MAX_CHUNKS, StageInput};

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
    let given =
        usize::from(per_stage.is_some()) + usize::from(per_rank.is_some()) + usize::from(input.layout.is_some());
    if given > 1 {
        return Err(vec![StageProblem::VppGivenTwice {
            num_layers_per_virtual_pipeline_stage: per_stage,
            num_virtual_stages_per_pipeline_rank: per_rank,
            layout: input.layout.is_some(),
        }]);
    }
    if input.pp == 0 {
        return Err(vec![StageProblem::Zero {
            field: "pipeline_model_parallel_size",
        }]);
    }

    let vpp = if let Some(layout) = input.layout {
        let stages = layout.num_stages();
        if !stages.is_multiple_of(input.pp) {
            return Err(vec![StageProblem::LayoutStages {
                stages,
                pp: input.pp,
                near_pp: near_divisors(stages, input.pp),
            }]);
        }
        stages / input.pp
    } else if let Some(per_rank) = per_rank {
        if per_rank == 0 {
            return Err(vec![StageProblem::Zero {
                field: "num_virtual_stages_per_pipeline_rank",
            }]);
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
        return Err(vec![StageProblem::InterleavedNeedsPipeline {
            pp: input.pp,
            vpp,
            least_pp,
        }]);
    }
    if u64::from(input.pp) * u64::from(vpp) > u64::from(MAX_CHUNKS) {
        return Err(vec![StageProblem::TooManyChunks { pp: input.pp, vpp }]);
    }
    Ok(Some(vpp))
}

fn from_layers_per_stage(input: &StageInput<'_>, per_stage: u32) -> Result<u32, Vec<StageProblem>> {
    if per_stage == 0 {
        return Err(vec![StageProblem::Zero {
            field: "num_layers_per_virtual_pipeline_stage",
        }]);
    }
    if input.decoder_first_pipeline_num_layers.is_some() || input.decoder_last_pipeline_num_layers.is_some() {
        return Err(vec![StageProblem::LayersPerVirtualStageWithUneven {
            num_layers_per_virtual_pipeline_stage: per_stage,
        }]);
    }
    let slots = input.slots();
    if !slots.is_multiple_of(input.pp) {
        return Err(vec![StageProblem::layers_per_rank(input)]);
    }
    let layers_per_rank = slots / input.pp;
    if !layers_per_rank.is_multiple_of(per_stage) {
        return Err(vec![StageProblem::LayersPerVirtualStage {
            place: Place::Every,
            layers_per_rank,
            num_layers_per_virtual_pipeline_stage: per_stage,
            near: near_divisors(layers_per_rank, per_stage),
        }]);
    }
    Ok(layers_per_rank / per_stage)
}
