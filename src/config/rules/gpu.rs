//! What depends on the GPU's generation, except for fp8.

use super::rule::FixValue::{Default, Off};
use super::rule::rules;
use crate::config::draft::Draft;
use crate::config::gpus;

rules! { |d, a|
    warning "gpu_generation"
        let given = a.gpu_generation?, let name = a.gpu.as_deref()?, let own = gpus::generation(name)?,
        if given != own => [gpu_generation, gpu],
        format!("gpu_generation {} is not that of {name}, which is {}", given.name(), own.name()),
        [gpu_generation = Default];
    // `validate_args` asserts it for grouped products of experts.
    error "gpu_generation"
        let generation = d.gpu_generation()?,
        if a.moe_grouped_gemm && generation.major() < 8 => [moe_grouped_gemm, gpu, gpu_generation],
        format!("moe_grouped_gemm needs a GPU of Ampere or later, not {}", generation.label()),
        [moe_grouped_gemm = Off];
}
