//! The rests behind tensors of 1 to 10 MiB. These share segments of 20 MiB in the order in which they are made, and what
//! is left of a segment stays with its last tensor where it is 1 MiB or less.

use crate::memory::allocator::Filling;
use crate::memory::caching_allocator::shares_a_segment;
use crate::parallel::groups::View;
use crate::units::multiply;

/// Equal tensors of one part of a model.
#[derive(Clone, Copy, Debug)]
pub(super) struct EqualTensors {
    pub(super) view: View,
    /// Elements of each.
    pub(super) elements: u64,
    /// How many there are.
    pub(super) count: u64,
}

/// Bytes of the rests behind one state of the tensors of a view, with elements of so many bytes. `parts` has the tensors of
/// each part, and how many of the part there are; states are made layer by layer.
pub(super) fn rests(parts: &[(&[EqualTensors], u64)], view: View, width: u64) -> u64 {
    let mut filling = Filling::new();
    let mut bytes = 0u64;
    let layers = parts.iter().map(|(_, times)| *times).max().unwrap_or(0);
    for layer in 0..layers {
        let of_layer = parts.iter().filter(|(_, times)| *times > layer);
        let tensors = of_layer.flat_map(|(tensors, _)| *tensors);
        for tensor in tensors.filter(|tensor| tensor.view == view) {
            let size = multiply(tensor.elements, width);
            if shares_a_segment(size) {
                bytes = bytes.saturating_add(filling.allocate(size, tensor.count));
            }
        }
    }
    bytes
}
