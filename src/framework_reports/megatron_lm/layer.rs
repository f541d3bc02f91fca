//! Parameters of one layer by part.
//!
//! Statement by statement in Megatron-LM's order, because the first statement that raises decides the
//! exception; names follow its own.

use super::super::python::{OperationError, PyResult, PyValue};
use super::Arguments;
use super::model::Model;
use crate::python::{Exception, PythonError};

/// Parameters of one layer by part, and of the parts outside the layers.
pub(super) struct Layer<'a> {
    pub(super) embedding_size: PyValue<'a>,
    pub(super) final_layernorm: PyValue<'a>,
    pub(super) embeddings: PyValue<'a>,
    pub(super) attention: PyValue<'a>,
    pub(super) dense_mlp: PyValue<'a>,
    pub(super) shared_expert: PyValue<'a>,
    pub(super) routed_expert: PyValue<'a>,
    pub(super) active_routed_expert: PyValue<'a>,
    pub(super) latent_projection: PyValue<'a>,
    pub(super) layernorm: PyValue<'a>,
    pub(super) router: PyValue<'a>,
    pub(super) shared_expert_gate: PyValue<'a>,
}

impl<'a> Layer<'a> {
    pub(super) fn count(args: &Arguments<'a>, model: &Model<'a>) -> Result<Self, PythonError> {
        let gated = model.gated_linear_multiplier;
        let attention = if args.multi_latent_attention.truth()? {
            latent_attention(args, model)?
        } else {
            grouped_attention(args, model)?
        };
        let embedding_size = (args.hidden_size * args.padded_vocab_size).value()?;
        let hidden_size = args.hidden_size.value()?;
        let final_layernorm = (model.norm_size * hidden_size).value()?;
        let embeddings = if args.untie_embeddings_and_output_weights.truth()? {
            (2 * embedding_size).value()?
        } else {
            embedding_size
        };
        let dense_mlp = (2 * hidden_size * args.ffn_hidden_size * gated).value()?;
        let shared_expert = (2 * hidden_size * model.shared_expert_ffn_hidden_size * gated).value()?;
        let has_latent = !args.moe_latent_size.is_none()?;
        let routed_expert_hidden_size = if has_latent {
            args.moe_latent_size.value()?
        } else {
            hidden_size
        };
        let up_to_experts = (2 * routed_expert_hidden_size * model.moe_ffn_hidden_size).value()?;
        let routed_expert = (up_to_experts * model.num_experts * gated).value()?;
        let mut active_routed_expert = 0.into();
        if model.is_moe {
            active_routed_expert = (up_to_experts * args.moe_router_topk * gated).value()?;
        }
        let mut latent_projection = 0.into();
        if model.is_moe && has_latent {
            latent_projection = (2 * hidden_size * args.moe_latent_size).value()?;
        }
        let layernorm = (2 * hidden_size * model.norm_size).value()?;
        let mut router = 0.into();
        if model.is_moe {
            router = count_router(args, model)?;
        }
        let has_gate = model.shared_expert_ffn_hidden_size.exceeds(0)?
            && args.moe_shared_expert_gate.if_given().is_some_and(PyValue::truth);
        let shared_expert_gate = if has_gate { hidden_size } else { 0.into() };
        Ok(Self {
            embedding_size,
            final_layernorm,
            embeddings,
            attention,
            dense_mlp,
            shared_expert,
            routed_expert,
            active_routed_expert,
            latent_projection,
            layernorm,
            router,
            shared_expert_gate,
        })
    }

    /// A layer without experts.
    pub(super) fn dense(&self) -> PyResult<'a> {
        self.attention + self.dense_mlp + self.layernorm
    }

    /// A mixture-of-experts layer with all its routed experts, or with the active ones.
    pub(super) fn moe(&self, routed_expert: PyValue<'a>) -> PyResult<'a> {
        self.attention
            + self.shared_expert
            + routed_expert
            + self.latent_projection
            + self.layernorm
            + self.router
            + self.shared_expert_gate
    }

    /// What tensor parallelism splits in these numbers of layers of both kinds.
    pub(super) fn sharded(&self, dense_layers: PyValue<'a>, moe_layers: PyValue<'a>) -> PyResult<'a> {
        (self.attention + self.dense_mlp) * dense_layers + (self.attention + self.shared_expert) * moe_layers
    }

    /// What every rank of a tensor-parallel group holds in full in these numbers of layers of both kinds.
    pub(super) fn replicated(&self, dense_layers: PyValue<'a>, moe_layers: PyValue<'a>) -> PyResult<'a> {
        let in_moe = self.layernorm + self.latent_projection + self.router + self.shared_expert_gate;
        self.layernorm * dense_layers + in_moe * moe_layers
    }
}

fn count_router<'a>(args: &Arguments<'a>, model: &Model<'a>) -> Result<PyValue<'a>, OperationError> {
    let weight = (args.hidden_size * model.num_experts).value()?;
    let bias = if args.add_bias_linear.truth()? {
        model.num_experts
    } else {
        0.into()
    };
    (weight + bias).value()
}

fn latent_attention<'a>(args: &Arguments<'a>, model: &Model<'a>) -> Result<PyValue<'a>, PythonError> {
    if model.has_query_groups {
        return Err(Exception::AssertionError.with(String::new()));
    }
    let norm_size = model.norm_size;
    let query = if args.q_lora_rank.is_none()? {
        args.hidden_size * args.num_attention_heads * (args.qk_head_dim + args.qk_pos_emb_head_dim)
    } else {
        args.q_lora_rank
            * (args.hidden_size + args.num_attention_heads * (args.qk_head_dim + args.qk_pos_emb_head_dim) + norm_size)
    };
    let attention = query
        + args.kv_lora_rank
            * (args.hidden_size + args.num_attention_heads * (args.qk_head_dim + args.v_head_dim) + norm_size)
        + args.hidden_size * args.qk_pos_emb_head_dim
        + (args.num_attention_heads * args.v_head_dim) * args.hidden_size;
    Ok(attention.value()?)
}

fn grouped_attention<'a>(args: &Arguments<'a>, model: &Model<'a>) -> Result<PyValue<'a>, OperationError> {
    let num_query_groups = if model.has_query_groups {
        args.num_query_groups
    } else {
        args.num_attention_heads
    };
    let attention = 2
        * args.hidden_size
        * args.hidden_size
        * ((1 + (num_query_groups / args.num_attention_heads)) * model.query_to_hidden_ratio);
    attention.value()
}
