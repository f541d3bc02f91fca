//! Settings that cannot be used together with PyTorch's FSDP2 (`validate_args` in `megatron/training/arguments.py`).

use super::rule::FixValue::{Default, Number, Off, On};
use super::rule::rules;
use crate::config::choices::OptimizerKind;
use crate::config::draft::Draft;

rules! { |d, a|
    error "torch_fsdp2_pipeline" if a.use_torch_fsdp2 && d.pp > 1 => [use_torch_fsdp2, pipeline_model_parallel_size],
        "use_torch_fsdp2 does not support pipeline stages",
        [pipeline_model_parallel_size = Number(1), use_torch_fsdp2 = Off];
    error "torch_fsdp2_experts" if a.use_torch_fsdp2 && d.ep > 1 => [use_torch_fsdp2, expert_model_parallel_size],
        "use_torch_fsdp2 does not support expert parallelism",
        [expert_model_parallel_size = Number(1), use_torch_fsdp2 = Off];
    // Megatron FSDP, which brings the distributed optimizer along, has a rule of its own.
    error "torch_fsdp2_optimizer" if a.use_torch_fsdp2 && a.use_distributed_optimizer && !a.use_megatron_fsdp
        => [use_torch_fsdp2, use_distributed_optimizer],
        "use_torch_fsdp2 excludes use_distributed_optimizer: it splits optimizer states itself",
        [use_distributed_optimizer = Off, use_torch_fsdp2 = Off];
    error "torch_fsdp2_optimizer"
        if a.use_torch_fsdp2 && !matches!(a.optimizer, OptimizerKind::Adam | OptimizerKind::Sgd)
        => [use_torch_fsdp2, optimizer],
        "use_torch_fsdp2 supports only optimizers adam and sgd", [optimizer = Default, use_torch_fsdp2 = Off];
    error "torch_fsdp2_and_megatron_fsdp" if a.use_torch_fsdp2 && a.use_megatron_fsdp
        => [use_torch_fsdp2, use_megatron_fsdp],
        "use_torch_fsdp2 and use_megatron_fsdp exclude each other", [use_megatron_fsdp = Off, use_torch_fsdp2 = Off];
    error "torch_fsdp2_fusion" if a.use_torch_fsdp2 && a.gradient_accumulation_fusion
        => [use_torch_fsdp2, gradient_accumulation_fusion],
        "use_torch_fsdp2 does not support gradient_accumulation_fusion",
        [gradient_accumulation_fusion = Off, use_torch_fsdp2 = Off];
    error "torch_fsdp2_tied"
        if a.use_torch_fsdp2 && d.io.is_language() && !a.untie_embeddings_and_output_weights
        => [use_torch_fsdp2, untie_embeddings_and_output_weights],
        "use_torch_fsdp2 needs untie_embeddings_and_output_weights",
        [untie_embeddings_and_output_weights = On, use_torch_fsdp2 = Off];
    error "torch_fsdp2_fp16" if a.use_torch_fsdp2 && a.fp16 => [use_torch_fsdp2, fp16],
        "use_torch_fsdp2 does not support fp16", [fp16 = Off, use_torch_fsdp2 = Off];
}
