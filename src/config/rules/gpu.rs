//! What depends on the GPU's generation, except for fp8.

use super::rule::FixValue::{Default, Off};
use super::rule::{Rule, Violation, rule, warning};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::gpus;

pub(super) const RULES: &[Rule] = &[
    warning("gpu_generation", another_generation),
    rule("gpu_generation", grouped_gemm_needs_ampere),
];

fn another_generation(d: &Draft<'_>) -> Option<Violation> {
    let given = d.args.gpu_generation?;
    let name = d.args.gpu.as_deref()?;
    let own = gpus::generation(name)?;
    (given != own).then(|| {
        let message = format!(
            "gpu_generation {} is not that of {name}, which is {}",
            given.name(),
            own.name()
        );
        Violation::warning(&[F::gpu_generation, F::gpu], message).fix(F::gpu_generation, Default)
    })
}

/// `validate_args` asserts it for grouped products of experts.
fn grouped_gemm_needs_ampere(d: &Draft<'_>) -> Option<Violation> {
    let generation = d.gpu_generation()?;
    (d.args.moe_grouped_gemm && generation.major() < 8).then(|| {
        let message = format!(
            "moe_grouped_gemm needs a GPU of Ampere or later, not {}",
            generation.label()
        );
        Violation::error(&[F::moe_grouped_gemm, F::gpu, F::gpu_generation], message).fix(F::moe_grouped_gemm, Off)
    })
}
