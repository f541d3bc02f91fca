//! The nominal seconds of the passes over one tape.

use super::cost::{Cost, Seconds, Time};
use super::hardware::Hardware;
use crate::config::choices::CudaGraphImpl;
use crate::config::job::Module;
use crate::model::tape::recompute::{RecomputeOptions, recomputed};
use crate::model::tape::{ActivationTensor, AutogradTape, Gradient, Product, TensorId, UseKind, Work};

/// The passes of one micro batch over a part of a chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct Passes<T> {
    /// The forward pass.
    pub(super) forward: T,
    /// The backward pass, without what is recomputed for it.
    pub(super) backward: T,
    /// What each operation of the tape takes of the forward pass.
    operations: Vec<T>,
    /// Floating-point operations of the forward pass.
    pub(super) flops: f64,
}

impl<T: Time> Passes<T> {
    /// What selective recompute runs again of the tape of these passes.
    pub(super) fn again(&self, tape: &AutogradTape, options: RecomputeOptions) -> T {
        let sections = recomputed(tape, options);
        let mut again = T::default();
        for (index, forward) in self.operations.iter().enumerate() {
            if sections.iter().any(|section| section.ops.contains(&index)) {
                again += *forward;
            }
        }
        again
    }
}

/// Nominal seconds from the launch of a kernel to its first byte. Only a unit: what a start takes is this times the
/// fitted factor of [`Cost::KernelStarts`].
const KERNEL_START: f64 = 5e-6;
/// The part of the host's launches that is left with CUDA graphs: an assumption amid the 0.1 to 0.6 that measured runs
/// with graphs show.
const WITH_GRAPHS: f64 = 0.3;

/// The part of the host's launches of kernels and collectives that takes time.
pub(super) fn launched(m: &Module) -> f64 {
    match m.args.cuda_graph_impl {
        CudaGraphImpl::None => 1.0,
        CudaGraphImpl::Local | CudaGraphImpl::TransformerEngine | CudaGraphImpl::FullIteration => WITH_GRAPHS,
    }
}

/// The passes over a tape, of whose kernels the host launches this part. `norm_forward` and `norm_backward` say how
/// often a norm reads or writes its input in each pass. `sum` makes times of nominal seconds.
pub(super) fn passes<T: Time>(
    tape: &AutogradTape,
    (on, launched): (&Hardware, f64),
    [norm_forward, norm_backward]: [f64; 2],
    sum: impl Fn(Seconds) -> T,
) -> Passes<T> {
    let mut passes = Passes {
        operations: vec![T::default(); tape.ops.len()],
        ..Passes::default()
    };
    for (index, op) in tape.ops.iter().enumerate() {
        let (forward, backward) = match op.work {
            Work::Exchange => continue,
            Work::Attention(flops) => {
                passes.flops += wide(flops);
                attention(wide(flops), on)
            }
            Work::SparseAttention(of) => {
                passes.flops += wide(of.counted);
                let seconds = |flops| Seconds::of(Cost::Attention, wide(flops) / on.half.peak);
                (seconds(of.forward), seconds(of.backward))
            }
            Work::MemoryBound | Work::UncountedFlops => memory_bound(tape, index, (on, launched)),
            Work::Scan(flops) => {
                passes.flops += wide(flops);
                memory_bound(tape, index, (on, launched))
            }
            Work::Product(product) | Work::UncountedProduct(product) => {
                if matches!(op.work, Work::Product(_)) {
                    passes.flops += wide(product.flops());
                }
                let (mut forward, mut backward) = product_passes(&product, on);
                if product.normed {
                    let input: f64 = tape
                        .of(index, UseKind::Input(Gradient::New))
                        .map(|id| bytes(tape, id))
                        .sum();
                    forward.spend(on.elementwise(), norm_forward * input / on.memory);
                    backward.spend(on.elementwise(), norm_backward * input / on.memory);
                }
                (forward, backward)
            }
        };
        let forward = sum(forward);
        passes.forward += forward;
        passes.backward += sum(backward);
        if let Some(operation) = passes.operations.get_mut(index) {
            *operation = forward;
        }
    }
    passes
}

