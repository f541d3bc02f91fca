//! Activations of the first pipeline stage, by Table 2 of <https://arxiv.org/abs/2205.05198>.

use super::super::Interleaving;
use super::parameters::{shared_expert_intermediate_size, vocabulary_size};
use super::pattern::{LayerCounts, has_moe};
use super::{Job, Namespace, Py, non_negative_or, positive_or};

/// `_compute_activation_memory_bytes`.
pub(super) fn memory_bytes(job: Job<'_>) -> Py {
    let model = |name| job.model.get(name);
    let micro_batch_size = || job.train.get("micro_batch_size");
    let tensor_size = positive_or(job.model, "tensor_model_parallel_size", 1);
    let pipeline_size = positive_or(job.model, "pipeline_model_parallel_size", 1);
    let context_size = positive_or(job.model, "context_parallel_size", 1);
    let virtual_size = job.model.get_some("virtual_pipeline_model_parallel_size");
    let layers = LayerCounts::count(job.model);
    let ffn_ratio = ffn_activation_ratio(job.model, layers);

    let mut memory =
        model("seq_length") * micro_batch_size() * model("hidden_size") * (18 + (4 * ffn_ratio));
    memory *= layers.total;
    memory += 8 * model("seq_length") * micro_batch_size() * pipeline_size;
    memory += model("seq_length") * micro_batch_size() * model("hidden_size") * pipeline_size;

    if let Some(virtual_size) = virtual_size {
        memory *= Interleaving::new(pipeline_size, virtual_size.into()).penalty;
    } else if let Some(microbatches) = job.num_microbatches
        && pipeline_size.exceeds(1)
    {
        memory *= Py::from(1).min(microbatches / pipeline_size);
    }
    if pipeline_size.equals(1) {
        memory += model("seq_length")
            * micro_batch_size()
            * model("hidden_size")
            * 4
            * (1 + (vocabulary_size(job.model) / model("hidden_size")));
    }
    memory / (tensor_size * context_size)
}

/// `_ffn_activation_ratio`: the layers' average feed-forward width relative to the hidden size.
fn ffn_activation_ratio(model: Namespace<'_>, layers: LayerCounts) -> Py {
    if layers.total.equals(0) {
        return 0.0.into();
    }
    let dense_ffn = layers.dense * model.get("ffn_hidden_size");
    let mut moe_ffn = Py::from(0.0);
    if has_moe(model) && layers.moe.exceeds(0) {
        let routed_to = non_negative_or(model, "num_experts_routed_to", 1.into());
        let routed_to = non_negative_or(model, "moe_router_topk", routed_to);
        let ffn_hidden_size = model.get("ffn_hidden_size");
        let ffn = non_negative_or(model, "moe_ffn_hidden_size", ffn_hidden_size);
        let shared = shared_expert_intermediate_size(model);
        moe_ffn = layers.moe * ((ffn * routed_to) + shared);
    }
    (dense_ffn + moe_ffn) / (layers.total * model.get("hidden_size"))
}
