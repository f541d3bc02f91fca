//! The weights of a reference model: a frozen copy of the trained one, without its adapters.

use super::list::{BufferKind, List};
use super::site::Site;
use crate::config::job::Module;
use crate::memory::parameters::one_tensor;
use crate::model;
use crate::model::tape::block;
use crate::model::tensor::{Component, Shape};
use crate::source::Source;
use crate::units::{add_times, multiply};

/// Bytes of one part's weights: each is a tensor of its own, in the dtype of training.
pub(super) fn bytes(m: &Module, part: &model::Part) -> u64 {
    let mut out = 0;
    if !m.args.ref_model {
        return out;
    }
    let tensors = part.parameters.iter();
    for tensor in tensors.filter(|tensor| tensor.component != Component::Adapters) {
        let (each, count) = one_tensor(m, tensor);
        let width = if tensor.keep_in_fp32 { 4 } else { m.precision.bytes() };
        let bytes = block(multiply(each, width));
        add_times(&mut out, bytes, count);
    }
    out
}

/// The weights of the copy's parts on a stage.
pub(super) fn buffers(parts: &[u64], site: &Site<'_>, out: &mut List) {
    let mut all = 0;
    for counts in &site.parts {
        for (bytes, times) in parts.iter().zip(counts) {
            add_times(&mut all, *bytes, *times);
        }
    }
    let shape = (Shape::of(&[]), site.sizes.width());
    let what = "weights of the reference model";
    out.add(BufferKind::Tensor, what, shape, all, Source::SwiftRefModels);
}
