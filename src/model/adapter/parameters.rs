//! The matrices of adapters, as one rank has them.

use super::{Adapter, Parallel};
use crate::config::adapters::LinearModule;
use crate::config::choices::AdapterType;
use crate::model::tape::AutogradTape;
use crate::model::tensor::{Component, Factor, ParamTensor, Row, Shape, Sharding, factor};
use crate::model::weights::Weights;
use crate::source::Source;

/// A width as a product of up to two factors.
#[derive(Clone, Copy)]
pub(super) struct Width([Factor; 2]);

impl Width {
    fn of(factors: &[Factor]) -> Self {
        let mut out = [Factor::NONE; 2];
        for (slot, factor) in out.iter_mut().zip(factors) {
            *slot = *factor;
        }
        Self(out)
    }

    /// Its value.
    pub(super) fn value(self) -> u64 {
        let [a, b] = self.0;
        a.value.saturating_mul(b.value)
    }
}

/// Whether each expert has a matrix of its own, and whether ranks split it.
#[derive(Clone, Copy)]
struct Layout {
    each_expert: bool,
    split: bool,
}

impl Adapter<'_> {
    /// Declares the parameters.
    pub(super) fn declare(&self, tape: &mut AutogradTape) {
        let parts = self.parts();
        if parts.is_empty() {
            tape.declare(self.matrices(None));
        }
        for part in parts {
            tape.declare(self.matrices(Some(part)));
        }
        if self.adapters.kind == AdapterType::Dora {
            let weights = Weights::of(self.sizes.m, Component::Adapters, Source::Dora);
            let Width([a, b]) = self.output_width();
            let names = self.module.names();
            // Row-parallel layers put out whole rows on every rank.
            tape.declare([if self.parallel == Parallel::Row {
                weights.whole(names.weight_magnitude, &[a, b], 1)
            } else {
                weights.column_parallel(names.weight_magnitude, &[a, b], 1)
            }]);
        }
    }

    /// Both matrices of a part, or of the whole layer.
    pub(super) fn matrices(&self, part: Option<usize>) -> [ParamTensor; 2] {
        let names = self.module.names();
        let of_part = part.and_then(|part| Some((part, names.parts.get(part)?)));
        let (first, second, output) = match of_part {
            Some((part, (_, first, second))) => (*first, *second, self.part_width(part)),
            None => (names.linear_in, names.linear_out, self.output_width()),
        };
        let rank = self.rank();
        [
            self.first(first, rank, self.input_width()),
            self.second(second, rank, output),
        ]
    }

    /// The first matrix, from the layer's input to the rank: a row of it is as long as the input.
    fn first(&self, name: &'static str, rank: Factor, input: Width) -> ParamTensor {
        let shared = self.module == LinearModule::ExpertsFc1;
        let row = match self.parallel {
            Parallel::Row => Row::OneOf(rank.value),
            Parallel::Column | Parallel::Whole => Row::Elements(input.value()),
        };
        let Width([a, b]) = input;
        let layout = self.with_whole(self.layout(shared), self.parallel != Parallel::Row);
        self.matrix(name, Shape::of(&[rank, a, b]), row, layout)
    }

    /// The second matrix, from the rank to the layer's output: a row of it is as long as the rank.
    fn second(&self, name: &'static str, rank: Factor, Width([a, b]): Width) -> ParamTensor {
        let shared = self.module == LinearModule::ExpertsFc2;
        let row = Row::Elements(rank.value);
        let layout = self.with_whole(self.layout(shared), self.parallel != Parallel::Column);
        self.matrix(name, Shape::of(&[a, b, rank]), row, layout)
    }

    fn matrix(&self, name: &'static str, shape: Shape, row: Row, layout: Layout) -> ParamTensor {
        let m = self.sizes.m;
        let (mut shape, mut row) = (shape, row);
        if layout.each_expert {
            let experts = m.moe.as_ref().map_or(1, |moe| moe.num_experts);
            shape = shape.times(factor("E", experts)).over(factor("EP", m.ep));
            // Matrices of grouped experts are one parameter, whose first dimension is this rank's experts.
            if m.args.moe_grouped_gemm {
                row = Row::OneOf(experts / m.ep.max(1));
            }
        }
        if layout.split {
            shape = shape.over(self.ranks());
        }
        let (sharding, source) = match (self.is_expert(), layout.each_expert) {
            (true, true) => (Sharding::Expert, Source::ExpertAdapters),
            (true, false) => (Sharding::Expert, Source::Adapters),
            (false, _) if layout.split => (Sharding::TpSharded, Source::Adapters),
            (false, _) => (Sharding::Replicated, Source::Adapters),
        };
        Weights::of(m, Component::Adapters, source).tensor(name, shape, sharding, 2, row)
    }

    /// The layout of a matrix that ranks have in full where they split one of the two alone, if it is `other` than that.
    fn with_whole(&self, layout: Layout, other: bool) -> Layout {
        let whole = self.sizes.m.args.peft_whole_matrices && other;
        Layout {
            split: layout.split && !whole,
            ..layout
        }
    }

    /// How the matrices of experts are laid out. `shared` is the one that experts share with shared outer matrices.
    fn layout(&self, shared: bool) -> Layout {
        let a = &self.sizes.m.args;
        let own = Layout {
            each_expert: true,
            split: true,
        };
        if !self.is_expert() {
            return Layout {
                each_expert: false,
                ..own
            };
        }
        if !a.moe_grouped_gemm {
            return own;
        }
        match self.adapters.kind {
            // `SharedOuterGroupedExpertAdapter`; ranks do not split what each expert has of its own.
            AdapterType::Lora if a.peft_experts_shared_outer_loras => Layout {
                each_expert: !shared,
                split: shared,
            },
            AdapterType::Lora | AdapterType::CanonicalLora => Layout {
                each_expert: !a.peft_share_expert_adapters,
                split: true,
            },
            AdapterType::Dora | AdapterType::None => own,
        }
    }

    /// Columns of the layer's weight.
    fn input_width(&self) -> Width {
        if self.parallel == Parallel::Row {
            let factors: Vec<Factor> = self.without(self.row_output());
            Width::of(&factors)
        } else {
            Width::of(&[self.linear.width])
        }
    }

    /// Rows of the layer's weight.
    fn output_width(&self) -> Width {
        if self.parallel == Parallel::Row {
            Width::of(&[self.row_output()])
        } else {
            let factors: Vec<Factor> = self.without(self.linear.width);
            Width::of(&factors)
        }
    }

    /// Rows of a row-parallel layer's weight: the residual stream, the latent space of experts, or the output of a
    /// projector.
    pub(super) fn row_output(&self) -> Factor {
        let m = self.sizes.m;
        match (m.args.moe_latent_size, m.io.projector) {
            (Some(latent), _) if self.is_expert() => factor("l", latent),
            (_, Some(projector)) if self.module.is_in_projector() => factor("p_out", projector.output),
            _ => crate::model::hidden(m),
        }
    }

    /// The factors of the weight but this one and the number of experts. They may come first or last.
    fn without(&self, one: Factor) -> Vec<Factor> {
        let mut factors: Vec<Factor> = self.linear.weight.shape.factors().collect();
        if self.is_expert() && !factors.is_empty() {
            factors.remove(0);
        }
        if let Some(at) = factors.iter().rposition(|factor| *factor == one) {
            factors.remove(at);
        }
        factors
    }

    /// Rows of a part of a fused layer's weight.
    pub(super) fn part_width(&self, part: usize) -> Width {
        let m = self.sizes.m;
        let head = factor("d", m.kv_channels);
        match (self.module, part) {
            (LinearModule::LinearQkv, 0) => Width::of(&[factor("n_q", m.args.num_attention_heads), head]),
            (LinearModule::LinearQkv, _) => Width::of(&[factor("n_kv", m.num_query_groups), head]),
            _ => Width::of(&[factor("f", self.output_width().value() / 2)]),
        }
    }
}
