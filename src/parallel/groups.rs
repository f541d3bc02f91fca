//! The dense and the expert rank grid of a model, over its consecutive ranks.
//!
//! A model's ranks are numbered twice: the *dense* view splits them by TP, CP, DP and PP, the *expert*
//! view splits the same ranks by ETP, EP, EDP and PP. [`RankGrids`] holds both; [`process_groups`] has the
//! process groups that Megatron builds from them.

mod grid;
pub mod process_groups;
pub mod seeds;

pub use grid::{Grid, Group, MemberOrder, Partition};

use strum::{EnumString, IntoStaticStr};

use crate::python::{Exception, PythonError};

/// A dimension of parallelism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Dim {
    /// Tensor parallelism of dense layers.
    Tp,
    /// Context parallelism.
    Cp,
    /// Data parallelism of dense layers.
    Dp,
    /// Pipeline parallelism, the same in both views.
    Pp,
    /// Tensor parallelism of experts.
    #[strum(serialize = "expt_tp")]
    Etp,
    /// Expert parallelism.
    Ep,
    /// Data parallelism of experts.
    #[strum(serialize = "expt_dp")]
    Edp,
}

impl Dim {
    /// The name in Megatron's rank grids.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The dimension of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

/// One of the two rank grids of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// The grid of dense layers, with the dimensions TP, CP, DP and PP.
    Dense,
    /// The grid of experts, with the dimensions ETP, EP, EDP and PP.
    Expert,
}

/// The order of dimensions in the rank grids, fastest first. TP, CP and EP are always before DP and PP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RankOrder {
    /// `tp-cp-ep-dp-pp`, Megatron's default and the only order of multi-module models.
    #[default]
    PpLast,
    /// `tp-cp-ep-pp-dp`, Megatron-LM's `--use-tp-pp-dp-mapping`.
    DpLast,
}

/// The sizes that a user sets; the two data-parallel sizes follow from the number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelParallel {
    /// `tensor_model_parallel_size`
    pub tp: u64,
    /// `context_parallel_size`
    pub cp: u64,
    /// `pipeline_model_parallel_size`
    pub pp: u64,
    /// `expert_model_parallel_size`
    pub ep: u64,
    /// `expert_tensor_parallel_size`
    pub etp: u64,
}

impl Default for ModelParallel {
    fn default() -> Self {
        Self {
            tp: 1,
            cp: 1,
            pp: 1,
            ep: 1,
            etp: 1,
        }
    }
}

/// A rank's position along every dimension of both rank grids, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is the rank within the group of its name")]
pub struct Coordinates {
    pub tp: u64,
    pub cp: u64,
    pub dp: u64,
    pub pp: u64,
    pub etp: u64,
    pub ep: u64,
    pub edp: u64,
}

/// The dense and the expert rank grid of the ranks `[rank_offset, rank_offset + world_size)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankGrids {
    dense: Grid<Dim>,
    expert: Grid<Dim>,
    optimizer_instances: u64,
}

