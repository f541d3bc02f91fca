//! What the generation of a GPU decides: which kernels run, in which precision, and how large their workspaces are.

pub use crate::config::choices::GpuGeneration;

/// A compute capability, such as (9, 0) for Hopper.
type Capability = (u8, u8);

impl GpuGeneration {
    /// The generation that is assumed for a GPU that is not known.
    pub const ASSUMED: Self = Self::Hopper;

    /// The name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Volta => "Volta",
            Self::Ampere => "Ampere",
            Self::Ada => "Ada",
            Self::Hopper => "Hopper",
            Self::Blackwell => "Blackwell",
            Self::BlackwellSm12x => "Blackwell with compute capability 12",
            Self::Rubin => "Rubin",
            Self::Cdna3 => "CDNA 3",
            Self::Cdna4 => "CDNA 4",
        }
    }

    /// The generation whose kernels and workspaces an estimate takes. The frameworks at the revisions that are followed
    /// here have no case of their own for Rubin, and Transformer Engine there does not run on GPUs of AMD.
    #[must_use]
    pub const fn stands_for(self) -> Self {
        match self {
            Self::Rubin => Self::Blackwell,
            Self::Cdna3 | Self::Cdna4 => Self::Hopper,
            other => other,
        }
    }

    /// The compute capability that the frameworks ask for.
    const fn capability(self) -> Capability {
        match self.stands_for() {
            Self::Volta => (7, 0),
            Self::Ampere => (8, 0),
            Self::Ada => (8, 9),
            Self::Blackwell | Self::Rubin => (10, 0),
            Self::BlackwellSm12x => (12, 0),
            Self::Hopper | Self::Cdna3 | Self::Cdna4 => (9, 0),
        }
    }

    /// The first part of the compute capability: 9 for Hopper.
    #[must_use]
    pub const fn major(self) -> u8 {
        self.capability().0
    }

    /// KiB of the workspace of one cuBLAS handle of PyTorch (`parseChosenWorkspaceSize`).
    #[must_use]
    pub const fn pytorch_workspace_kib(self) -> u64 {
        match self.major() {
            9 | 10 | 12 => 32 * 1024,
            _ => 2 * 4096 + 8 * 16,
        }
    }

    /// KiB of the workspace of one cuBLAS stream of Transformer Engine (`get_cublas_workspace_size_bytes`).
    #[must_use]
    pub const fn te_workspace_kib(self) -> u64 {
        if self.major() >= 9 { 32 * 1024 + 1 } else { 4 * 1024 }
    }

    /// Whether it computes in fp8 (`_compute_fp8_support`).
    #[must_use]
    pub fn computes_in_fp8(self) -> bool {
        self.capability() >= (8, 9)
    }

    /// Whether it computes in fp8 with a scale for each block (`_compute_fp8_block_scaling_support`).
    #[must_use]
    pub fn computes_in_blockwise_fp8(self) -> bool {
        self.capability() >= (9, 0)
    }

    /// Whether it computes in mxfp8 (`_compute_mxfp8_support`).
    #[must_use]
    pub fn computes_in_mxfp8(self) -> bool {
        self.major() >= 10 && self.major() < 12
    }

    /// Whether it multiplies fp8 in every layout, so that no transposed copy is kept (`is_non_tn_fp8_gemm_supported`).
    #[must_use]
    pub fn multiplies_fp8_in_every_layout(self) -> bool {
        self.major() >= 10 && self.major() < 12
    }
}
