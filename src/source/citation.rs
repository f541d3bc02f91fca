//! A place that states a number or a rule, and its address.

use std::borrow::Cow;

use super::{MEGATRON_BRIDGE_REVISION, MEGATRON_LM_DEV_REVISION, MEGATRON_LM_REVISION};

/// Who published it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A file of Megatron-LM.
    #[default]
    MegatronLm,
    /// A file of Megatron-LM's dev branch.
    MegatronLmDev,
    /// A file of Megatron-Bridge.
    MegatronBridge,
    /// A file of Transformer Engine 2.12.
    TransformerEngine,
    /// A file of PyTorch 2.9.
    PyTorch,
    /// A file of mamba 2.3.2.
    Mamba,
    /// A file of transformers 4.57.1.
    Transformers,
    /// A web page; the place is its address.
    Page,
}

/// A place that states a number or a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Citation {
    /// Who published it.
    pub origin: Origin,
    /// File path, arXiv number or address.
    pub place: &'static str,
    /// Symbol, equation or section.
    pub symbol: &'static str,
}

impl Citation {
    /// A symbol in a file that someone published, or what to look for on a web page.
    const fn of(origin: Origin, place: &'static str, symbol: &'static str) -> Self {
        Self { origin, place, symbol }
    }

    /// A Megatron-LM file and symbol.
    #[must_use]
    pub const fn megatron(place: &'static str, symbol: &'static str) -> Self {
        Self::of(Origin::MegatronLm, place, symbol)
    }

    /// A Megatron-Bridge file and symbol.
    #[must_use]
    pub const fn megatron_bridge(place: &'static str, symbol: &'static str) -> Self {
        Self::of(Origin::MegatronBridge, place, symbol)
    }

    /// A file and symbol of Megatron-LM's dev branch.
    #[must_use]
    pub const fn megatron_dev(place: &'static str, symbol: &'static str) -> Self {
        Self {
            origin: Origin::MegatronLmDev,
            place,
            symbol,
        }
    }

    /// A Transformer Engine file and symbol.
    #[must_use]
    pub const fn transformer_engine(place: &'static str, symbol: &'static str) -> Self {
        Self::of(Origin::TransformerEngine, place, symbol)
    }

    /// A `PyTorch` file and symbol.
    #[must_use]
    pub const fn pytorch(place: &'static str, symbol: &'static str) -> Self {
        Self::of(Origin::PyTorch, place, symbol)
    }

    /// A file and symbol of mamba.
    #[must_use]
    pub const fn mamba(place: &'static str, symbol: &'static str) -> Self {
        Self::of(Origin::Mamba, place, symbol)
    }

    /// A file and symbol of transformers.
    #[must_use]
    pub const fn transformers(place: &'static str, symbol: &'static str) -> Self {
        Self::of(Origin::Transformers, place, symbol)
    }

    /// A web page: its address, and what to look for there.
    #[must_use]
    pub const fn page(place: &'static str, symbol: &'static str) -> Self {
        Self::of(Origin::Page, place, symbol)
    }

    /// The address to open.
    #[must_use]
    pub fn url(&self) -> Cow<'static, str> {
        let Self { origin, place, .. } = self;
        let (repository, revision) = match origin {
            Origin::MegatronLm => ("NVIDIA/Megatron-LM", MEGATRON_LM_REVISION),
            Origin::MegatronLmDev => ("NVIDIA/Megatron-LM", MEGATRON_LM_DEV_REVISION),
            Origin::MegatronBridge => ("NVIDIA-NeMo/Megatron-Bridge", MEGATRON_BRIDGE_REVISION),
            Origin::TransformerEngine => ("NVIDIA/TransformerEngine", "v2.12"),
            Origin::PyTorch => ("pytorch/pytorch", "v2.9.0"),
            Origin::Mamba => ("state-spaces/mamba", "v2.3.2.post1"),
            Origin::Transformers => ("huggingface/transformers", "v4.57.1"),
            Origin::Page => return Cow::Borrowed(place),
        };
        let parts = ["https://github.com/", repository, "/blob/", revision, "/", place];
        Cow::Owned(parts.concat())
    }

    /// Publisher, place and symbol in one line.
    #[must_use]
    pub fn title(&self) -> String {
        let publisher = match self.origin {
            Origin::MegatronLm => "Megatron-LM",
            Origin::MegatronLmDev => "Megatron-LM (dev)",
            Origin::MegatronBridge => "Megatron-Bridge",
            Origin::TransformerEngine => "Transformer Engine",
            Origin::PyTorch => "PyTorch",
            Origin::Mamba => "mamba",
            Origin::Transformers => "transformers",
            Origin::Page => return format!("{} ({})", self.symbol, self.place),
        };
        format!("{publisher} {}: {}", self.place, self.symbol)
    }
}
