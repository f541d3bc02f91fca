//! Broken rules in words.

use core::fmt;

use super::super::divisors::list;
use super::super::{LayerType, MAX_CHUNKS};
use super::{Place, StageProblem};

impl Place {
    fn name(self) -> &'static str {
        match self {
            Self::Every => "each pipeline rank",
            Self::First => "the first pipeline rank",
            Self::Middle => "each middle pipeline rank",
            Self::Last => "the last pipeline rank",
        }
    }
}

/// The sentence around a number, or nothing where there is no number.
fn optional(number: Option<u32>, sentence: impl Fn(u32) -> String) -> String {
    number.map(sentence).unwrap_or_default()
}

/// The sentence of [`StageProblem::VppGivenTwice`].
fn vpp_given_twice(per_stage: Option<u32>, per_rank: Option<u32>, layout: bool) -> String {
    let mut given = Vec::new();
    given.extend(per_stage.map(|n| format!(" num_layers_per_virtual_pipeline_stage ({n})")));
    given.extend(per_rank.map(|n| format!(" num_virtual_stages_per_pipeline_rank ({n})")));
    given.extend(layout.then(|| " pipeline_model_parallel_layout".to_owned()));
    format!(
        "only one of these may say how many virtual stages there are:{}",
        given.join(",")
    )
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
            } => f.write_str(&vpp_given_twice(*per_stage, *per_rank, *layout)),
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
                "{} has {layers_per_rank} layers, which num_layers_per_virtual_pipeline_stage {wanted} does not divide; near: {}",
                place.name(),
                list(near)
            ),
            Self::LayersPerRank {
                num_layers,
                slots,
                pp,
                near_pp,
                more_slots,
                last_rank_layers,
            } => {
                let counted = (slots != num_layers).then_some(*slots);
                let counted = optional(counted, |slots| {
                    format!(", with the embedding or loss counted {slots},")
                });
                let count = match more_slots {
                    Some(1) => "; or count the embedding or the loss as a layer",
                    Some(_) => "; or count both embedding and loss as layers",
                    None => "",
                };
                let last = optional(*last_rank_layers, |layers| {
                    format!("; or set decoder_last_pipeline_num_layers {layers}")
                });
                write!(
                    f,
                    "num_layers {num_layers}{counted} must be divisible by pipeline_model_parallel_size {pp}; near: {}{count}{last}",
                    list(near_pp)
                )
            }
            Self::ChunksOfRank {
                place,
                layers,
                vpp,
                near_vpp,
            } => write!(
                f,
                "{} has {layers} layers, which must be divisible by its {vpp} virtual stages; near: {}",
                place.name(),
                list(near_vpp)
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
                list(near_pp)
            ),
            Self::LayoutVpp { vpp, layout_vpp } => write!(
                f,
                "the layout has {layout_vpp} stages on each pipeline rank, but virtual_pipeline_model_parallel_size is {vpp}"
            ),
            Self::LayoutStart { found: Some(layer) } => {
                write!(f, "a layout begins with the embedding (E), not with {layer}")
            }
            Self::LayoutStart { found: None } => {
                f.write_str("a layout begins with the embedding (E), and this one is empty")
            }
            Self::LayoutEnd { found: Some(layer) } => {
                write!(f, "a layout ends with the loss (L), not with {layer}")
            }
            Self::LayoutEnd { found: None } => {
                f.write_str("a layout ends with the loss (L), and this one is empty")
            }
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
            Self::HybridSegments {
                segments,
                pp,
                near_pp,
            } => write!(
                f,
                "the pattern's {segments} segments (parts between |) must be divisible by pipeline_model_parallel_size {pp}; near: {}",
                list(near_pp)
            ),
            Self::HybridWithOtherSplit { field } => write!(
                f,
                "{field} does not go with hybrid_layer_pattern: write | in the pattern where a stage ends"
            ),
            Self::HybridVppNeedsSegments { pp, vpp } => write!(
                f,
                "virtual_pipeline_model_parallel_size {vpp} needs a pattern of PP {pp} · VPP {vpp} = {} segments: write | where each ends",
                u64::from(*pp) * u64::from(*vpp)
            ),
        }
    }
}
