//! The rules of Megatron that a split of layers breaks, with values near by that it accepts.

mod text;

use super::divisors::near_divisors;
use super::{LayerType, MAX_CHUNKS, StageInput};

/// The ranks that a rule speaks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Every rank, in an even split.
    Every,
    /// The first rank.
    First,
    /// The ranks between an uneven first and last one.
    Middle,
    /// The last rank.
    Last,
}

/// A rule of Megatron that a split breaks.
///
/// `Display` names the rule, the numbers and, where there are some, valid alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StageProblem {
    /// A size that must be at least 1 is 0.
    Zero {
        /// Megatron's name of the size.
        field: &'static str,
    },
    /// More chunks than any real job has: our own limit.
    TooManyChunks {
        /// Pipeline ranks.
        pp: u32,
        /// Chunks per rank.
        vpp: u32,
    },
    /// Two or three of the ways to ask for virtual stages at once.
    VppGivenTwice {
        /// `--num-layers-per-virtual-pipeline-stage`.
        num_layers_per_virtual_pipeline_stage: Option<u32>,
        /// `--num-virtual-stages-per-pipeline-rank`.
        num_virtual_stages_per_pipeline_rank: Option<u32>,
        /// Whether there is a layout too.
        layout: bool,
    },
    /// Interleaving without enough ranks to interleave over.
    InterleavedNeedsPipeline {
        /// Pipeline ranks.
        pp: u32,
        /// Chunks per rank.
        vpp: u32,
        /// The least number of ranks: 2, or 3 when p2p communication does not overlap.
        least_pp: u32,
    },
    /// Layers per virtual stage together with an uneven first or last rank.
    LayersPerVirtualStageWithUneven {
        /// The layers asked for.
        num_layers_per_virtual_pipeline_stage: u32,
    },
    /// The layers of a rank cannot be cut into virtual stages of that many layers.
    LayersPerVirtualStage {
        /// Which ranks.
        place: Place,
        /// Layers on such a rank.
        layers_per_rank: u32,
        /// The layers asked for.
        num_layers_per_virtual_pipeline_stage: u32,
        /// Values near it that divide.
        near: Vec<u32>,
    },
    /// The layers cannot be shared evenly by the ranks.
    LayersPerRank {
        /// Decoder layers.
        num_layers: u32,
        /// Decoder layers, and the embedding and the loss where they count as layers.
        slots: u32,
        /// Pipeline ranks.
        pp: u32,
        /// Numbers of ranks near it that divide.
        near_pp: Vec<u32>,
        /// How many further slots (1 or 2: embedding, loss) would make it divide, if any.
        more_slots: Option<u32>,
        /// Layers on the last rank with which all others would be equal, if there are any.
        last_rank_layers: Option<u32>,
    },
    /// The layers of a rank cannot be shared evenly by its chunks.
    ChunksOfRank {
        /// Which ranks.
        place: Place,
        /// Layers on such a rank.
        layers: u32,
        /// Chunks per rank.
        vpp: u32,
        /// Numbers of chunks near it that divide.
        near_vpp: Vec<u32>,
    },
    /// An uneven first or last rank together with embedding or loss counted as layers.
    UnevenWithAccountFor,
    /// Layers but no ranks left between first and last, or ranks but no layers.
    UnevenMiddle {
        /// Layers left, negative when first and last have more than there are.
        middle_layers: i64,
        /// Ranks left, negative when one rank is to be both.
        middle_ranks: i64,
    },
    /// The layers left cannot be shared evenly by the ranks between first and last.
    UnevenRest {
        /// Layers left.
        middle_layers: u32,
        /// Ranks left.
        middle_ranks: u32,
        /// The setting for one of the ends and the value near it with which they could.
        fits: Option<(&'static str, u32)>,
    },
    /// Interleaving with uneven first and last ranks and none between them.
    UnevenInterleavedNeedsMiddle {
        /// Pipeline ranks.
        pp: u32,
        /// Chunks per rank.
        vpp: u32,
    },
    /// A layout together with another way to split.
    LayoutWithOtherSplit,
    /// The stages of a layout do not fill whole ranks.
    LayoutStages {
        /// Stages in the layout.
        stages: u32,
        /// Pipeline ranks.
        pp: u32,
        /// Numbers of ranks near it that divide.
        near_pp: Vec<u32>,
    },
    /// The layout's number of chunks is not the one asked for.
    LayoutVpp {
        /// The number asked for.
        vpp: u32,
        /// The layout's.
        layout_vpp: u32,
    },
    /// A layout that does not begin with the embedding.
    LayoutStart {
        /// The layout's first layer; `None` when the layout is empty.
        found: Option<LayerType>,
    },
    /// A layout that does not end with the loss.
    LayoutEnd {
        /// The layout's last layer; `None` when the layout is empty.
        found: Option<LayerType>,
    },
    /// A layout with too many or too few layers of a kind.
    LayoutCount {
        /// The kind.
        layer: LayerType,
        /// How many the layout has.
        found: u32,
        /// How many it must have.
        expected: u32,
    },
    /// A decoder layer after an MTP layer.
    LayoutDecoderAfterMtp,
    /// MTP on a chunk that is not the last of its rank.
    LayoutMtpChunk {
        /// The rank.
        pp_rank: u32,
        /// The chunk.
        vp_stage: u32,
        /// Chunks per rank.
        vpp: u32,
    },
    /// MTP spread over several stages.
    LayoutMtpParted {
        /// How many.
        stages: u32,
    },
    /// The segments of a hybrid pattern do not fill whole ranks.
    HybridSegments {
        /// Segments of the pattern.
        segments: u32,
        /// Pipeline ranks.
        pp: u32,
        /// Numbers of ranks near it that divide.
        near_pp: Vec<u32>,
    },
    /// A hybrid pattern together with another way to split, which only `|` in the pattern can replace.
    HybridWithOtherSplit {
        /// Megatron's name of the other way.
        field: &'static str,
    },
    /// More than one chunk on a rank for a hybrid pattern without `|`.
    HybridVppNeedsSegments {
        /// Pipeline ranks.
        pp: u32,
        /// Chunks per rank.
        vpp: u32,
    },
}

