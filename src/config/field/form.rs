//! Where and how soon the form shows a field.

use strum::{EnumCount, VariantArray};

use crate::variants::all;

/// A part of the form, in the order in which people think about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, EnumCount, VariantArray)]
pub enum Group {
    /// Layers, widths, vocabulary.
    Model,
    /// Heads, query groups, latent attention.
    Attention,
    /// Experts and the router.
    #[strum(serialize = "MoE")]
    Moe,
    /// How ranks share the work.
    Parallelism,
    /// Micro batch, global batch, sequence length.
    #[strum(serialize = "Batch and sequence")]
    Batch,
    /// Activations that are recomputed or offloaded instead of saved.
    #[strum(serialize = "Memory savers")]
    MemorySavers,
    /// Training precision and optimizer states.
    #[strum(serialize = "Optimizer and precision")]
    Optimizer,
    /// Small matrices that are trained beside a model that is not.
    Adapters,
    /// Kernels and fusions, which decide what autograd keeps.
    Kernels,
    /// The GPU, and what sits outside the allocator.
    Hardware,
    /// Images and sounds: front end, tokens and projector of an encoder.
    Encoder,
}

impl Group {
    /// All groups in form order.
    pub const ALL: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// The heading on the page.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.into()
    }
}

/// How soon a field is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Always visible in its section.
    Essential,
    /// Under "more".
    More,
    /// Under "all flags".
    All,
}
