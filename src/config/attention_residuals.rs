//! Attention residuals, as Megatron-Bridge builds Kimi K3 (`KimiK3TransformerLayer`): the first layer of every block of
//! layers takes a snapshot of the residual stream, and both halves of each layer read a weighted sum of all snapshots and
//! the stream.

/// How many snapshots of the residual stream there are before a layer, and whether the layer takes another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttentionResiduals {
    /// Snapshots that earlier layers have taken (`bank_num_rows`).
    pub before: u16,
    /// Whether it takes one of its own input, and begins a new residual stream with the output of its mixer.
    pub takes: bool,
    /// Whether it is the last layer of the model, behind which snapshots and stream become one.
    pub last: bool,
}

impl AttentionResiduals {
    /// The attention residuals of decoder layer `index` of `num_layers`, counted from 0, in blocks of so many layers;
    /// `None` in a model that has none.
    pub(super) fn of(block: Option<u64>, num_layers: u64, index: u64) -> Option<Self> {
        let block = block?.max(1);
        Some(Self {
            before: u16::try_from(index.div_ceil(block)).unwrap_or(u16::MAX),
            takes: index.is_multiple_of(block),
            last: index.saturating_add(1) == num_layers,
        })
    }

    /// Snapshots that there are behind its mixer.
    #[must_use]
    pub fn after(self) -> u64 {
        u64::from(self.before) + u64::from(self.takes)
    }

    /// Snapshots that it hands to the next layer.
    #[must_use]
    pub fn handed_on(self) -> u64 {
        if self.last { 0 } else { self.after() }
    }
}
