//! Broken rules in words.

use core::fmt;

use super::super::divisors::list;
use super::super::{LayerType, MAX_CHUNKS};
use super::{Place, StageProblem};
use crate::words::Gaps;

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

impl fmt::Display for StageProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut gaps = Gaps::default();
        let sentence = self.tell(&mut gaps);
        f.write_str(&gaps.fill(sentence))
    }
}

impl Gaps {
    /// The next gap gets a sentence about a number, if there is one.
    fn maybe(&mut self, number: Option<u32>, sentence: &str) -> &mut Self {
        let filled = number.map(|number| Self::default().sizes(&[number]).fill(sentence));
        self.text(&filled.unwrap_or_default())
    }
}

impl StageProblem {
    /// The rule in words, and what goes into their gaps.
    #[allow(clippy::too_many_lines, reason = "one arm for each rule")]
    fn tell(&self, gaps: &mut Gaps) -> &'static str {
        match self {
            Self::Zero { field } => {
                gaps.text(field);
                "{} must be at least 1"
            }
            Self::TooManyChunks { pp, vpp } => {
                gaps.sizes(&[*pp, *vpp, MAX_CHUNKS]);
                "{} pipeline ranks of {} virtual stages are more than the {} that this calculator takes"
            }
            Self::VppGivenTwice {
                num_layers_per_virtual_pipeline_stage: per_stage,
                num_virtual_stages_per_pipeline_rank: per_rank,
                layout,
            } => {
                gaps.maybe(*per_stage, " num_layers_per_virtual_pipeline_stage ({})")
                    .text(if per_stage.is_some() { "," } else { "" })
                    .maybe(*per_rank, " num_virtual_stages_per_pipeline_rank ({})")
                    .text(match layout {
                        true if per_rank.is_some() => ", pipeline_model_parallel_layout",
                        true => " pipeline_model_parallel_layout",
                        false => "",
                    });
                "only one of these may say how many virtual stages there are:{}{}{}{}"
            }
            Self::InterleavedNeedsPipeline { pp, vpp, least_pp } => {
                gaps.sizes(&[*vpp, *least_pp, *pp]);
                if *least_pp > 2 {
                    "{} virtual stages need at least {} pipeline ranks, and there are {} (2 are enough when p2p communication overlaps)"
                } else {
                    "{} virtual stages need at least {} pipeline ranks, and there are {}"
                }
            }
            Self::LayersPerVirtualStageWithUneven { .. } => {
                "with an uneven first or last pipeline rank, give num_virtual_stages_per_pipeline_rank instead of num_layers_per_virtual_pipeline_stage"
            }
            Self::LayersPerVirtualStage {
                place,
                layers_per_rank,
                num_layers_per_virtual_pipeline_stage: wanted,
                near,
            } => {
                gaps.text(place.name())
                    .sizes(&[*layers_per_rank, *wanted])
                    .text(&list(near));
                "{} has {} layers, which num_layers_per_virtual_pipeline_stage {} does not divide; near: {}"
            }
            Self::LayersPerRank {
                num_layers,
                slots,
                pp,
                near_pp,
                more_slots,
                last_rank_layers,
            } => {
                let counted = (slots != num_layers).then_some(*slots);
                gaps.sizes(&[*num_layers])
                    .maybe(counted, ", with the embedding or loss counted {},")
                    .sizes(&[*pp])
                    .text(&list(near_pp))
                    .text(match more_slots {
                        Some(1) => "; or count the embedding or the loss as a layer",
                        Some(_) => "; or count both embedding and loss as layers",
                        None => "",
                    })
                    .maybe(
                        *last_rank_layers,
                        "; or set decoder_last_pipeline_num_layers {}",
                    );
                "num_layers {}{} must be divisible by pipeline_model_parallel_size {}; near: {}{}{}"
            }
            Self::ChunksOfRank {
                place,
                layers,
                vpp,
                near_vpp,
            } => {
                gaps.text(place.name())
                    .sizes(&[*layers, *vpp])
                    .text(&list(near_vpp));
                "{} has {} layers, which must be divisible by its {} virtual stages; near: {}"
            }
            Self::UnevenWithAccountFor => {
                "decoder_first_pipeline_num_layers and decoder_last_pipeline_num_layers cannot be combined with account_for_embedding_in_pipeline_split or account_for_loss_in_pipeline_split"
            }
            Self::UnevenMiddle {
                middle_layers,
                middle_ranks,
            } => {
                gaps.number((*middle_layers).into())
                    .number((*middle_ranks).into());
                "beside the first and last pipeline rank that are set, {} layers are left for {} ranks"
            }
            Self::UnevenRest {
                middle_layers,
                middle_ranks,
                fits,
            } => {
                gaps.sizes(&[*middle_layers, *middle_ranks]);
                let Some((field, layers)) = fits else {
                    return "the {} layers that are left must be divisible by the {} pipeline ranks that are left";
                };
                gaps.text(field).sizes(&[*layers]);
                "the {} layers that are left must be divisible by the {} pipeline ranks that are left; near: {} {}"
            }
            Self::UnevenInterleavedNeedsMiddle { pp, vpp } => {
                gaps.sizes(&[*vpp, *pp]);
                "with decoder_first_pipeline_num_layers and decoder_last_pipeline_num_layers set, {} virtual stages need a pipeline rank between the first and the last, and there are {} ranks in all"
            }
            Self::LayoutWithOtherSplit => {
                "pipeline_model_parallel_layout cannot be combined with decoder_first_pipeline_num_layers, decoder_last_pipeline_num_layers, account_for_embedding_in_pipeline_split or account_for_loss_in_pipeline_split"
            }
            Self::LayoutStages {
                stages,
                pp,
                near_pp,
            } => {
                gaps.sizes(&[*stages, *pp]).text(&list(near_pp));
                "the layout's {} stages must be divisible by pipeline_model_parallel_size {}; near: {}"
            }
            Self::LayoutVpp { vpp, layout_vpp } => {
                gaps.sizes(&[*layout_vpp, *vpp]);
                "the layout has {} stages on each pipeline rank, but virtual_pipeline_model_parallel_size is {}"
            }
            Self::LayoutStart { found: Some(layer) } => {
                gaps.text(&layer.to_string());
                "a layout begins with the embedding (E), not with {}"
            }
            Self::LayoutStart { found: None } => {
                "a layout begins with the embedding (E), and this one is empty"
            }
            Self::LayoutEnd { found: Some(layer) } => {
                gaps.text(&layer.to_string());
                "a layout ends with the loss (L), not with {}"
            }
            Self::LayoutEnd { found: None } => {
                "a layout ends with the loss (L), and this one is empty"
            }
            Self::LayoutCount {
                layer,
                found,
                expected,
            } => match layer {
                LayerType::Decoder => {
                    gaps.sizes(&[*found, *expected]);
                    "the layout has {} decoder layers (t), and num_layers is {}"
                }
                LayerType::Mtp => {
                    gaps.sizes(&[*found, *expected]);
                    "the layout has {} MTP layers (m), and mtp_num_layers is {}"
                }
                LayerType::Embedding | LayerType::Loss => {
                    gaps.text(&layer.to_string()).sizes(&[*found]);
                    "a layout has {} exactly once, and this one {} times"
                }
            },
            Self::LayoutDecoderAfterMtp => {
                "in a layout all decoder layers (t) come before the MTP layers (m)"
            }
            Self::LayoutMtpChunk {
                pp_rank,
                vp_stage,
                vpp,
            } => {
                gaps.sizes(&[*vp_stage, vpp.saturating_sub(1), *pp_rank]);
                "MTP layers (m) must be on the last virtual stage of their pipeline rank, and here they are on stage {} of 0 to {} on rank {}"
            }
            Self::LayoutMtpParted { stages } => {
                gaps.sizes(&[*stages]);
                "all MTP layers (m) must be on one stage, and here they are on {}"
            }
        }
    }
}
