//! Multi-latent attention: queries, keys and values through a narrow latent space.

pub(crate) mod ops;

use super::attention::sinks;
use super::hidden;
use super::list::ParamList;
use super::tensor::{Component, factor};
use crate::config::choices::TransformerImpl;
use crate::config::job::Module;
use crate::source::{LAYER_NORMS, MLA, MLA_DOWN};

/// Parameters of one MLA block.
///
/// Transformer Engine holds the down projections in full on every TP rank; Megatron's own modules
/// split them by columns.
pub(crate) fn parameters(m: &Module, out: &mut ParamList<'_>) {
    let a = &m.args;
    let n_q = factor("n_q", a.num_attention_heads);
    let kv_rank = factor("r_kv", a.kv_lora_rank);
    let q_rank = a.q_lora_rank.map(|rank| factor("r_q", rank));
    let query = factor("(d_qk + d_r)", a.qk_head_dim + a.qk_pos_emb_head_dim);
    out.at(Component::Attention, MLA);
    let (name, from) = match q_rank {
        None => ("self_attention.linear_q_proj.weight", hidden(m)),
        Some(rank) => ("self_attention.linear_q_up_proj.weight", rank),
    };
    out.split(name, &[n_q, query, from], 2);
    let key_value = factor("(d_qk + d_v)", a.qk_head_dim + a.v_head_dim);
    let name = "self_attention.linear_kv_up_proj.weight";
    out.split(name, &[n_q, key_value, kv_rank], 2);
    let value = factor("d_v", a.v_head_dim);
    let name = "self_attention.linear_proj.weight";
    out.split(name, &[n_q, value, hidden(m)], 2);

    out.at(Component::MlaDownProj, MLA_DOWN);
    let compressed = factor("(r_kv + d_r)", a.kv_lora_rank + a.qk_pos_emb_head_dim);
    let queries = q_rank.map(|rank| ("self_attention.linear_q_down_proj.weight", rank));
    let both = ("self_attention.linear_kv_down_proj.weight", compressed);
    for (name, rank) in queries.into_iter().chain([both]) {
        if a.transformer_impl == TransformerImpl::Local {
            out.split(name, &[rank, hidden(m)], 2);
        } else {
            out.whole(name, &[rank, hidden(m)], 2);
        }
    }
    if a.add_bias_linear {
        out.at(Component::AttentionBias, MLA);
        out.whole("self_attention.linear_proj.bias", &[hidden(m)], 1);
    }
    sinks(m, out);
    if a.qk_layernorm {
        match q_rank {
            Some(rank) => {
                out.at(Component::MlaLayernorm, MLA);
                out.norm("self_attention.q_layernorm", rank);
            }
            None if a.mla_q_proj_layernorm => {
                out.at(Component::Layernorm, LAYER_NORMS);
                out.norm("self_attention.linear_q_proj.layer_norm", hidden(m));
            }
            None => {}
        }
        out.at(Component::MlaLayernorm, MLA);
        out.norm("self_attention.kv_layernorm", kv_rank);
    }
}
