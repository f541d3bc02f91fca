//! The estimate itself, in Megatron-Bridge's components, and its text.

use super::super::python::OperationError;
use super::super::{GIGABYTE, MEGABYTE};
use super::parameters::ParameterCounts;
use super::{Input, activation, shard, text};
use crate::python::PythonError;

/// What `estimate_training_memory` returns, with its derived properties.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingMemory {
    /// Weights, gradients and optimizer state: the dense component, then the routed experts if any.
    pub components: Vec<MemoryComponent>,
    /// Activations, when asked for.
    pub activation: Option<MemoryComponent>,
    /// Parameters of the whole model.
    pub total_parameters: f64,
    /// All `components` together, in bytes.
    pub weight_and_optimizer_bytes: f64,
    /// `components` and activations together, in bytes.
    pub total_memory_bytes: f64,
    /// The same in units of 1024² bytes.
    pub total_memory_mb: f64,
    /// The same in units of 1024³ bytes.
    pub total_memory_gb: f64,
    /// What the estimator says about itself for this job.
    pub assumptions: Vec<&'static str>,
    /// The one-line summary in MB.
    pub formatted_mb: String,
    /// The one-line summary in GB.
    pub formatted_gb: String,
}

/// One part of the estimate, on the fullest GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryComponent {
    /// Megatron-Bridge's name for the part.
    pub name: &'static str,
    /// Parameters of the whole model that the part covers; 0 for activations.
    pub parameter_count: f64,
    /// Parameters of these on the fullest GPU; 0 for activations.
    pub parameter_count_per_gpu: f64,
    /// Bytes of weight, gradient and optimizer state per parameter; 0 for activations.
    pub bytes_per_parameter: f64,
    /// Bytes on the fullest GPU.
    pub memory_bytes: f64,
    /// The same in units of 1024² bytes.
    pub memory_mb: f64,
    /// The same in units of 1024³ bytes.
    pub memory_gb: f64,
}

impl MemoryComponent {
    fn parameters(
        name: &'static str,
        parameter_count: f64,
        parameter_count_per_gpu: f64,
        bytes_per_parameter: f64,
    ) -> Self {
        Self {
            parameter_count,
            parameter_count_per_gpu,
            bytes_per_parameter,
            ..Self::bytes(name, parameter_count_per_gpu * bytes_per_parameter)
        }
    }

    fn bytes(name: &'static str, memory_bytes: f64) -> Self {
        Self {
            name,
            parameter_count: 0.0,
            parameter_count_per_gpu: 0.0,
            bytes_per_parameter: 0.0,
            memory_bytes,
            memory_mb: memory_bytes / f64::from(MEGABYTE),
            memory_gb: memory_bytes / f64::from(GIGABYTE),
        }
    }
}

/// `estimate_training_memory`.
pub(super) fn estimate(input: &Input<'_>, include_activation: bool) -> Result<TrainingMemory, PythonError> {
    let Input { model, train, .. } = input;
    let counts = ParameterCounts::count(model)?;
    let sizes = shard::Sizes::read(model)?;

    let dense_per_gpu = shard::dense_parameters(model, &counts, &sizes)?.float()?;
    let dense_bytes = shard::dense_bytes_per_parameter(train, &sizes)?;
    let dense_count = (counts.dense_transformer + counts.embeddings).value()?;
    let mut components = vec![MemoryComponent::parameters(
        "dense parameters and optimizer",
        dense_count.float()?,
        dense_per_gpu,
        dense_bytes,
    )];

    let has_routed_experts = counts.routed_experts > 0.0;
    if has_routed_experts {
        let per_gpu = shard::routed_expert_parameters(model, &counts, &sizes)?.float()?;
        let bytes = shard::expert_bytes_per_parameter(train, &sizes)?;
        components.push(MemoryComponent::parameters(
            "routed expert parameters and optimizer",
            counts.routed_experts,
            per_gpu,
            bytes,
        ));
    }
    let mut activation = None;
    if include_activation {
        let bytes = activation::memory_bytes(input, &counts, &sizes)?.float()?;
        activation = Some(MemoryComponent::bytes("activation", bytes));
    }
    let assumptions = assumptions(&sizes, include_activation, has_routed_experts)?;
    let total_parameters = (counts.dense_transformer + counts.routed_experts + counts.embeddings).value()?;

    let weight_and_optimizer_bytes = components
        .iter()
        .fold(0.0, |sum, component| sum + component.memory_bytes);
    let total_memory_bytes = weight_and_optimizer_bytes + activation.as_ref().map_or(0.0, |part| part.memory_bytes);
    let mut estimate = TrainingMemory {
        components,
        activation,
        total_parameters: total_parameters.float()?,
        weight_and_optimizer_bytes,
        total_memory_bytes,
        total_memory_mb: total_memory_bytes / f64::from(MEGABYTE),
        total_memory_gb: total_memory_bytes / f64::from(GIGABYTE),
        assumptions,
        formatted_mb: String::new(),
        formatted_gb: String::new(),
    };
    estimate.formatted_mb = text::in_megabytes(&estimate);
    estimate.formatted_gb = text::in_gigabytes(&estimate);
    Ok(estimate)
}

/// `_estimate_assumptions`, in Megatron-Bridge's words, which are part of its output.
fn assumptions(
    sizes: &shard::Sizes<'_>,
    include_activation: bool,
    has_routed_experts: bool,
) -> Result<Vec<&'static str>, OperationError> {
    let mut assumptions = vec![
        "Reports the most-loaded GPU shard; runtime allocator, kernel workspace, and CUDA graph \
         buffers are excluded.",
        "Weight/optimizer bytes use the Megatron Bridge Adam estimate: 18 B/parameter without \
         distributed optimizer, otherwise 6 B plus 12 B sharded over the relevant optimizer group.",
        "Embedding parameters are assigned to first/last pipeline stages; untied embeddings \
         double-count only when PP=1.",
    ];
    if has_routed_experts {
        assumptions.push(
            "Routed MoE expert parameters are sharded by expert_model_parallel_size and \
             expert_tensor_parallel_size; routed expert optimizer state uses the expert \
             data-parallel shard size.",
        );
    }
    if sizes.context.exceeds(1)? {
        assumptions.push("Dense optimizer state and activations are divided across context parallel ranks.");
    }
    if include_activation {
        assumptions.push(
            "Activation estimates assume sequence parallelism and selective activation \
             recomputation; full recompute, CPU offload, token imbalance, and dispatcher workspace \
             are not modeled.",
        );
    }
    Ok(assumptions)
}
