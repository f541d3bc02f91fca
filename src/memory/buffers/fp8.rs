//! The copies of weights in fp8 that Transformer Engine keeps besides the parameters, their scales, and the recipe's
//! state.

use super::list::{BufferKind, List};
use super::site::Site;
use crate::config::choices::Fp8Recipe;
use crate::config::job::Module;
use crate::memory::parameters::one_tensor;
use crate::model;
use crate::model::output_layer::output_weight;
use crate::model::quantization::{Fp8, QuantizationRecipe, quantizes_output, quantizes_parameters};
use crate::model::tape::{BLOCK, block};
use crate::model::tensor::{Shape, Sharding, factor};
use crate::source::Source;
use crate::units::{add_times, multiply};

/// The sizes of the copies for one part of the model.
#[derive(Clone, Copy, Default)]
pub(super) struct Part {
    /// Elements of its linear layers' weights.
    elements: u64,
    /// Bytes of their scales.
    scales: u64,
    /// Bytes of what the recipe keeps for them, their inputs and gradients.
    state: u64,
}

impl Part {
    pub(super) fn new(m: &Module, part: &model::Part) -> Self {
        let mut out = Self::default();
        let Some(fp8) = Fp8::of(m).filter(|_| part.kind.in_fp8()) else {
            return out;
        };
        let tensors = part.parameters.iter();
        for tensor in tensors.filter(|tensor| tensor.linear_weight()) {
            let (each, count) = one_tensor(m, tensor);
            let scales = match fp8.weight_block {
                // One number, for both copies.
                0 => block(fp8.scale),
                elements => {
                    // NVFP4 has a scale of the whole tensor besides, for each copy.
                    let whole = if fp8.per_byte > 1 { block(4) } else { 0 };
                    (block(each.div_ceil(elements) * fp8.scale) + whole) * fp8.both
                }
            };
            let grouped = tensor.sharding == Sharding::Expert && m.args.moe_grouped_gemm;
            let (modules, products) = if grouped { (1, count) } else { (count, 1) };
            // Input, weight and output; then the gradients of output and input.
            let recipe = QuantizationRecipe::of(&m.args);
            let [forward, backward] = [3, 2].map(|tensors| match recipe {
                Some(QuantizationRecipe::Fp8(Fp8Recipe::Delayed)) => {
                    let numbers = 4 * tensors * products;
                    block(numbers) + block(multiply(numbers, m.args.fp8_amax_history_len))
                }
                // A scale and a maximum for each.
                Some(QuantizationRecipe::Fp8(Fp8Recipe::Tensorwise)) => 2 * block(4) * tensors * products,
                _ => 0,
            });
            let one = Self {
                elements: multiply(each, count),
                scales: multiply(scales, count),
                state: multiply(forward.saturating_add(backward), modules),
            };
            out.add(one, 1);
        }
        out
    }

    fn add(&mut self, other: Self, times: u64) {
        add_times(&mut self.elements, other.elements, times);
        add_times(&mut self.scales, other.scales, times);
        add_times(&mut self.state, other.state, times);
    }
}

/// Copies of weights in fp8, and what goes with them.
pub(super) fn buffers(parts: &[Part], site: &Site<'_>, out: &mut List) {
    let Some(fp8) = site.sizes.fp8 else { return };
    let mut all = Part::default();
    for counts in &site.parts {
        for (part, times) in parts.iter().zip(counts) {
            all.add(*part, *times);
        }
    }
    let (m, a) = (site.sizes.m, &site.sizes.m.args);
    // Parameters in fp8 have one of the two copies among the weights, and those in fp4 both, of half a byte each.
    let (copies, scales) = match (quantizes_parameters(m), a.disable_parameter_transpose_cache) {
        (true, _) if fp8.per_byte > 1 => (0, all.scales),
        (true, _) => (fp8.weight_copies(a) - 1, all.scales),
        (false, false) => (fp8.weight_copies(a), all.scales),
        (false, true) => (0, 0),
    };
    let split = site.fsdp.as_ref().and_then(|fsdp| fsdp.fp8_copies);
    let (elements, copies) = split.map_or((all.elements, copies), |elements| (elements, 1));
    let shape = fp8.data(Shape::of(&[factor("parameters", elements)]));
    let bytes = multiply(shape.elements(), copies);
    let what = "copies of weights in fp8";
    let kind = BufferKind::Tensor;
    out.add(kind, what, (shape, copies), bytes, Source::TeFp8Weights);
    let mut sum = |what, bytes, source| {
        let shape = Shape::of(&[factor("blocks of the allocator", bytes / BLOCK)]);
        out.add(kind, what, (shape, BLOCK), bytes, source);
    };
    sum("scales of weights in fp8", scales, Source::TeFp8Weights);
    let what = "scales and maxima of the fp8 recipe";
    sum(what, all.state, Source::TeFp8State);
    if site.output && quantizes_output(m) && !a.disable_parameter_transpose_cache {
        let weight = output_weight(m).shape;
        let what = "copies of the output layer's weight in fp8";
        let shape = weight.times(factor("by rows and by columns", fp8.weight_copies(a)));
        out.tensor(what, shape, 1, Source::OutputLayerInFp8);
        let what = "scales of the output layer's weight in fp8";
        let shape = fp8.weight_scales(shape);
        out.tensor(what, shape, fp8.scale, Source::OutputLayerInFp8);
    }
}
