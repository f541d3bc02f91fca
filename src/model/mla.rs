//! Multi-latent attention: queries, keys and values through a narrow latent space.

pub(crate) mod ops;

use super::attention::sinks;
use super::norm::norm;
use super::tensor::{Component, Holding, ParamTensor, Shape, factor};
use super::{hidden, tp};
use crate::config::choices::TransformerImpl;
use crate::config::job::Module;
use crate::source::{LAYER_NORMS, MLA, MLA_DOWN, Prose};

/// Parameters of one MLA block.
///
/// Transformer Engine holds the down projections in full on every TP rank; Megatron's own modules
/// split them by columns.
pub(crate) fn parameters(m: &Module, out: &mut Vec<ParamTensor>) {
    let a = &m.args;
    let n_q = factor("n_q", a.num_attention_heads);
    let kv_rank = factor("r_kv", a.kv_lora_rank);
    let query = factor("(d_qk + d_r)", a.qk_head_dim + a.qk_pos_emb_head_dim);
    let mut up = |name, shape: Shape| {
        out.push(ParamTensor {
            component: Component::Attention,
            name,
            shape: shape.over(tp(m)),
            holding: Holding::TpSharded,
            dimensions: 2,
            source: Prose::new(MLA),
        });
    };
    match a.q_lora_rank {
        None => up(
            "self_attention.linear_q_proj.weight",
            Shape::of(&[n_q, query, hidden(m)]),
        ),
        Some(rank) => {
            up(
                "self_attention.linear_q_up_proj.weight",
                Shape::of(&[n_q, query, factor("r_q", rank)]),
            );
        }
    }
    let key_value = factor("(d_qk + d_v)", a.qk_head_dim + a.v_head_dim);
    up(
        "self_attention.linear_kv_up_proj.weight",
        Shape::of(&[n_q, key_value, kv_rank]),
    );
    up(
        "self_attention.linear_proj.weight",
        Shape::of(&[n_q, factor("d_v", a.v_head_dim), hidden(m)]),
    );

    let local = a.transformer_impl == TransformerImpl::Local;
    let mut down = |name, shape: Shape| {
        let (shape, holding) = if local {
            (shape.over(tp(m)), Holding::TpSharded)
        } else {
            (shape, Holding::Replicated)
        };
        out.push(ParamTensor {
            component: Component::MlaDownProj,
            name,
            shape,
            holding,
            dimensions: 2,
            source: Prose::new(MLA_DOWN),
        });
    };
    if let Some(rank) = a.q_lora_rank {
        down(
            "self_attention.linear_q_down_proj.weight",
            Shape::of(&[factor("r_q", rank), hidden(m)]),
        );
    }
    let compressed = factor("(r_kv + d_r)", a.kv_lora_rank + a.qk_pos_emb_head_dim);
    down(
        "self_attention.linear_kv_down_proj.weight",
        Shape::of(&[compressed, hidden(m)]),
    );

    if a.add_bias_linear {
        out.push(ParamTensor {
            component: Component::AttentionBias,
            name: "self_attention.linear_proj.bias",
            shape: Shape::of(&[hidden(m)]),
            holding: Holding::Replicated,
            dimensions: 1,
            source: Prose::new(MLA),
        });
    }
    sinks(m, out);
    if a.qk_layernorm {
        match a.q_lora_rank {
            Some(rank) => {
                let width = factor("r_q", rank);
                out.push(norm(
                    m,
                    Component::MlaLayernorm,
                    "self_attention.q_layernorm",
                    width,
                    MLA,
                ));
            }
            None if a.mla_q_proj_layernorm => {
                let name = "self_attention.linear_q_proj.layer_norm";
                out.push(norm(m, Component::Layernorm, name, hidden(m), LAYER_NORMS));
            }
            None => {}
        }
        out.push(norm(
            m,
            Component::MlaLayernorm,
            "self_attention.kv_layernorm",
            kv_rank,
            MLA,
        ));
    }
}
