//! The process groups that Megatron builds from the two rank grids, by Megatron's names.

use strum::{EnumString, IntoStaticStr, VariantArray};

use super::{Dim, Partition, RankGrids, View};

/// A process group, named as in Megatron's `ProcessGroupCollection`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ProcessGroup {
    /// Tensor parallel.
    Tp,
    /// Context parallel.
    Cp,
    /// Pipeline parallel.
    Pp,
    /// Data parallel.
    Dp,
    /// Data and context parallel: reduces gradients, shards the optimizer.
    DpCp,
    /// Tensor and context parallel.
    TpCp,
    /// Tensor and pipeline parallel: one replica of the dense model.
    Mp,
    /// Tensor, data and context parallel.
    TpDpCp,
    /// Tensor and data parallel; Megatron-LM only.
    TpDp,
    /// Expert parallel.
    Ep,
    /// Expert tensor parallel.
    ExptTp,
    /// Expert data parallel.
    ExptDp,
    /// Expert tensor and expert parallel.
    TpEp,
    /// Expert tensor, expert and pipeline parallel.
    TpEpPp,
    /// The part of `DpCp` that shards one instance of the distributed optimizer.
    IntraDpCp,
    /// The part of `ExptDp` that shards one instance of the distributed optimizer.
    IntraExptDp,
    /// The same shard in every instance of the distributed optimizer; Megatron builds it only when there
    /// are several.
    InterDistOpt,
    /// All ranks of one instance of the distributed optimizer.
    IntraDistOpt,
    /// First and last pipeline stage: keeps tied word embeddings equal. Other stages have none.
    Embd,
    /// First pipeline stage: position embeddings. Other stages have none.
    PosEmbd,
}

impl ProcessGroup {
    /// Every process group, dense ones first.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The field of `ProcessGroupCollection` (`tp_dp`, which has none, as in NCCL's configuration).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The process group of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// The rank grid that the group belongs to.
    #[must_use]
    pub fn view(self) -> View {
        match self {
            Self::Ep
            | Self::ExptTp
            | Self::ExptDp
            | Self::TpEp
            | Self::TpEpPp
            | Self::IntraExptDp
            | Self::InterDistOpt
            | Self::IntraDistOpt => View::Expert,
            _ => View::Dense,
        }
    }

    /// The dimensions along which the members of a group differ. The groups within an optimizer instance
    /// and the embedding groups are subsets of such groups.
    #[must_use]
    pub fn dims(self) -> &'static [Dim] {
        match self {
            Self::Tp => &[Dim::Tp],
            Self::Cp => &[Dim::Cp],
            Self::Pp | Self::Embd | Self::PosEmbd => &[Dim::Pp],
            Self::Dp => &[Dim::Dp],
            Self::DpCp | Self::IntraDpCp => &[Dim::Dp, Dim::Cp],
            Self::TpCp => &[Dim::Tp, Dim::Cp],
            Self::Mp => &[Dim::Tp, Dim::Pp],
            Self::TpDpCp => &[Dim::Tp, Dim::Dp, Dim::Cp],
            Self::TpDp => &[Dim::Tp, Dim::Dp],
            Self::Ep => &[Dim::Ep],
            Self::ExptTp => &[Dim::Etp],
            Self::ExptDp | Self::IntraExptDp | Self::InterDistOpt => &[Dim::Edp],
            Self::TpEp => &[Dim::Etp, Dim::Ep],
            Self::TpEpPp => &[Dim::Etp, Dim::Ep, Dim::Pp],
            Self::IntraDistOpt => &[Dim::Etp, Dim::Ep, Dim::Edp, Dim::Pp],
        }
    }
}

impl RankGrids {
    /// All groups of one kind, in the order in which Megatron creates them, ranks ascending.
    #[must_use]
    pub fn process_groups(&self, kind: ProcessGroup) -> Partition {
        let grid = self.view(kind.view());
        let whole = grid.partition_where(|dim| kind.dims().contains(&dim));
        let instances = self.optimizer_instances();
        let shard = whole.group_size() / instances;
        let cut = match kind {
            ProcessGroup::IntraDpCp | ProcessGroup::IntraExptDp => whole.clone().level(1, shard),
            ProcessGroup::InterDistOpt => whole.clone().level(shard, instances),
            // The instances are blocks of the expert data-parallel axis; `Dp` stands for their number,
            // since the expert view has no axis of that name.
            ProcessGroup::IntraDistOpt => {
                let by_instance = grid.clone().split(Dim::Edp, self.size(Dim::Edp) / instances, Dim::Dp);
                Some(by_instance.partition_where(|dim| kind.dims().contains(&dim)))
            }
            ProcessGroup::Embd => Some(whole.clone().ends()),
            ProcessGroup::PosEmbd => Some(whole.clone().firsts()),
            _ => None,
        };
        cut.unwrap_or(whole)
    }
}
