//! Multi-head, grouped-query and multi-query attention.

pub(crate) mod core;
pub(crate) mod ops;

use super::hidden;
use super::list::ParamList;
use super::tensor::{Component, factor};
use crate::config::choices::SoftmaxType;
use crate::config::job::Module;
use crate::source::{ATTENTION_SINKS, INTERNVIT_ATTENTION, SELF_ATTENTION};

/// Parameters of one attention block.
///
/// With fewer query groups than TP ranks `linear_qkv` is still split evenly: each rank computes its
/// part and gathers the keys and values it needs.
pub(crate) fn parameters(m: &Module, out: &mut ParamList<'_>) {
    let (heads, groups) = (m.args.num_attention_heads, m.num_query_groups);
    let qkv = if m.args.attention_output_gate {
        factor("(2·n_q + 2·n_kv)", 2 * heads + 2 * groups)
    } else {
        factor("(n_q + 2·n_kv)", heads + 2 * groups)
    };
    let (n_q, d) = (factor("n_q", heads), factor("d", m.kv_channels));
    out.at(Component::Attention, SELF_ATTENTION);
    out.split("self_attention.linear_qkv.weight", &[qkv, d, hidden(m)], 2);
    out.split("self_attention.linear_proj.weight", &[n_q, d, hidden(m)], 2);
    out.at(Component::AttentionBias, SELF_ATTENTION);
    // Norms over all heads come with InternViT's attention, which has no bias there.
    if (m.args.add_bias_linear && !m.args.qk_layernorm_all_heads) || m.args.add_qkv_bias {
        out.split("self_attention.linear_qkv.bias", &[qkv, d], 1);
    }
    if m.args.add_bias_linear {
        out.whole("self_attention.linear_proj.bias", &[hidden(m)], 1);
    }
    sinks(m, out);
    if !m.args.qk_layernorm {
        return;
    }
    let names = ["self_attention.q_layernorm", "self_attention.k_layernorm"];
    if m.args.qk_layernorm_all_heads {
        out.at(Component::QkLayernorm, INTERNVIT_ATTENTION);
        let parts = factor("(weight + bias)", m.norm_parts());
        for name in names {
            out.split(name, &[parts, n_q, d], 1);
        }
    } else {
        out.at(Component::QkLayernorm, SELF_ATTENTION);
        for name in names {
            out.norm(name, d);
        }
    }
}

/// One learned logit a head, when the softmax has them.
pub(crate) fn sinks(m: &Module, out: &mut ParamList<'_>) {
    if m.args.softmax_type == SoftmaxType::Learnable {
        let heads = factor("n_q", m.args.num_attention_heads);
        out.at(Component::AttentionSinks, ATTENTION_SINKS);
        out.split("self_attention.core_attention.softmax_offset", &[heads], 1);
    }
}
