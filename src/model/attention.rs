//! Multi-head, grouped-query and multi-query attention.

pub(crate) mod core;
pub(crate) mod ops;

use super::norm::norm;
use super::tensor::{Component, Holding, ParamTensor, Shape, factor};
use super::{hidden, tp};
use crate::config::choices::SoftmaxType;
use crate::config::job::Module;
use crate::source::{ATTENTION_SINKS, INTERNVIT_ATTENTION, Prose, SELF_ATTENTION};

/// Parameters of one attention block.
///
/// With fewer query groups than TP ranks `linear_qkv` is still split evenly: each rank computes its
/// part and gathers the keys and values it needs.
pub(crate) fn parameters(m: &Module, out: &mut Vec<ParamTensor>) {
    let (heads, groups) = (m.args.num_attention_heads, m.num_query_groups);
    let qkv = if m.args.attention_output_gate {
        factor("(2·n_q + 2·n_kv)", 2 * heads + 2 * groups)
    } else {
        factor("(n_q + 2·n_kv)", heads + 2 * groups)
    };
    let (n_q, d) = (factor("n_q", heads), factor("d", m.kv_channels));
    let mut push = |component, name, shape, holding, dimensions| {
        out.push(ParamTensor {
            component,
            name,
            shape,
            holding,
            dimensions,
            source: Prose::new(SELF_ATTENTION),
        });
    };
    push(
        Component::Attention,
        "self_attention.linear_qkv.weight",
        Shape::of(&[qkv, d, hidden(m)]).over(tp(m)),
        Holding::TpSharded,
        2,
    );
    push(
        Component::Attention,
        "self_attention.linear_proj.weight",
        Shape::of(&[n_q, d, hidden(m)]).over(tp(m)),
        Holding::TpSharded,
        2,
    );
    // Norms over all heads come with InternViT's attention, which has no bias there.
    let qkv_bias =
        (m.args.add_bias_linear && !m.args.qk_layernorm_all_heads) || m.args.add_qkv_bias;
    if qkv_bias {
        let shape = Shape::of(&[qkv, d]).over(tp(m));
        push(
            Component::AttentionBias,
            "self_attention.linear_qkv.bias",
            shape,
            Holding::TpSharded,
            1,
        );
    }
    if m.args.add_bias_linear {
        let shape = Shape::of(&[hidden(m)]);
        push(
            Component::AttentionBias,
            "self_attention.linear_proj.bias",
            shape,
            Holding::Replicated,
            1,
        );
    }
    sinks(m, out);
    if m.args.qk_layernorm && m.args.qk_layernorm_all_heads {
        for name in ["self_attention.q_layernorm", "self_attention.k_layernorm"] {
            let mut tensor = norm(m, Component::QkLayernorm, name, d, INTERNVIT_ATTENTION);
            let parts = factor("(weight + bias)", m.norm_parts());
            tensor.shape = Shape::of(&[parts, n_q, d]).over(tp(m));
            tensor.holding = Holding::TpSharded;
            out.push(tensor);
        }
    } else if m.args.qk_layernorm {
        out.push(norm(
            m,
            Component::QkLayernorm,
            "self_attention.q_layernorm",
            d,
            SELF_ATTENTION,
        ));
        out.push(norm(
            m,
            Component::QkLayernorm,
            "self_attention.k_layernorm",
            d,
            SELF_ATTENTION,
        ));
    }
}

/// One learned logit a head, when the softmax has them.
pub(crate) fn sinks(m: &Module, out: &mut Vec<ParamTensor>) {
    if m.args.softmax_type == SoftmaxType::Learnable {
        out.push(ParamTensor {
            component: Component::AttentionSinks,
            name: "self_attention.core_attention.softmax_offset",
            shape: Shape::of(&[factor("n_q", m.args.num_attention_heads)]).over(tp(m)),
            holding: Holding::TpSharded,
            dimensions: 1,
            source: Prose::new(ATTENTION_SINKS),
        });
    }
}
