//! Layers of which a record has the tensors that a real one was measured to keep for its backward pass.

use megatron_memory::model::kernels::Kernels;
use megatron_memory::model::sizes::Sizes;
use megatron_memory::model::tape::recompute::{RecomputeOptions, kept};
use megatron_memory::model::tape::{ActivationTensor, AutogradTape};
use megatron_memory::model::{LayerSpec, layer_tape};
use serde_json::{Value as Json, json};

use super::jobs::{config, with};

/// What a record says of a measured layer; all else in it are settings of its job.
const MEASURED: [&str; 8] = [
    "first",
    "input_bytes",
    "input_is_saved",
    "layer",
    "output",
    "output_bytes",
    "saved_bytes",
    "tensors",
];

/// A layer with norms and attention like Transformer Engine's.
pub(crate) struct Layer {
    /// Its operations.
    pub(crate) tape: AutogradTape,
    /// What it keeps.
    pub(crate) kept: Vec<ActivationTensor>,
}

impl Layer {
    /// Layer `index` (from 0) of a job.
    pub(crate) fn of(job: &Json, index: usize) -> Self {
        let config = config(job);
        let sizes = Sizes {
            kernels: Kernels::TE_LIKE,
            ..Sizes::new(&config.modules()[0])
        };
        let tape = layer_tape(&sizes, LayerSpec::all(sizes.m)[index]);
        let kept = kept(&tape, RecomputeOptions::NONE);
        Self { tape, kept }
    }

    /// The layer of a record: in bf16, with RMS norms and a gated MLP, without biases, positions and dropout, but for what
    /// the record or these settings say, on one GPU. It is the first one unless the record names another.
    pub(crate) fn measured(record: &Json, settings: &Json) -> Self {
        let usual = json!({
            "num_layers": 1, "vocab_size": 128, "bf16": true, "swiglu": true, "normalization": "RMSNorm",
            "add_bias_linear": false, "position_embedding_type": "none", "attention_dropout": 0, "hidden_dropout": 0,
        });
        let mut job = with(&with(&usual, record), settings);
        let object = job.as_object_mut().unwrap();
        object.retain(|key, _| !MEASURED.contains(&&**key));
        let index = record["layer"].as_u64().unwrap_or(0);
        Self::of(&job, usize::try_from(index).unwrap())
    }

    /// Holds it to the tensors of a record, each by its bytes, and to their sum.
    pub(crate) fn assert_keeps_what_was_measured(&self, record: &Json) {
        let mut ours: Vec<u64> = self.kept.iter().map(ActivationTensor::bytes).collect();
        let measured = record["tensors"].as_array().unwrap().iter();
        let mut theirs: Vec<u64> = measured.map(|tensor| tensor["bytes"].as_u64().unwrap()).collect();
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(ours, theirs, "{record} {:#?}", self.kept);
        assert_eq!(Some(bytes(&self.kept)), record["saved_bytes"].as_u64(), "{record}");
    }

    /// What goes into it.
    pub(crate) fn input(&self) -> &ActivationTensor {
        self.tape.get(self.tape.input.unwrap()).unwrap()
    }

    /// What comes out of it.
    pub(crate) fn output(&self) -> &ActivationTensor {
        self.tape.get(self.tape.output.unwrap()).unwrap()
    }
}

/// Bytes of these tensors.
pub(crate) fn bytes<'a>(tensors: impl IntoIterator<Item = &'a ActivationTensor>) -> u64 {
    tensors.into_iter().map(ActivationTensor::bytes).sum()
}
