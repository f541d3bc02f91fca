//! The values that the weight formulas take from the arguments before they count anything.
//!
//! Statement by statement in Megatron-LM's order, because the first statement that raises decides the
//! exception; names follow its own.

use super::super::python::PyValue;
use super::Arguments;
use super::pattern::LayerPattern;
use crate::python::{Exception, PythonError};

/// The model's switches and numbers of layers.
pub(super) struct Model<'a> {
    pub(super) query_to_hidden_ratio: PyValue<'a>,
    pub(super) has_query_groups: bool,
    pub(super) num_experts: PyValue<'a>,
    pub(super) is_moe: bool,
    pub(super) gated_linear_multiplier: PyValue<'a>,
    pub(super) shared_expert_ffn_hidden_size: PyValue<'a>,
    pub(super) moe_ffn_hidden_size: PyValue<'a>,
    pub(super) num_dense_layers: PyValue<'a>,
    pub(super) num_moe_layers: PyValue<'a>,
    pub(super) has_mtp: bool,
    pub(super) mtp_num_dense_layers: PyValue<'a>,
    pub(super) mtp_num_moe_layers: PyValue<'a>,
    /// Vectors of the hidden size in a norm: a weight, and a bias unless it is `RMSNorm`.
    pub(super) norm_size: i32,
}

impl<'a> Model<'a> {
    pub(super) fn read(args: &Arguments<'a>) -> Result<Self, PythonError> {
        let query_projection_size = (args.kv_channels * args.num_attention_heads).value()?;
        let query_to_hidden_ratio = (query_projection_size / args.hidden_size).value()?;
        let has_query_groups = args.group_query_attention.truth()?;
        let is_moe = !args.num_experts.is_none()?;
        let num_experts = if is_moe { args.num_experts.value()? } else { 1.into() };
        let gated_linear_multiplier = if args.swiglu.truth()? { 1.5.into() } else { 1.into() };
        let shared_expert_ffn_hidden_size = if args.moe_shared_expert_intermediate_size.is_none()? {
            0.into()
        } else {
            args.moe_shared_expert_intermediate_size.value()?
        };

        let pattern = LayerPattern::read(args)?;
        let num_layers = args.num_layers.value()?;
        let num_moe_layers = pattern.sum()?;
        let num_dense_layers = (num_layers - num_moe_layers).value()?;
        let moe_ffn_hidden_size = if is_moe {
            args.moe_ffn_hidden_size.value()?
        } else {
            0.into()
        };
        let all_layers = (num_dense_layers + num_moe_layers).value()?;
        if !all_layers.equals(num_layers) {
            return Err(Exception::AssertionError.with(String::new()));
        }
        let has_mtp = !args.mtp_num_layers.is_none()?;
        let mut mtp_num_moe_layers = 0.into();
        let mut mtp_num_dense_layers = 0.into();
        if has_mtp {
            let mtp_layer_is_moe = pattern.last()?;
            mtp_num_moe_layers = (mtp_layer_is_moe * args.mtp_num_layers).value()?;
            mtp_num_dense_layers = ((1 - mtp_layer_is_moe) * args.mtp_num_layers).value()?;
        }
        let norm_size = if args.normalization.is_text("RMSNorm")? { 1 } else { 2 };
        Ok(Self {
            query_to_hidden_ratio,
            has_query_groups,
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
        })
    }
}
