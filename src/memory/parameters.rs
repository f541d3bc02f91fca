//! Parameter counts by component and sharding.

use core::iter::Sum;

use crate::config::job::Module;
use crate::model::tensor::{Component, ParamTensor, Sharding};
use crate::model::{Architecture, PartKind, trained};
use crate::units::add_times;

/// Elements of one component in one sharding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All elements.
    pub elements: u64,
    /// Elements of matrices that are neither embedding nor output layer, which Muon treats its own way.
    pub matrices: u64,
    /// Elements of weights of linear layers that compute in fp8 where the module does.
    pub quantized: u64,
    /// Elements that stay in fp32 where the module is trained in 16 bits.
    pub in_fp32: u64,
}

/// Parameter counts by component and sharding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// The counts that are not zero, by row and sharding: a chunk has a dozen of them.
    counts: Vec<Entry>,
    /// All rows together, kept up to date because every bucket of every stage asks for them.
    held: [Count; 3],
}

impl Parameters {
    /// The count of one component in one sharding.
    #[must_use]
    pub fn count(&self, component: Component, mtp: bool, sharding: Sharding) -> Count {
        let at = self.place(row(component, mtp), sharding).ok();
        let entry = at.and_then(|at| self.counts.get(at));
        entry.map(|entry| entry.count).unwrap_or_default()
    }

    /// All counts that are not zero, in the order of [`Component::ALL`], the decoder first.
    pub fn iter(&self) -> impl Iterator<Item = (Component, bool, Sharding, Count)> {
        self.counts.iter().filter_map(|entry| {
            let (component, mtp) = named(entry.row)?;
            Some((component, mtp, entry.sharding, entry.count))
        })
    }

    /// Elements of each component, all shardings together.
    pub fn components(&self) -> impl Iterator<Item = (Component, bool, u64)> {
        let rows = self.counts.chunk_by(|a, b| a.row == b.row);
        rows.filter_map(|entries| {
            let (component, mtp) = named(entries.first()?.row)?;
            let elements = entries.iter().map(|entry| entry.count.elements);
            Some((component, mtp, elements.sum()))
        })
    }

    /// The count of one sharding.
    #[must_use]
    pub fn held_count(&self, sharding: Sharding) -> Count {
        self.held.get(sharding as usize).copied().unwrap_or_default()
    }

    /// Elements in one sharding.
    #[must_use]
    pub fn held(&self, sharding: Sharding) -> u64 {
        self.held_count(sharding).elements
    }

    /// All elements.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.held.iter().map(|c| c.elements).sum()
    }

    /// Elements that are trained.
    #[must_use]
    pub fn trainable(&self, m: &Module) -> u64 {
        let counts = self.components();
        let trained = counts.filter(|(component, ..)| trained(m, *component));
        trained.map(|(.., elements)| elements).sum()
    }

    /// Elements that one token meets, when these are the counts of a whole model.
    #[must_use]
    pub fn active(&self, m: &Module) -> u64 {
        // Adapters that experts share serve every token.
        let adapters = |mtp| self.count(Component::Adapters, mtp, Sharding::Expert).elements;
        let shared = if m.args.peft_share_expert_adapters {
            adapters(false) + adapters(true)
        } else {
            0
        };
        let experts = self.held(Sharding::Expert) - shared;
        let chosen = m.moe.as_ref().map_or(0, |moe| {
            // A token visits one of two pools: counted is that of text.
            let text = u128::from(moe.ffn_hidden_size);
            let all = text + u128::from(m.args.moe_vision_ffn_hidden_size.unwrap_or(0));
            let visited = u128::from(experts) * text / all.max(1);
            let share = visited * u128::from(moe.topk.min(moe.num_experts)) / u128::from(moe.num_experts);
            u64::try_from(share).unwrap_or(u64::MAX)
        });
        self.total() - experts + chosen
    }

    fn add(&mut self, entry: Entry, times: u64) {
        if entry.count.elements == 0 || times == 0 {
            return;
        }
        let at = self.place(entry.row, entry.sharding).unwrap_or_else(|at| {
            let count = Count::default();
            self.counts.insert(at, Entry { count, ..entry });
            at
        });
        let count = self.counts.get_mut(at).map(|entry| &mut entry.count);
        let held = self.held.get_mut(entry.sharding as usize);
        for count in count.into_iter().chain(held) {
            count.add(entry.count, times);
        }
    }

    /// Where the count of a row in one sharding is, or belongs.
    fn place(&self, row: usize, sharding: Sharding) -> Result<usize, usize> {
        let place = (row, sharding);
        self.counts
            .binary_search_by(|entry| (entry.row, entry.sharding).cmp(&place))
    }
}

