//! Hyper-connections (`TransformerConfig.__post_init__` and `HyperConnectionTransformerLayer` of Megatron-LM's dev branch).

use super::rule::FixValue::{Default, Name, Off};
use super::rule::rules;
use crate::config::choices::{OffloadModule, RecomputeModule, SoftwareStack};
use crate::config::draft::{Draft, mtp_without_decoder};
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;
use crate::parallel::stages::StageLayout;

rules! { |d, a|
    // `TransformerLayer.__init__` of the pinned revision refuses hyper-connections unless its class has them, which no
    // layer spec asks for there.
    error "hyper_connections" if a.enable_mhc_connections && a.software_stack != SoftwareStack::MegatronDev
        => [enable_mhc_connections, software_stack],
        "enable_mhc_connections needs layers of the class HyperConnectionTransformerLayer, and of Megatron-LM only the dev branch has a layer spec that builds them",
        [enable_mhc_connections = Off, software_stack = Name("megatron_dev")];
    error "hyper_connections_alone"
        if a.enable_mhc_connections && (a.fp32_residual_connection || a.parallel_attention || a.layer_scaling)
        => [enable_mhc_connections, fp32_residual_connection, parallel_attention, layer_scaling],
        "enable_mhc_connections beside fp32_residual_connection, parallel_attention or layer_scaling is not modelled",
        [enable_mhc_connections = Off];
    error "hyper_connections_by_pattern"
        let built = a.software_stack == SoftwareStack::MegatronDev,
        if a.enable_mhc_connections && built && d.pattern().is_some()
        => [enable_mhc_connections, hybrid_layer_pattern],
        "enable_mhc_connections with hybrid_layer_pattern is not modelled: give num_layers",
        [enable_mhc_connections = Off];
    error "mhc_needs_hyper_connections" if d.recomputes(RecomputeModule::Mhc) && !a.enable_mhc_connections
        => [recompute_modules, enable_mhc_connections],
        "recompute module mhc is only supported with enable_mhc_connections", [];
    error "mhc_excludes_mlp" if d.recomputes(RecomputeModule::Mhc) && d.recomputes(RecomputeModule::Mlp)
        => [recompute_modules],
        "recompute modules mhc and mlp exclude each other", [];
    error "mhc_excludes_offload"
        let moved = d.offloads(OffloadModule::AttnNorm) || d.offloads(OffloadModule::MlpNorm),
        if d.recomputes(RecomputeModule::Mhc) && moved => [recompute_modules, offload_modules],
        "recompute module mhc excludes offload modules attn_norm and mlp_norm: it runs the norms again", [];
}

/// The decoder hands its residual streams to MTP depths of the same chunk (`GPTModel.forward`).
pub(super) fn mtp_stage(d: &Draft<'_>, layout: &StageLayout) -> Option<Problem> {
    (d.args.enable_mhc_connections && mtp_without_decoder(layout)).then(|| {
        let fields = [
            F::mtp_num_layers,
            F::pipeline_model_parallel_layout,
            F::enable_mhc_connections,
        ];
        let message = "with enable_mhc_connections the stage with the MTP layers must have a decoder layer";
        Problem::error(&fields, message)
            .fix(F::pipeline_model_parallel_layout, Default)
            .fix(F::mtp_num_layers, Default)
    })
}
