//! The parameters that one call of `fully_shard` manages.

use crate::memory::caching_allocator::unsplit;
use crate::memory::fsdp::parameter::Parameter;
use crate::model::tape::block;
use crate::parallel::groups::View;
use crate::units::{add_times, multiply};

/// Parameters that are gathered and reduced together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ParamGroup {
    /// Of dense parameters and of routed experts.
    shards: [Shards; 2],
    /// The trained ones among them.
    trained: [Shards; 2],
}

/// Sums over parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shards {
    /// Their elements.
    pub(super) elements: u64,
    /// Elements of the first rank's part: its rows of the first dimension, of which the last ranks may have fewer.
    pub(super) part: u64,
    /// Bytes of these parts in blocks of the allocator, with 2 and with 4 bytes an element.
    pub(super) blocks: [u64; 2],
    /// Bytes of the tails of their blocks that the allocator does not split off, with 2 and with 4 bytes an element.
    pub(super) unsplit: [u64; 2],
}

/// Bytes of an element of which [`Shards`] has sums.
pub(super) const WIDTHS: [u64; 2] = [2, 4];

impl ParamGroup {
    /// The group of these parameters, split over so many ranks.
    pub(super) fn new(parameters: &[Parameter], ranks: u64) -> Self {
        let mut out = Self::default();
        for parameter in parameters {
            let (elements, row) = (parameter.size.elements, parameter.size.row.max(1));
            let part = multiply((elements / row).div_ceil(ranks), row);
            let one = Shards {
                elements,
                part,
                blocks: WIDTHS.map(|width| block(multiply(part, width))),
                unsplit: WIDTHS.map(|width| unsplit(multiply(part, width))),
            };
            let view = parameter.attributes.view as usize;
            let trained = parameter.attributes.trained.then_some(&mut out.trained);
            for into in [Some(&mut out.shards), trained].into_iter().flatten() {
                if let Some(into) = into.get_mut(view) {
                    into.add(one, 1);
                }
            }
        }
        out
    }

    pub(super) fn add(&mut self, other: &Self, times: u64) {
        let own = self.shards.iter_mut().chain(&mut self.trained);
        for (into, from) in own.zip(other.shards.iter().chain(&other.trained)) {
            into.add(*from, times);
        }
    }

    /// All parameters of a view, or the trained ones.
    pub(super) fn of(&self, view: View, trained: bool) -> Shards {
        let from = if trained { &self.trained } else { &self.shards };
        from.get(view as usize).copied().unwrap_or_default()
    }

    /// Elements of the parameters of all ranks with their padding.
    pub(super) fn gathered(&self, ranks: u64) -> u64 {
        multiply(self.shards.iter().map(|shards| shards.part).sum(), ranks)
    }

    /// Elements of this rank's part of the reduced gradients.
    pub(super) fn reduced(&self) -> u64 {
        self.trained.iter().map(|shards| shards.part).sum()
    }

    /// Elements of the gradients before they are reduced.
    pub(super) fn gradients(&self) -> u64 {
        self.trained.iter().map(|shards| shards.elements).sum()
    }
}

impl Shards {
    fn add(&mut self, other: Self, times: u64) {
        add_times(&mut self.elements, other.elements, times);
        add_times(&mut self.part, other.part, times);
        for (into, from) in self.blocks.iter_mut().zip(other.blocks) {
            add_times(into, from, times);
        }
        for (into, from) in self.unsplit.iter_mut().zip(other.unsplit) {
            add_times(into, from, times);
        }
    }
}