impl Count {
    /// The count of `elements` elements of one tensor of a part of this kind.
    pub(super) fn of(kind: PartKind, tensor: &ParamTensor, elements: u64) -> Self {
        let part = |counts: bool| if counts { elements } else { 0 };
        Self {
            elements,
            matrices: part(tensor.muon_matrix()),
            quantized: part(kind.in_fp8() && tensor.linear_weight()),
            in_fp32: part(tensor.keep_in_fp32),
        }
    }

    /// Adds so many times another count.
    pub(super) fn add(&mut self, other: Self, times: u64) {
        add_times(&mut self.elements, other.elements, times);
        add_times(&mut self.matrices, other.matrices, times);
        add_times(&mut self.quantized, other.quantized, times);
        add_times(&mut self.in_fp32, other.in_fp32, times);
    }
}

impl<'a> Sum<&'a Self> for Parameters {
    fn sum<I: Iterator<Item = &'a Self>>(mut items: I) -> Self {
        let mut total = items.next().cloned().unwrap_or_default();
        for entry in items.flat_map(|item| &item.counts) {
            total.add(*entry, 1);
        }
        total
    }
}

/// The place of a component in the order of [`Component::ALL`], the MTP block's after the decoder's.
fn row(component: Component, mtp: bool) -> usize {
    component as usize + if mtp { Component::COUNT } else { 0 }
}

fn named(row: usize) -> Option<(Component, bool)> {
    let component = Component::ALL.get(row % Component::COUNT)?;
    Some((*component, row >= Component::COUNT))
}

/// Elements of one tensor on this rank, and how many there are: every local expert has its own, and every deepstack
/// projector.
pub(crate) fn one_tensor(m: &Module, tensor: &ParamTensor) -> (u64, u64) {
    // Adapters of grouped experts are one tensor, whether experts share it or not.
    let grouped_adapters = tensor.component == Component::Adapters && m.args.moe_grouped_gemm;
    let copies = match &m.moe {
        Some(moe) if tensor.sharding == Sharding::Expert && !grouped_adapters => moe.num_experts / m.ep.max(1),
        _ if tensor.name.starts_with("decoder.deepstack_merger_list") => m.args.deepstack_projectors,
        _ => 1,
    };
    let copies = copies.max(1);
    (tensor.shape.elements() / copies, copies)
}

/// The parameters of each part of an architecture, counted once and multiplied for every chunk.
pub(crate) struct PartTable {
    parts: Vec<Vec<Entry>>,
}

/// The count of one component in one sharding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    row: usize,
    sharding: Sharding,
    count: Count,
}

impl PartTable {
    /// Elements on one rank.
    pub(super) fn local(architecture: &Architecture) -> Self {
        Self::new(architecture, |tensor| tensor.shape.elements())
    }

    /// Elements of the whole model.
    pub(super) fn whole(architecture: &Architecture) -> Self {
        Self::new(architecture, |tensor| {
            u64::try_from(tensor.shape.whole()).unwrap_or(u64::MAX)
        })
    }

    fn new(architecture: &Architecture, elements: impl Fn(&ParamTensor) -> u64) -> Self {
        let entry = |kind: PartKind, tensor: &ParamTensor| {
            // A copy of the word embedding for MTP is still the word embedding.
            let row = row(tensor.component, kind.is_mtp());
            Entry {
                row,
                sharding: tensor.sharding,
                count: Count::of(kind, tensor, elements(tensor)),
            }
        };
        let parts = architecture.parts().iter().map(|part| {
            let parameters = part.parameters.iter();
            parameters.map(|tensor| entry(part.kind, tensor)).collect()
        });
        Self { parts: parts.collect() }
    }

    /// The counts of so many of each part.
    pub(super) fn total(&self, parts: &[u64]) -> Parameters {
        let mut total = Parameters::default();
        for (entries, times) in self.parts.iter().zip(parts) {
            if *times > 0 {
                for entry in entries {
                    total.add(*entry, *times);
                }
            }
        }
        total
    }
}