/// Sizes that no split can start from.
pub(super) fn size_problems(input: &StageInput<'_>) -> Vec<StageProblem> {
    let mut problems = Vec::new();
    let sizes = [
        (input.num_layers, "num_layers"),
        (input.pp, "pipeline_model_parallel_size"),
        (input.vpp.unwrap_or(1), "virtual_pipeline_model_parallel_size"),
    ];
    for (size, field) in sizes {
        if size == 0 {
            problems.push(StageProblem::Zero { field });
        }
    }
    let (pp, vpp) = (input.pp, input.vpp.unwrap_or(1));
    if u64::from(pp) * u64::from(vpp) > u64::from(MAX_CHUNKS) {
        problems.push(StageProblem::TooManyChunks { pp, vpp });
    }
    if input.vpp.is_some() && pp == 1 {
        problems.push(StageProblem::InterleavedNeedsPipeline { pp, vpp, least_pp: 2 });
    }
    problems
}

impl StageProblem {
    /// The even split fails; expects `input.pp` to be at least 1.
    pub(super) fn layers_per_rank(input: &StageInput<'_>) -> Self {
        let (num_layers, slots, pp) = (input.num_layers, input.slots(), input.pp);
        // With one layer more on each rank than an even split allows, the last rank gets what is left.
        let last = num_layers.checked_sub((pp - 1).saturating_mul(num_layers.div_ceil(pp)));
        Self::LayersPerRank {
            num_layers,
            slots,
            pp,
            near_pp: near_divisors(slots, pp),
            more_slots: (1..=num_layers.saturating_add(2).saturating_sub(slots))
                .find(|more| slots.saturating_add(*more).is_multiple_of(pp)),
            last_rank_layers: last.filter(|n| *n > 0 && slots == num_layers),
        }
    }

    /// The settings that the rule is about, under Megatron's names, the likeliest culprit first.
    #[must_use]
    pub fn fields(&self) -> Vec<&'static str> {
        const PP: &str = "pipeline_model_parallel_size";
        const VPP: &str = "virtual_pipeline_model_parallel_size";
        const PER_STAGE: &str = "num_layers_per_virtual_pipeline_stage";
        const PER_RANK: &str = "num_virtual_stages_per_pipeline_rank";
        const FIRST: &str = "decoder_first_pipeline_num_layers";
        const LAST: &str = "decoder_last_pipeline_num_layers";
        const EMBEDDING: &str = "account_for_embedding_in_pipeline_split";
        const LOSS: &str = "account_for_loss_in_pipeline_split";
        const LAYOUT: &str = "pipeline_model_parallel_layout";
        const HYBRID: &str = "hybrid_layer_pattern";
        let fields: &[&'static str] = match self {
            Self::Zero { field } => &[*field],
            Self::TooManyChunks { .. } | Self::InterleavedNeedsPipeline { .. } => &[PP, VPP],
            Self::VppGivenTwice { .. } => &[PER_STAGE, PER_RANK, LAYOUT],
            Self::LayersPerVirtualStageWithUneven { .. } => &[PER_STAGE, FIRST, LAST],
            Self::LayersPerVirtualStage { .. } => &[PER_STAGE, "num_layers", PP],
            Self::LayersPerRank { .. } => &[PP, "num_layers"],
            Self::ChunksOfRank { place, .. } => match place {
                Place::First => &[VPP, FIRST],
                Place::Last => &[VPP, LAST],
                Place::Every | Place::Middle => &[VPP, "num_layers", PP],
            },
            Self::UnevenWithAccountFor => &[FIRST, LAST, EMBEDDING, LOSS],
            Self::UnevenMiddle { .. } | Self::UnevenRest { .. } => &[FIRST, LAST, PP],
            Self::UnevenInterleavedNeedsMiddle { .. } => &[VPP, FIRST, LAST],
            Self::LayoutWithOtherSplit => &[LAYOUT, FIRST, LAST, EMBEDDING, LOSS],
            Self::LayoutStages { .. } => &[LAYOUT, PP],
            Self::LayoutVpp { .. } => &[LAYOUT, VPP],
            Self::LayoutCount { layer, .. } => match layer {
                LayerType::Decoder => &[LAYOUT, "num_layers"],
                LayerType::Mtp => &[LAYOUT, "mtp_num_layers"],
                LayerType::Embedding | LayerType::Loss => &[LAYOUT],
            },
            Self::LayoutStart { .. }
            | Self::LayoutEnd { .. }
            | Self::LayoutDecoderAfterMtp
            | Self::LayoutMtpChunk { .. }
            | Self::LayoutMtpParted { .. } => &[LAYOUT],
            Self::HybridSegments { .. } => &[HYBRID, PP],
            Self::HybridWithOtherSplit { field } => &[*field, HYBRID],
            Self::HybridVppNeedsSegments { .. } => &[HYBRID, VPP],
        };
        fields.to_vec()
    }
}