#[allow(clippy::cast_precision_loss, reason = "elements and operations as a time in seconds")]
pub(super) fn wide(n: u64) -> f64 {
    n as f64
}

fn bytes(tape: &AutogradTape, id: TensorId) -> f64 {
    tape.get(id).map_or(0.0, |tensor| wide(ActivationTensor::bytes(tensor)))
}

/// A backward pass of fused attention computes five products where the forward pass has two.
fn attention(flops: f64, on: &Hardware) -> (Seconds, Seconds) {
    let seconds = flops / on.half.peak;
    (
        Seconds::of(Cost::Attention, seconds),
        Seconds::of(Cost::Attention, 2.5 * seconds),
    )
}

/// Bytes that an operation reads and writes in its two passes.
fn memory_bound(tape: &AutogradTape, op: usize, (on, launched): (&Hardware, f64)) -> (Seconds, Seconds) {
    let links = tape.links(op);
    let (mut forward, mut backward) = (0.0, 0.0);
    let mut passed_on = 0;
    for link in links {
        let bytes = bytes(tape, link.tensor);
        match link.role {
            UseKind::Input(gradient) => {
                forward += bytes;
                match gradient {
                    Gradient::New | Gradient::Over(_) => backward += bytes,
                    Gradient::Shared => passed_on += 1,
                    Gradient::None => {}
                }
            }
            UseKind::Output => {
                forward += bytes;
                backward += bytes;
            }
            UseKind::Saved => {
                let own = !links.iter().any(|other| {
                    other.tensor == link.tensor && matches!(other.role, UseKind::Input(_) | UseKind::Output)
                });
                if own {
                    forward += bytes;
                }
                backward += bytes;
            }
            UseKind::Forward => forward += 2.0 * bytes,
            UseKind::Backward => backward += 2.0 * bytes,
            UseKind::Delayed | UseKind::DelayedGradient | UseKind::WeightGradient => {}
        }
    }
    if passed_on > 0 {
        // The gradients that reach the residual stream from both sides are added up.
        backward = if passed_on > 1 { forward } else { 0.0 };
    }
    let seconds = |bytes: f64| {
        let mut seconds = Seconds::of(on.elementwise(), bytes / on.memory);
        if bytes > 0.0 {
            seconds.spend(Cost::KernelStarts, KERNEL_START * launched);
        }
        seconds
    };
    (seconds(forward), seconds(backward))
}

/// The products of a linear layer: forward; and for the gradients of its input and of its weight.
fn product_passes(product: &Product, on: &Hardware) -> (Seconds, Seconds) {
    let speed = if product.quantized { on.quantized } else { on.half };
    let flops = wide(product.flops()) / (speed.peak * speed.reached);
    let input = wide(product.rows) * wide(product.inner);
    let output = wide(product.rows) * wide(product.columns);
    let weights = wide(product.weights());
    let width = if product.quantized { 1.0 } else { 2.0 };
    let one = |bytes: f64| {
        let moved = bytes / on.memory;
        match product.experts {
            Some(experts) => {
                let mut seconds = Seconds::of(Cost::ExpertProducts, flops);
                seconds.spend(Cost::ExpertBytes, moved);
                seconds.spend(Cost::ExpertStarts, wide(experts) * 1e-6);
                seconds
            }
            None => Seconds::of(Cost::Products, flops.max(moved)) + Seconds::of(Cost::ProductStarts, speed.start),
        }
    };
    let mut forward = one((input + weights) * width + 2.0 * output);
    let mut backward = one((output + weights) * width + 2.0 * input);
    if product.trained {
        // The weight gradient is added to one in fp32.
        backward += one((input + output) * width + 8.0 * weights);
    }
    if product.quantized {
        // Operands are read in 16 bits, and written in 8 for both layouts that the products need.
        forward.spend(on.elementwise(), 2.5 * input / on.memory);
        backward.spend(on.elementwise(), 2.5 * output / on.memory);
    }
    (forward, backward)
}
