//! Which process groups of a layout stay within a node or an `NVLink` domain.
//!
//! Ranks fill nodes in order. In the dense grid TP ranks are neighbours, then CP, then DP, then PP; in the expert grid
//! ETP, then EP, then expert DP (`RankGenerator` in `parallel_state.py`). So a group is a number of ranks at a fixed
//! distance.

use serde::{Deserialize, Serialize};
use strum::{EnumCount, VariantArray};

use crate::config::job::Module;
use crate::variants::all;

/// The process groups between which a step's traffic is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, EnumCount, VariantArray)]
pub enum GroupKind {
    /// Tensor parallelism of dense layers.
    Tensor,
    /// Tensor parallelism of experts.
    ExpertTensor,
    /// Context parallelism.
    Context,
    /// Expert parallelism.
    Expert,
    /// Pipeline parallelism.
    Pipeline,
    /// Data parallelism of dense parameters, with context-parallel ranks: both share gradients.
    Data,
    /// Data parallelism of experts.
    ExpertData,
}

impl GroupKind {
    /// All groups.
    pub const ALL: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// A short name, such as `TP`.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Tensor => "TP",
            Self::ExpertTensor => "ETP",
            Self::Context => "CP",
            Self::Expert => "EP",
            Self::Pipeline => "PP",
            Self::Data => "DP",
            Self::ExpertData => "Expert DP",
        }
    }
}

/// A process group of a layout, as it lies on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The number of its ranks.
    pub size: u64,
    /// The number of its ranks that share a node or `NVLink` domain; equal to `size` where the group stays within one.
    pub together: u64,
}

impl Group {
    /// Whether the group has several ranks and leaves the node or `NVLink` domain.
    #[must_use]
    pub const fn crosses(self) -> bool {
        self.together < self.size
    }
}

/// The GPUs of a node, or of the larger `NVLink` domain that some GPU types have.
#[must_use]
pub fn domain(m: &Module) -> u64 {
    m.nvlink_domain()
}

/// A group of a module.
#[must_use]
pub fn group(m: &Module, kind: GroupKind) -> Group {
    let (size, distance) = match kind {
        GroupKind::Tensor => (m.tp, 1),
        GroupKind::ExpertTensor => (m.etp, 1),
        GroupKind::Context => (m.cp, m.tp),
        GroupKind::Expert => (m.ep, m.etp),
        GroupKind::Pipeline => (m.pp, m.ranks() / m.pp.max(1)),
        GroupKind::Data => (m.dp * m.cp, m.tp),
        GroupKind::ExpertData => (m.edp, m.etp * m.ep),
    };
    let domain = m.nvlink_domain;
    let fits = |members: u64| domain.holds(members.saturating_mul(distance));
    let most = size.min(domain.gpus);
    let mut members = (1..=most).rev();
    let together = members.find(|members| size.is_multiple_of(*members) && fits(*members));
    Group {
        size,
        together: together.unwrap_or(1),
    }
}

/// The groups that exchange activations inside layers and leave the node or `NVLink` domain, in bits by [`GroupKind`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Crossing(u8);

impl Crossing {
    /// The groups whose traffic every layer waits for.
    const KINDS: [GroupKind; 4] = [
        GroupKind::Tensor,
        GroupKind::ExpertTensor,
        GroupKind::Context,
        GroupKind::Expert,
    ];

    /// The groups of a module.
    #[must_use]
    pub fn of(m: &Module) -> Self {
        let experts = m.moe.is_some();
        let has = |kind: &GroupKind| experts || !matches!(kind, GroupKind::Expert | GroupKind::ExpertTensor);
        let crossing = Self::KINDS
            .into_iter()
            .filter(|kind| has(kind) && group(m, *kind).crosses());
        Self(crossing.fold(0, |bits, kind| bits | 1 << kind as u8))
    }

    /// The groups, those first whose traffic weighs most.
    pub fn kinds(self) -> impl Iterator<Item = GroupKind> {
        let crosses = move |kind: &GroupKind| self.0 & (1 << *kind as u8) != 0;
        Self::KINDS.into_iter().filter(crosses)
    }

    /// What layouts are ordered by: tensor-parallel groups weigh more than all others, as all of a layer waits for
    /// them.
    pub(crate) fn weight(self) -> u64 {
        let weight = |kind| match kind {
            GroupKind::Tensor | GroupKind::ExpertTensor => 4,
            _ => 1,
        };
        self.kinds().map(weight).sum()
    }
}
