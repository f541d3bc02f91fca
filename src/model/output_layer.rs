//! The output layer: its weight over the vocabulary, or over the labels of a sequence classification.

use super::linear::Linear;
use super::sizes::Sizes;
use super::tape::{AutogradTape, TensorId, Work};
use super::tensor::{Component, Factor, ParamTensor, factor};
use super::weights::Weights;
use super::{hidden, trained};
use crate::config::choices::{ModuleToSave, TokenLoss};
use crate::config::job::Module;
use crate::source::Source;

/// The output layer's weight: its own, or on another stage a second copy of the tied embedding.
pub(crate) fn output_weight(m: &Module) -> ParamTensor {
    if let Some(count) = m.args.num_labels {
        return label_weight(m, count);
    }
    let name = if m.saves(ModuleToSave::OutputLayer) {
        "output_layer.original_module.weight"
    } else {
        "output_layer.weight"
    };
    Weights::of(m, Component::OutputLayer, Source::OutputLayer).over_vocabulary(name)
}

/// Whether a module has an output layer: encoders have none, nor have ms-swift's models for embeddings.
pub(crate) fn has_output_layer(m: &Module) -> bool {
    m.io.is_language() && m.args.token_loss != TokenLoss::SwiftEmbedding
}

/// Whether the output layer over the vocabulary has a weight that is trained: its own, or beside adapters a copy.
pub(crate) fn is_trained(m: &Module) -> bool {
    trained(m, Component::OutputLayer) || m.saves(ModuleToSave::OutputLayer)
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
    let weights = Weights::of(m, Component::OutputLayer, Source::LabelLayer);
    weights.whole(name, &[labels(count), hidden(m)], 2)
}

/// The copy of the weight that is trained with adapters (`ModulesToSaveWrapper` of PEFT): always of a head for labels,
/// and where it is asked for of the output layer over the vocabulary.
pub(crate) fn trained_copy(m: &Module) -> Option<ParamTensor> {
    m.adapters()?;
    let name = "output_layer.modules_to_save.default.weight";
    let weights = Weights::of(m, Component::Adapters, Source::ModulesToSave);
    match m.args.num_labels {
        Some(count) => Some(weights.whole(name, &[labels(count), hidden(m)], 2)),
        None => m
            .saves(ModuleToSave::OutputLayer)
            .then(|| weights.over_vocabulary(name)),
    }
}
