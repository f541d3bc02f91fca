//! What the capture of `cuda_graph_impl` local holds for each block of a chunk, beside what the block's tape says.
//!
//! A layer's graph reads and writes static tensors in the pool that all graphs share. Its input is the output of the
//! graph before, or else a tensor of its own; autograd keeps it as it keeps every input. Its output stays until its
//! backward graph is captured, and so does the gradient of that. Before its forward graph is captured, a layer runs
//! some times as it is, outside of the pool, and the main gradients of its parameters are copied, because these passes
//! add to them.

use super::blocks::{Block, BlockKind, CompiledTapes};
use super::bucket::State;
use super::states::StateRules;
use crate::config::job::Module;
use crate::model::tape::liveness::{CompiledTape, PassKind};
use crate::model::tape::recompute::RecomputeOptions;
use crate::model::tape::{AutogradTape, block};
use crate::model::{LayerSpec, layer_tape, trained};
use crate::units::multiply;
use std::sync::Arc;

/// Bytes that the capture of a block's graphs holds beside what its tape says; nothing for a block without graphs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockCapture {
    /// Static tensors that a micro batch keeps from the forward to the backward graph: the output where no graph reads
    /// it, and the input of an MTP layer.
    pub(crate) kept: u64,
    /// Static tensors in the backward graph: the same, and the output.
    pub(crate) backward: u64,
    /// The heaviest moment of the passes before the capture.
    pub(crate) warmup: u64,
    /// The static input, which waits beside these passes.
    pub(crate) input: u64,
    /// What Python variables still hold of these passes during the capture of the forward graph: copies of inputs, and
    /// outputs.
    pub(crate) variables: u64,
    /// Copies of main gradients.
    pub(crate) gradients: u64,
}

/// The bytes that the capture holds for each of these blocks.
pub(crate) fn captures(
    m: &Module,
    tapes: &CompiledTapes<'_>,
    blocks: &[Block<'_>],
    residual: u64,
) -> Vec<BlockCapture> {
    let whole = |block: Option<&Block<'_>>| block.is_some_and(|block| block.compiled.tape.is_captured_whole());
    let mut known: Vec<(BlockKind, BlockCapture)> = Vec::new();
    let mut of_kind = |kind| {
        if let Some((_, capture)) = known.iter().find(|(of, _)| *of == kind) {
            return *capture;
        }
        let capture = passes_before(m, tapes, kind, residual);
        known.push((kind, capture));
        capture
    };
    let captures = blocks.iter().enumerate().map(|(index, block)| {
        let graphs = block.compiled.tape.graphs.len() as u64;
        if graphs == 0 {
            return BlockCapture::default();
        }
        let mut capture = of_kind(block.kind);
        if whole(Some(block)) {
            capture.kept = if whole(blocks.get(index + 1)) { 0 } else { residual };
            capture.backward = residual;
        } else {
            // The tape of an MTP depth has neither its layer's static input, nor the output and its gradient.
            capture.kept = multiply(residual, graphs);
            capture.backward = multiply(residual, graphs + 2);
        }
        capture
    });
    captures.collect()
}

/// The bytes that the passes before the capture of a block's layers hold.
fn passes_before(m: &Module, tapes: &CompiledTapes<'_>, kind: BlockKind, residual: u64) -> BlockCapture {
    let specs = match kind {
        BlockKind::Layer(spec) => vec![spec],
        BlockKind::Head => LayerSpec::of_mtp(m),
        BlockKind::Embedding => Vec::new(),
    };
    let rules = StateRules::new(m);
    // One is forced where something is recomputed, because only its output leads to all parameters.
    let forced = u64::from(m.args.recompute_granularity.is_some());
    let warmups = m.args.cuda_graph_warmup_steps.max(forced);
    let mut most = BlockCapture::default();
    for spec in specs {
        let tape = layer_tape(tapes.sizes(), spec);
        most.gradients = most.gradients.max(main_gradients(m, &rules, &tape));
        if warmups > 0 {
            let passes = eager_passes(tapes, tape, residual, warmups);
            most.warmup = most.warmup.max(passes);
            most.input = residual;
            most.variables = 2 * residual;
        }
    }
    most
}

/// The heaviest moment of a layer's passes before the capture, in which nothing is recomputed. The output is a variable
/// until the next of them has made another.
fn eager_passes(tapes: &CompiledTapes<'_>, tape: AutogradTape, residual: u64, warmups: u64) -> u64 {
    let options = RecomputeOptions {
        recompute: None,
        ..tapes.sizes().recompute_options
    };
    let compiled = CompiledTape::new(Arc::new(tape), options);
    let peak = |pass| compiled.peak(pass).usage.total();
    let output = if warmups > 1 { residual } else { 0 };
    let forward = peak(PassKind::Forward).saturating_add(output);
    let backward = peak(PassKind::BackwardRetained).saturating_add(residual);
    forward.max(backward)
}

/// Bytes of the main gradients of a layer's parameters, each in a block of its own.
fn main_gradients(m: &Module, rules: &StateRules, tape: &AutogradTape) -> u64 {
    let parameters = tape.parameters.iter();
    let trained = parameters.filter(|parameter| trained(m, parameter.component));
    let bytes = trained.map(|parameter| {
        let rule = rules.of(State::MainGrads, parameter.sharding.view());
        block(multiply(parameter.shape.elements(), rule.bytes))
    });
    bytes.fold(0, u64::saturating_add)
}
