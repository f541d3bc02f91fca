//! What the weight formulas take from the arguments before they count anything.
//!
//! Statement by statement in Megatron-LM's order, because the first statement that fails decides the
//! message; names follow its own.

use super::super::python::{Namespace, Py, raise};
use super::pattern::LayerPattern;

/// The model's switches and numbers of layers.
pub(super) struct Model {
    pub(super) query_to_hidden_ratio: Py,
    pub(super) grouped: bool,
    pub(super) num_experts: Py,
    pub(super) is_moe: bool,
    pub(super) gated_linear_multiplier: Py,
    pub(super) shared_expert_ffn_hidden_size: Py,
    pub(super) moe_ffn_hidden_size: Py,
    pub(super) num_dense_layers: Py,
    pub(super) num_moe_layers: Py,
    pub(super) has_mtp: bool,
    pub(super) mtp_num_dense_layers: Py,
    pub(super) mtp_num_moe_layers: Py,
    pub(super) norm_size: i32,
}

impl Model {
    pub(super) fn read(args: Namespace<'_>) -> Self {
        let query_projection_size = args.get("kv_channels") * args.get("num_attention_heads");
        let query_to_hidden_ratio = query_projection_size / args.get("hidden_size");
        let grouped = args.truth("group_query_attention");
        let is_moe = !args.is_none("num_experts");
        let num_experts = if is_moe {
            args.get("num_experts")
        } else {
            1.into()
        };
        let gated_linear_multiplier = if args.truth("swiglu") {
            1.5.into()
        } else {
            1.into()
        };
        let shared_expert_ffn_hidden_size = or_zero(args, "moe_shared_expert_intermediate_size");

        let pattern = LayerPattern::read(args);
        let num_layers = args.get("num_layers");
        let num_moe_layers = pattern.sum();
        let num_dense_layers = num_layers - num_moe_layers;
        let moe_ffn_hidden_size = if is_moe {
            args.get("moe_ffn_hidden_size")
        } else {
            0.into()
        };
        if !(num_dense_layers + num_moe_layers).equals(num_layers) {
            raise("AssertionError", &[]);
        }
        let has_mtp = !args.is_none("mtp_num_layers");
        let (mtp_num_moe_layers, mtp_num_dense_layers) = if has_mtp {
            let is_moe = pattern.last();
            let mtp_num_layers = args.get("mtp_num_layers");
            (is_moe * mtp_num_layers, (1 - is_moe) * mtp_num_layers)
        } else {
            (0.into(), 0.into())
        };
        let norm_size = if args.is_text("normalization", "RMSNorm") {
            1
        } else {
            2
        };
        Self {
            query_to_hidden_ratio,
            grouped,
            num_experts,
            is_moe,
            gated_linear_multiplier,
            shared_expert_ffn_hidden_size,
            moe_ffn_hidden_size,
            num_dense_layers,
            num_moe_layers,
            has_mtp,
            mtp_num_dense_layers,
            mtp_num_moe_layers,
            norm_size,
        }
    }
}

/// `0 if args.name is None else args.name`.
fn or_zero(args: Namespace<'_>, name: &'static str) -> Py {
    if args.is_none(name) {
        0.into()
    } else {
        args.get(name)
    }
}
