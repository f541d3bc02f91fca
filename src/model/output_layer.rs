//! The output layer: its weight over the vocabulary, or over the labels of a sequence classification.

use super::hidden;
use super::linear::Linear;
use super::sizes::Sizes;
use super::tape::{AutogradTape, TensorId, Work};
use super::tensor::{Component, Factor, ParamTensor, factor};
use super::weights::Weights;
use crate::config::job::Module;
use crate::source::{LABEL_LAYER, LABEL_LAYER_COPY, OUTPUT_LAYER};

/// The output layer's weight: its own, or on another stage a second copy of the tied embedding.
pub(crate) fn output_weight(m: &Module) -> ParamTensor {
    if let Some(count) = m.args.num_labels {
        return label_weight(m, count);
    }
    let vocabulary = factor("V", m.padded_vocab_size);
    let name = "output_layer.weight";
    Weights::of(m, Component::OutputLayer, OUTPUT_LAYER).column_parallel(name, &[vocabulary, hidden(m)], 2)
}

/// The output layer between these tensors.
pub(crate) fn output_linear(m: &Module, input: TensorId, output: TensorId) -> Linear {
    Linear {
        name: "output_layer",
        input,
        width: hidden(m),
        output,
        weight: output_weight(m),
        bias: None,
    }
}

/// The input of an output layer with the tokens of all tensor-parallel ranks.
pub(super) fn gather_input(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) -> TensorId {
    if !sizes.m.sequence_parallel {
        return input;
    }
    let gathered = tape.tensor("gathered input", sizes.gathered(), sizes.width());
    tape.op(
        "gather_from_sequence_parallel_region",
        Work::MemoryBound,
        &[input],
        &[gathered],
    );
    gathered
}

/// The factor of the labels.
pub(super) fn labels(count: u64) -> Factor {
    factor("n_labels", count)
}

/// The weight of the head. With adapters it is frozen, beside the [copy that is trained](trained_copy).
pub(super) fn label_weight(m: &Module, count: u64) -> ParamTensor {
    let name = match m.adapters() {
        Some(_) => "output_layer.original_module.weight",
        None => "output_layer.weight",
    };
    let weights = Weights::of(m, Component::OutputLayer, LABEL_LAYER);
    weights.whole(name, &[labels(count), hidden(m)], 2)
}

/// The copy of the weight that is trained with adapters (`ModulesToSaveWrapper` of PEFT); none without adapters or
/// labels.
pub(crate) fn trained_copy(m: &Module) -> Option<ParamTensor> {
    let count = m.args.num_labels?;
    m.adapters()?;
    let name = "output_layer.modules_to_save.default.weight";
    let weights = Weights::of(m, Component::Adapters, LABEL_LAYER_COPY);
    Some(weights.whole(name, &[labels(count), hidden(m)], 2))
}
