//! The operations of adapters in forward and backward passes.

use super::{Adapter, AdapterInput, Parallel};
use crate::config::adapters::LinearModule;
use crate::config::choices::{AdapterDropout, AdapterType, CudaGraphImpl, RecomputeGranularity, RecomputeModule};
use crate::model::linear::{shape_of, weight_gradient_of_adapter};
use crate::model::tape::Gradient::Shared;
use crate::model::tape::{AutogradTape, TensorId, Work};
use crate::model::tensor::{Factor, Shape, factor};
use crate::source::Source;

impl Adapter<'_> {
    /// Its operations, and the sum with the output of the layer itself.
    pub(super) fn run(&self, tape: &mut AutogradTape, input: AdapterInput, base: TensorId) {
        tape.at(self.family(), Source::Adapters);
        let whole = shape_of(tape, self.linear.output);
        let parts = self.parts();
        let scaled = if parts.is_empty() {
            self.product(tape, input, None, whole)
        } else {
            let pieces: Vec<TensorId> = parts
                .into_iter()
                .map(|part| {
                    let columns = self.part_width(part).value();
                    let columns = factor("columns of one adapter", columns);
                    let shape = if self.is_expert() {
                        Shape::of(&[self.rows(tape), columns]).over(self.ranks())
                    } else {
                        self.sizes.columns(&[columns])
                    };
                    self.product(tape, input, Some(part), shape)
                })
                .collect();
            let what = "outputs of adapters side by side";
            let joined = tape.tensor(what, whole, self.sizes.width());
            tape.op("adapter.cat", Work::MemoryBound, &pieces, &[joined]);
            joined
        };
        if self.adapters.kind == AdapterType::Dora {
            self.scale_by_magnitude(tape, input, [base, scaled]);
        } else {
            tape.op("adapter.add", Work::MemoryBound, &[base, scaled], &[self.linear.output])
                .gradients(&[Shared, Shared]);
        }
    }

    /// The input times both matrices, those of a part or of the whole layer, times alpha over the rank.
    fn product(&self, tape: &mut AutogradTape, input: AdapterInput, part: Option<usize>, output: Shape) -> TensorId {
        let width = self.sizes.width();
        let [first, second] = self.matrices(part);
        let mut x = input.tensor;
        if self.adapters.dropout == Some(AdapterDropout::Pre) {
            x = dropout(tape, x, width);
        }
        let regathers = input.in_parts && self.regathers();
        let whole = self.sizes.tokens(&[self.linear.width]);
        if input.in_parts && !regathers {
            let gathered = tape.tensor("adapter: gathered input", whole, width);
            tape.op("adapter.gather", Work::MemoryBound, &[x], &[gathered]);
            x = gathered;
        }
        let low = tape.tensor(
            "adapter: product with its first matrix",
            self.low(tape, x, input),
            width,
        );
        let split = shape_of(tape, low).over(self.ranks());
        let splits = self.parallel != Parallel::Row && self.ranks().value > 1;
        let what = "adapter: this rank's part of that product";
        let split = tape.tensor_if(splits, what, split, width);
        tape.op("adapter.linear_in", Work::UncountedFlops, &[x], &[low])
            .is_adapter()
            .saves(&[x])
            .forward(split.as_slice());
        if regathers {
            let once = tape.tensor("adapter: gathered input", whole, width);
            let again = tape.tensor("adapter: input gathered again", whole, width);
            let gradient = tape.tensor("adapter: input gradient before reduce-scatter", whole, width);
            tape.forward(&[once]).backward(&[again, gradient]);
        }
        weight_gradient_of_adapter(self.sizes, tape, first.shape);
        let made = tape.tensor(
            "adapter: product with its second matrix",
            self.second_output(output),
            width,
        );
        tape.op("adapter.linear_out", Work::UncountedFlops, &[low], &[made])
            .is_adapter()
            .saves(&[low]);
        weight_gradient_of_adapter(self.sizes, tape, second.shape);
        if self.gathers_output() {
            let part = self.second_output(output).over(self.ranks());
            let part = tape.tensor("adapter: this rank's part of its output", part, width);
            tape.forward(&[part]).backward(&[part]);
        }
        let mut y = made;
        if self.exchanges() {
            let exchanged = tape.tensor("adapter: exchanged output", output, width);
            tape.op("adapter.all2all", Work::MemoryBound, &[y], &[exchanged]);
            y = exchanged;
        }
        if self.adapters.dropout == Some(AdapterDropout::Post) {
            y = dropout(tape, y, width);
        }
        let scaled = tape.tensor("adapter: output", output, width);
        tape.op("adapter.scale", Work::MemoryBound, &[y], &[scaled]);
        scaled
    }

    /// The shape of the product with the first matrix, which every rank has in full.
    fn low(&self, tape: &AutogradTape, x: TensorId, input: AdapterInput) -> Shape {
        let rank = [self.rank()];
        if self.is_expert() {
            return Shape::of(&[self.rows(tape), self.rank()]);
        }
        let own = self.parallel == Parallel::Whole && !input.in_parts;
        if own && shape_of(tape, x) == self.sizes.own_tokens(&[self.linear.width]) {
            self.sizes.own_tokens(&rank)
        } else {
            self.tokens(self.rank())
        }
    }

    /// Rows of tokens that experts work on.
    fn rows(&self, tape: &AutogradTape) -> Factor {
        let shape = shape_of(tape, self.linear.output);
        shape.factors().next().unwrap_or(Factor::NONE)
    }

    /// The shape of the product with the second matrix. Row-parallel layers gather it over columns before they scatter
    /// it over tokens.
    fn second_output(&self, output: Shape) -> Shape {
        if self.parallel != Parallel::Row || self.is_expert() {
            return output;
        }
        if self.exchanges() {
            self.sizes.columns(&[self.row_output()])
        } else {
            self.tokens(self.row_output())
        }
    }

    fn gathers_output(&self) -> bool {
        self.parallel != Parallel::Column && self.ranks().value > 1 && !self.exchanges()
    }

    /// Whether ranks trade columns for tokens instead of gathering columns.
    fn exchanges(&self) -> bool {
        self.adapters.exchanges_output
            && self.parallel == Parallel::Row
            && !self.is_expert()
            && self.sizes.m.sequence_parallel
    }

    /// Whether the input is gathered again in the backward pass instead of kept
    /// (`_sequence_parallel_input_regather_eligibility`).
    fn regathers(&self) -> bool {
        let a = &self.sizes.m.args;
        let modules = a.recompute_modules;
        let recomputed = match a.recompute_granularity {
            Some(RecomputeGranularity::Full) => true,
            Some(RecomputeGranularity::Selective) => match self.module {
                LinearModule::LinearFc1 => modules.contains(RecomputeModule::Mlp),
                // Both are checkpointed with all that is in them.
                LinearModule::SharedExpertsFc1 => {
                    modules.contains(RecomputeModule::Mlp)
                        || modules.contains(RecomputeModule::Moe)
                        || modules.contains(RecomputeModule::SharedExperts)
                }
                _ => false,
            },
            None => false,
        };
        let eligible = matches!(
            self.module,
            LinearModule::LinearQkv | LinearModule::LinearFc1 | LinearModule::SharedExpertsFc1
        );
        self.adapters.regathers_input
            && eligible
            && !recomputed
            && a.cpu_offloading_num_layers == 0
            && a.cuda_graph_impl == CudaGraphImpl::None
    }

    /// `DoRALinear.forward`: the sum is multiplied by the learned length of each row over its actual one. For that the
    /// product of both matrices is added to the weight.
    fn scale_by_magnitude(&self, tape: &mut AutogradTape, input: AdapterInput, summands: [TensorId; 2]) {
        let width = self.sizes.width();
        tape.at(self.family(), Source::Dora);
        let shape = shape_of(tape, self.linear.output);
        let sum = tape.tensor("output of a layer and its adapter", shape, width);
        tape.op("adapter.add", Work::MemoryBound, &summands, &[sum])
            .gradients(&[Shared, Shared]);
        let matrix = self.linear.weight.shape;
        let product = tape.tensor("adapter: product of both matrices", matrix, width);
        let merged = tape.tensor("weight with its adapter", matrix, width);
        let of_magnitude = tape.tensor("gradient of the magnitude by token", shape, width);
        let mut reads = vec![sum];
        let mut saves = vec![sum];
        if self.adapters.dropout.is_some() {
            // The layer itself is run on what was dropped as well.
            let dropped = dropout(tape, input.tensor, width);
            let correction = tape.tensor("output of a layer for dropped values", shape, width);
            tape.op(
                "adapter.base_linear_forward",
                Work::UncountedFlops,
                &[dropped],
                &[correction],
            );
            reads.push(correction);
            saves.push(correction);
        }
        tape.op(
            "adapter.weight_magnitude",
            Work::UncountedFlops,
            &reads,
            &[self.linear.output],
        )
        .is_adapter()
        .saves(&saves)
        .forward(&[product, merged])
        .backward(&[of_magnitude]);
    }
}

/// Drops values: a mask of one byte each is kept.
fn dropout(tape: &mut AutogradTape, x: TensorId, width: u64) -> TensorId {
    let shape = shape_of(tape, x);
    let mask = tape.tensor("adapter: dropout mask", shape, 1);
    let dropped = tape.tensor("adapter: values after dropout", shape, width);
    tape.op("adapter.dropout", Work::MemoryBound, &[x], &[dropped])
        .saves(&[mask]);
    dropped
}