impl RankGrids {
    /// The grids of a model that runs on `world_size` ranks from `rank_offset` on.
    ///
    /// DP is `world_size / (TP * CP * PP)` and EDP is `world_size / (ETP * EP * PP)`.
    ///
    /// # Errors
    ///
    /// As `initialize_model_parallel` in `megatron.core.parallel_state`: a size that does not divide the
    /// world, or the `DpLast` order with PP and two different data-parallel sizes. Sizes of zero and
    /// ranks beyond 64 bits are refused too.
    pub fn new(
        model: &ModelParallel,
        world_size: u64,
        order: RankOrder,
        rank_offset: u64,
    ) -> Result<Self, PythonError> {
        let &ModelParallel { tp, cp, pp, ep, etp } = model;
        let positive = [
            ("tensor_model_parallel_size", tp),
            ("pipeline_model_parallel_size", pp),
            ("context_parallel_size", cp),
            ("expert_model_parallel_size", ep),
            ("expert_tensor_parallel_size", etp),
            ("world_size", world_size),
        ];
        if let Some((name, _)) = positive.into_iter().find(|(_, size)| *size == 0) {
            return Err(Exception::ValueError.with(format!("{name} must be positive.")));
        }
        let product = |sizes: [u64; 3]| sizes.into_iter().map(u128::from).product::<u128>();
        let quotient = |parts: u128| {
            let parts = u64::try_from(parts)
                .ok()
                .filter(|parts| world_size.is_multiple_of(*parts));
            parts.map(|parts| world_size / parts)
        };
        let dense_parts = product([tp, cp, pp]);
        let dp = quotient(dense_parts).ok_or_else(|| {
            let message = format!("world_size ({world_size}) is not divisible by {dense_parts}");
            Exception::RuntimeError.with(message)
        })?;
        let expert_parts = product([etp, ep, pp]);
        let edp = quotient(expert_parts).ok_or_else(|| {
            Exception::RuntimeError.with(format!(
                "world_size ({world_size}) is not divisible by expert_tensor_model_pipeline_parallel size \
                 ({expert_parts})"
            ))
        })?;
        if order == RankOrder::DpLast && pp != 1 && edp != dp {
            return Err(Exception::AssertionError.with(
                "When not using pp-last rank ordering, the data parallel size of the attention and moe layers \
                 must be the same",
            ));
        }
        let (pipeline, data, expert_data) = ((Dim::Pp, pp), (Dim::Dp, dp), (Dim::Edp, edp));
        let (dense, expert) = match order {
            RankOrder::PpLast => ([data, pipeline], [expert_data, pipeline]),
            RankOrder::DpLast => ([pipeline, data], [pipeline, expert_data]),
        };
        let grid = |inner: [(Dim, u64); 2], outer: [(Dim, u64); 2]| {
            Grid::new(rank_offset, &[inner, outer].concat())
                .ok_or_else(|| Exception::OverflowError.with("ranks beyond 64 bits"))
        };
        Ok(Self {
            dense: grid([(Dim::Tp, tp), (Dim::Cp, cp)], dense)?,
            expert: grid([(Dim::Etp, etp), (Dim::Ep, ep)], expert)?,
            optimizer_instances: 1,
        })
    }

    /// The same grids with the distributed optimizer's state replicated in `instances` instances
    /// (`num_distributed_optimizer_instances`).
    ///
    /// # Errors
    ///
    /// When `instances` does not divide DP * CP, or EDP.
    pub fn with_optimizer_instances(mut self, instances: u64) -> Result<Self, PythonError> {
        let uneven = |size: u64| size.checked_rem(instances) != Some(0);
        let size = if uneven(self.size(Dim::Dp) * self.size(Dim::Cp)) {
            "Data"
        } else if uneven(self.size(Dim::Edp)) {
            "Expert data"
        } else {
            self.optimizer_instances = instances;
            return Ok(self);
        };
        let message = format!("{size} parallel size should be divisible by partial DistOpt shard factor");
        Err(Exception::AssertionError.with(message))
    }

    /// One of the two grids.
    #[must_use]
    pub fn view(&self, view: View) -> &Grid<Dim> {
        match view {
            View::Dense => &self.dense,
            View::Expert => &self.expert,
        }
    }

    /// The number of ranks along `dim`.
    #[must_use]
    pub fn size(&self, dim: Dim) -> u64 {
        self.dense.size(dim).max(self.expert.size(dim))
    }

    /// All ranks of the model.
    #[must_use]
    pub fn ranks(&self) -> core::ops::Range<u64> {
        self.dense.ranks()
    }

    /// The number of instances of the distributed optimizer, each with a replica of its state.
    #[must_use]
    pub fn optimizer_instances(&self) -> u64 {
        self.optimizer_instances
    }

    /// The coordinates of `rank`; `None` for a rank of another module.
    #[must_use]
    pub fn coordinates(&self, rank: u64) -> Option<Coordinates> {
        Some(Coordinates {
            tp: self.dense.coordinate(rank, Dim::Tp)?,
            cp: self.dense.coordinate(rank, Dim::Cp)?,
            dp: self.dense.coordinate(rank, Dim::Dp)?,
            pp: self.dense.coordinate(rank, Dim::Pp)?,
            etp: self.expert.coordinate(rank, Dim::Etp)?,
            ep: self.expert.coordinate(rank, Dim::Ep)?,
            edp: self.expert.coordinate(rank, Dim::Edp)?,
        })
    }
}
