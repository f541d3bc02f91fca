//! The double buffers of Megatron FSDP: two sets of buffers that layers use in turn (`FixedPoolAllocator`,
//! `MaxPoolAllocator`).

use super::group::FsdpGroup;
use super::{Fsdp, transposed};
use crate::config::choices::ShardingStrategy;
use crate::config::job::Module;
use crate::parallel::groups::View;
use crate::units::multiply;

/// The double buffers of a stage, and what stays beside them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pools {
    /// The layers that use them.
    units: Vec<u32>,
    /// Whether everything else has buffers of its own that stay.
    pub(super) keep_all: bool,
    /// The buffers for gathered parameters.
    pub(super) weights: Size,
    /// The buffers for gradients before their reduction.
    pub(super) gradients: Size,
}

/// The size of buffers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub(super) elements: u64,
    pub(super) bytes: u64,
}

/// A buffer of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PoolBuffer {
    view: View,
    fp8: bool,
    trained: bool,
    elements: u64,
}

/// Sets of buffers in a pool (`UB_BUFFER_NUM`).
const SETS: u64 = 2;

impl Pools {
    /// The pools for these groups; nothing without double buffers.
    pub(super) fn new(m: &Module, fsdp: &Fsdp, groups: &[FsdpGroup]) -> Self {
        let a = &m.args;
        if !a.fsdp_double_buffer || fsdp.strategy == ShardingStrategy::NoShard {
            return Self::default();
        }
        let layers = layers(groups);
        let (units, set) = if a.megatron_fsdp_max_pool_double_buffer {
            (layers.iter().map(|(unit, _)| *unit).collect(), largest(&layers))
        } else {
            most_alike(&layers)
        };
        let mut out = Self {
            units,
            keep_all: a.fsdp_db_use_persist_buf_on_alloc_fail,
            ..Self::default()
        };
        for buffer in set {
            out.add(m, fsdp, buffer, SETS);
        }
        if out.keep_all {
            for group in groups.iter().filter(|group| group.unit.is_some()) {
                if !out.has(group.unit_index) {
                    out.add(m, fsdp, PoolBuffer::from(group), 1);
                }
            }
            // The parameters outside of layers stay anyway.
            let weights = out.weights;
            for group in groups.iter().filter(|group| group.unit.is_none()) {
                out.add(m, fsdp, PoolBuffer::from(group), 1);
            }
            out.weights = weights;
        }
        out
    }

    /// Whether a layer uses the double buffers.
    pub(super) fn has(&self, unit: Option<u32>) -> bool {
        unit.is_some_and(|unit| self.units.binary_search(&unit).is_ok())
    }

    fn add(&mut self, m: &Module, fsdp: &Fsdp, buffer: PoolBuffer, times: u64) {
        let PoolBuffer {
            view,
            fp8,
            trained,
            elements,
        } = buffer;
        if fsdp.weight_ranks(view) > 1 {
            // Rows and columns have pools of their own.
            let copies = if fp8 && transposed(m) { 2 } else { 1 };
            let elements = multiply(elements, times * copies);
            self.weights.add(elements, fsdp.weight_bytes(fp8));
        }
        if trained && fsdp.grad_ranks(view) > 1 {
            let elements = multiply(elements, times);
            self.gradients.add(elements, fsdp.unreduced_bytes(fp8));
        }
    }
}

impl Size {
    fn add(&mut self, elements: u64, width: u64) {
        self.elements = self.elements.saturating_add(elements);
        self.bytes = self.bytes.saturating_add(multiply(elements, width));
    }
}

impl From<&FsdpGroup> for PoolBuffer {
    fn from(group: &FsdpGroup) -> Self {
        Self {
            view: group.view,
            fp8: group.fp8,
            trained: group.trained,
            elements: group.padded_elements,
        }
    }
}

/// The groups of every layer.
fn layers(groups: &[FsdpGroup]) -> Vec<(u32, Vec<&FsdpGroup>)> {
    let mut out: Vec<(u32, Vec<&FsdpGroup>)> = Vec::new();
    for group in groups {
        let Some(unit) = group.unit_index else {
            continue;
        };
        match out.last_mut().filter(|(last, _)| *last == unit) {
            Some((_, of)) => of.push(group),
            None => out.push((unit, vec![group])),
        }
    }
    out
}

/// Layers with buffers of the same sizes and dtypes.
struct Family {
    /// Of every buffer, whether it is in fp8, and its elements without padding.
    sizes: Vec<(bool, u64)>,
    units: Vec<u32>,
    buffers: Vec<PoolBuffer>,
}

/// The largest set of layers with buffers of the same sizes and dtypes, and these buffers.
fn most_alike(layers: &[(u32, Vec<&FsdpGroup>)]) -> (Vec<u32>, Vec<PoolBuffer>) {
    let mut families: Vec<Family> = Vec::new();
    for (unit, groups) in layers {
        let sizes: Vec<_> = groups.iter().map(|g| (g.fp8, g.elements)).collect();
        let known = families.iter_mut().find(|family| family.sizes == sizes);
        if let Some(family) = known {
            family.units.push(*unit);
        } else {
            let buffers = groups.iter().map(|group| PoolBuffer::from(*group));
            families.push(Family {
                sizes,
                units: vec![*unit],
                buffers: buffers.collect(),
            });
        }
    }
    // The first of the largest.
    let mut largest = (Vec::new(), Vec::new());
    for Family { units, buffers, .. } in families {
        if units.len() > largest.0.len() {
            largest = (units, buffers);
        }
    }
    largest
}

/// Buffers that fit every layer: of each dtype as many as a layer needs at most, the largest with the largest.
fn largest(layers: &[(u32, Vec<&FsdpGroup>)]) -> Vec<PoolBuffer> {
    let mut out: Vec<PoolBuffer> = Vec::new();
    for fp8 in [false, true] {
        let mut pool: Vec<PoolBuffer> = Vec::new();
        for (_, groups) in layers {
            let of_dtype = groups.iter().filter(|group| group.fp8 == fp8);
            let mut buffers: Vec<PoolBuffer> = of_dtype.map(|g| PoolBuffer::from(*g)).collect();
            buffers.sort_by_key(|buffer| core::cmp::Reverse(buffer.elements));
            for (index, buffer) in buffers.into_iter().enumerate() {
                match pool.get_mut(index) {
                    Some(largest) => {
                        largest.elements = largest.elements.max(buffer.elements);
                        largest.trained |= buffer.trained;
                    }
                    None => pool.push(buffer),
                }
            }
        }
        out.extend(pool);
    }
    out
}
