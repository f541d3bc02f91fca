//! Broken rules in words.

use core::fmt;

use super::super::divisors::List;
use super::super::{LayerType, MAX_CHUNKS};
use super::{Place, StageProblem};

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Every => "each pipeline rank",
            Self::First => "the first pipeline rank",
            Self::Middle => "each middle pipeline rank",
            Self::Last => "the last pipeline rank",
        })
    }
}

impl fmt::Display for StageProblem {
    #[allow(clippy::too_many_lines, reason = "one arm for each rule")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero { field } => write!(f, "{field} must be at least 1"),
            Self::TooManyChunks { pp, vpp } => write!(
                f,
                "{pp} pipeline ranks of {vpp} virtual stages are more than the {MAX_CHUNKS} that this calculator takes"
            ),
            Self::VppGivenTwice {
                num_layers_per_virtual_pipeline_stage: per_stage,
                num_virtual_stages_per_pipeline_rank: per_rank,
                layout,
            } => {
                f.write_str("only one of these may say how many virtual stages there are:")?;
                let mut comma = "";
                for (name, value) in [
                    ("num_layers_per_virtual_pipeline_stage", per_stage),
                    ("num_virtual_stages_per_pipeline_rank", per_rank),
                ] {
                    if let Some(value) = value {
                        write!(f, "{comma} {name} ({value})")?;
                        comma = ",";
                    }
                }
                if *layout {
                    write!(f, "{comma} pipeline_model_parallel_layout")?;
                }
                Ok(())
            }
            Self::InterleavedNeedsPipeline { pp, vpp, least_pp } => {
                write!(
                    f,
                    "{vpp} virtual stages need at least {least_pp} pipeline ranks, and there are {pp}"
                )?;
                if *least_pp > 2 {
                    f.write_str(" (2 are enough when p2p communication overlaps)")?;
                }
                Ok(())
            }
            Self::LayersPerVirtualStageWithUneven { .. } => f.write_str(
                "with an uneven first or last pipeline rank, give num_virtual_stages_per_pipeline_rank instead of num_layers_per_virtual_pipeline_stage",
            ),
            Self::LayersPerVirtualStage {
                place,
                layers_per_rank,
                num_layers_per_virtual_pipeline_stage: wanted,
                near,
            } => write!(
                f,
                "{place} has {layers_per_rank} layers, which num_layers_per_virtual_pipeline_stage {wanted} does not divide; near: {}",
                List(near)
            ),
            Self::LayersPerRank {
                num_layers,
                slots,
                pp,
                near_pp,
                more_slots,
                last_rank_layers,
            } => {
                write!(f, "num_layers {num_layers}")?;
                if slots != num_layers {
                    write!(f, ", with the embedding or loss counted {slots},")?;
                }
                write!(
                    f,
                    " must be divisible by pipeline_model_parallel_size {pp}; near: {}",
                    List(near_pp)
                )?;
                match more_slots {
                    Some(1) => f.write_str("; or count the embedding or the loss as a layer")?,
                    Some(_) => f.write_str("; or count both embedding and loss as layers")?,
                    None => {}
                }
                if let Some(last) = last_rank_layers {
                    write!(f, "; or set decoder_last_pipeline_num_layers {last}")?;
                }
                Ok(())
            }
            Self::ChunksOfRank {
                place,
                layers,
                vpp,
                near_vpp,
            } => write!(
                f,
                "{place} has {layers} layers, which must be divisible by its {vpp} virtual stages; near: {}",
                List(near_vpp)
            ),
            Self::UnevenWithAccountFor => f.write_str(
                "decoder_first_pipeline_num_layers and decoder_last_pipeline_num_layers cannot be combined with account_for_embedding_in_pipeline_split or account_for_loss_in_pipeline_split",
            ),
            Self::UnevenMiddle {
                middle_layers,
                middle_ranks,
            } => write!(
                f,
                "beside the first and last pipeline rank that are set, {middle_layers} layers are left for {middle_ranks} ranks"
            ),
            Self::UnevenRest {
                middle_layers,
                middle_ranks,
                fits,
            } => {
                write!(
                    f,
                    "the {middle_layers} layers that are left must be divisible by the {middle_ranks} pipeline ranks that are left"
                )?;
                match fits {
                    Some((field, layers)) => write!(f, "; near: {field} {layers}"),
                    None => Ok(()),
                }
            }
            Self::UnevenInterleavedNeedsMiddle { pp, vpp } => write!(
                f,
                "with decoder_first_pipeline_num_layers and decoder_last_pipeline_num_layers set, {vpp} virtual stages need a pipeline rank between the first and the last, and there are {pp} ranks in all"
            ),
            Self::LayoutWithOtherSplit => f.write_str(
                "pipeline_model_parallel_layout cannot be combined with decoder_first_pipeline_num_layers, decoder_last_pipeline_num_layers, account_for_embedding_in_pipeline_split or account_for_loss_in_pipeline_split",
            ),
            Self::LayoutStages {
                stages,
                pp,
                near_pp,
            } => write!(
                f,
                "the layout's {stages} stages must be divisible by pipeline_model_parallel_size {pp}; near: {}",
                List(near_pp)
            ),
            Self::LayoutVpp { vpp, layout_vpp } => write!(
                f,
                "the layout has {layout_vpp} stages on each pipeline rank, but virtual_pipeline_model_parallel_size is {vpp}"
            ),
            Self::LayoutStart { found } => match found {
                Some(layer) => write!(f, "a layout begins with the embedding (E), not with {layer}"),
                None => f.write_str("a layout begins with the embedding (E), and this one is empty"),
            },
            Self::LayoutEnd { found } => match found {
                Some(layer) => write!(f, "a layout ends with the loss (L), not with {layer}"),
                None => f.write_str("a layout ends with the loss (L), and this one is empty"),
            },
            Self::LayoutCount {
                layer,
                found,
                expected,
            } => match layer {
                LayerType::Decoder => write!(
                    f,
                    "the layout has {found} decoder layers (t), and num_layers is {expected}"
                ),
                LayerType::Mtp => write!(
                    f,
                    "the layout has {found} MTP layers (m), and mtp_num_layers is {expected}"
                ),
                LayerType::Embedding | LayerType::Loss => {
                    write!(f, "a layout has {layer} exactly once, and this one {found} times")
                }
            },
            Self::LayoutDecoderAfterMtp => {
                f.write_str("in a layout all decoder layers (t) come before the MTP layers (m)")
            }
            Self::LayoutMtpChunk {
                pp_rank,
                vp_stage,
                vpp,
            } => write!(
                f,
                "MTP layers (m) must be on the last virtual stage of their pipeline rank, and here they are on stage {vp_stage} of 0 to {} on rank {pp_rank}",
                vpp.saturating_sub(1)
            ),
            Self::LayoutMtpParted { stages } => write!(
                f,
                "all MTP layers (m) must be on one stage, and here they are on {stages}"
            ),
        }
    }
}
