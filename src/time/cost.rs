//! Nominal seconds by kind: what an operation would take at the speeds of the data sheet.

use core::ops::{Add, AddAssign, Mul};

use strum::{EnumCount, EnumIter};

use super::coefficients::{Coefficients, KnownFrom};

/// The kinds of work that a GPU spends the time of a pass on, each with a coefficient of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount, EnumIter)]
pub enum Cost {
    /// The matrix products of linear layers: their operations at the peak that products reach on the GPU, or where that
    /// takes longer, the bytes that they read and write.
    Products,
    /// Starts of these products.
    ProductStarts,
    /// Operations of the matrix products of routed experts.
    ExpertProducts,
    /// Bytes that the products of routed experts read and write.
    ExpertBytes,
    /// Experts whose products start.
    ExpertStarts,
    /// Operations of core attention.
    Attention,
    /// Bytes that everything else reads and writes, on GPUs before Hopper: their software has much of it in chains of
    /// PyTorch's kernels.
    Elementwise,
    /// The same on GPUs from Hopper on, whose software has most of it in fused kernels.
    ElementwiseFromHopper,
    /// Starts of the kernels that do so.
    KernelStarts,
    /// Bytes between tensor-parallel ranks of one `NVLink` domain, on GPUs before Hopper.
    TensorNear,
    /// The same on GPUs from Hopper on, whose switches add up what an all-reduce sends.
    TensorNearFromHopper,
    /// Bytes between tensor-parallel ranks over the network.
    TensorFar,
    /// Bytes of tokens to experts and back within one `NVLink` domain.
    ExpertNear,
    /// Bytes of tokens to experts and back over the network.
    ExpertFar,
    /// Bytes between context-parallel ranks.
    Context,
    /// Starts of collectives: each waits until the last of its ranks has launched it.
    Collectives,
}

impl Cost {
    /// The kind in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Products => "matrix products",
            Self::ProductStarts => "starts of matrix products",
            Self::ExpertProducts => "matrix products of experts",
            Self::ExpertBytes => "bytes of the products of experts",
            Self::ExpertStarts => "starts of the products of experts",
            Self::Attention => "core attention",
            Self::Elementwise | Self::ElementwiseFromHopper => "bytes of all other kernels",
            Self::KernelStarts => "starts of kernels",
            Self::TensorNear | Self::TensorNearFromHopper => "tensor-parallel bytes within a node or NVLink domain",
            Self::TensorFar => "tensor-parallel bytes over the network",
            Self::ExpertNear => "expert-parallel bytes within a node or NVLink domain",
            Self::ExpertFar => "expert-parallel bytes over the network",
            Self::Context => "context-parallel bytes",
            Self::Collectives => "starts of collectives",
        }
    }

    /// The GPUs whose work is of this kind.
    pub(super) const fn gpus(self) -> &'static str {
        match self {
            Self::Elementwise | Self::TensorNear => "before Hopper",
            Self::ElementwiseFromHopper | Self::TensorNearFromHopper => "from Hopper on",
            Self::Products
            | Self::ProductStarts
            | Self::ExpertProducts
            | Self::ExpertBytes
            | Self::ExpertStarts
            | Self::Attention
            | Self::KernelStarts
            | Self::TensorFar
            | Self::ExpertNear
            | Self::ExpertFar
            | Self::Context
            | Self::Collectives => "all",
        }
    }

    /// What is known of its coefficient beside the runs.
    pub(super) const fn known_from(self) -> KnownFrom {
        match self {
            Self::Products | Self::ProductStarts => KnownFrom::ProductTables,
            Self::ExpertProducts | Self::ExpertBytes | Self::ExpertStarts | Self::Attention => {
                KnownFrom::OperatorTables
            }
            Self::ElementwiseFromHopper => KnownFrom::Kernels,
            Self::Elementwise | Self::KernelStarts => KnownFrom::Runs,
            Self::TensorNear
            | Self::TensorNearFromHopper
            | Self::TensorFar
            | Self::ExpertNear
            | Self::ExpertFar
            | Self::Context
            | Self::Collectives => KnownFrom::CollectiveTables,
        }
    }
}

/// Times that add up: nominal seconds by kind, or seconds of all kinds together.
pub(super) trait Time: Copy + Default + Add<Output = Self> + AddAssign + Mul<f64, Output = Self> {}

impl<T: Copy + Default + Add<Output = T> + AddAssign + Mul<f64, Output = T>> Time for T {}

/// Nominal seconds of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seconds([f64; Cost::COUNT]);

impl Seconds {
    /// So many seconds of one kind.
    #[must_use]
    pub fn of(cost: Cost, seconds: f64) -> Self {
        let mut all = Self::default();
        all.spend(cost, seconds);
        all
    }

    /// Adds seconds of one kind.
    pub fn spend(&mut self, cost: Cost, seconds: f64) {
        if let Some(slot) = self.0.get_mut(cost as usize) {
            *slot += seconds;
        }
    }

    /// The seconds that one kind takes in practice.
    #[must_use]
    pub fn in_practice(&self, cost: Cost, coefficients: &Coefficients) -> f64 {
        let seconds = self.0.get(cost as usize).zip(coefficients.factors.get(cost as usize));
        seconds.map_or(0.0, |(seconds, factor)| seconds * factor)
    }

    /// The seconds that all kinds take together in practice.
    #[must_use]
    pub fn total(&self, coefficients: &Coefficients) -> f64 {
        self.0
            .iter()
            .zip(&coefficients.factors)
            .map(|(seconds, factor)| seconds * factor)
            .sum()
    }
}

impl AddAssign for Seconds {
    fn add_assign(&mut self, other: Self) {
        for (slot, more) in self.0.iter_mut().zip(other.0) {
            *slot += more;
        }
    }
}

impl Add for Seconds {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl Mul<f64> for Seconds {
    type Output = Self;

    fn mul(self, times: f64) -> Self {
        Self(self.0.map(|seconds| seconds * times))
    }
}
