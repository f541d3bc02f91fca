//! Settings that cannot be used together with PyTorch's FSDP2 (`validate_args` in `megatron/training/arguments.py`).

use super::rule::FixValue::{Default, Number, Off, On};
use super::rule::{Rule, Violation, rule};
use crate::config::choices::OptimizerKind;
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::value::Value;

pub(super) const RULES: &[Rule] = &[
    rule("torch_fsdp2_pipeline", |d| {
        let field = F::pipeline_model_parallel_size;
        let message = "use_torch_fsdp2 does not support pipeline stages";
        excludes(d, d.pp > 1, field, message, Number(1))
    }),
    rule("torch_fsdp2_experts", |d| {
        let field = F::expert_model_parallel_size;
        let message = "use_torch_fsdp2 does not support expert parallelism";
        excludes(d, d.ep > 1, field, message, Number(1))
    }),
    rule("torch_fsdp2_optimizer", |d| {
        let field = F::use_distributed_optimizer;
        // Megatron FSDP, which brings it along, has a rule of its own.
        let both = d.args.use_distributed_optimizer && !d.args.use_megatron_fsdp;
        let message = "use_torch_fsdp2 excludes use_distributed_optimizer: it splits optimizer states itself";
        excludes(d, both, field, message, Off)
    }),
    rule("torch_fsdp2_optimizer", |d| {
        let other = !matches!(d.args.optimizer, OptimizerKind::Adam | OptimizerKind::Sgd);
        let message = "use_torch_fsdp2 supports only optimizers adam and sgd";
        excludes(d, other, F::optimizer, message, Default)
    }),
    rule("torch_fsdp2_and_megatron_fsdp", |d| {
        let field = F::use_megatron_fsdp;
        let message = "use_torch_fsdp2 and use_megatron_fsdp exclude each other";
        excludes(d, d.args.use_megatron_fsdp, field, message, Off)
    }),
    rule("torch_fsdp2_fusion", |d| {
        let field = F::gradient_accumulation_fusion;
        let message = "use_torch_fsdp2 does not support gradient_accumulation_fusion";
        excludes(d, d.args.gradient_accumulation_fusion, field, message, Off)
    }),
    rule("torch_fsdp2_tied", |d| {
        let field = F::untie_embeddings_and_output_weights;
        let tied = d.io.is_language() && !d.args.untie_embeddings_and_output_weights;
        let message = "use_torch_fsdp2 needs untie_embeddings_and_output_weights";
        excludes(d, tied, field, message, On)
    }),
    rule("torch_fsdp2_fp16", |d| {
        let message = "use_torch_fsdp2 does not support fp16";
        excludes(d, d.args.fp16, F::fp16, message, Off)
    }),
];

/// The violation where FSDP2 is on and the condition `broken`, which this value of `field` would mend.
fn excludes(d: &Draft<'_>, broken: bool, field: F, message: &str, value: impl Into<Value>) -> Option<Violation> {
    let fsdp = F::use_torch_fsdp2;
    (d.args.use_torch_fsdp2 && broken).then(|| {
        Violation::error(&[fsdp, field], message)
            .fix(field, value)
            .fix(fsdp, Off)
    })
}
