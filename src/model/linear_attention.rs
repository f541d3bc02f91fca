//! Linear attention: the gated delta net of Qwen3-Next and Qwen3.5.

pub(crate) mod ops;

use super::norm::norm;
use super::tensor::{Component, Holding, ParamTensor, Shape, factor};
use super::{hidden, tp};
use crate::config::job::Module;
use crate::source::{GATED_DELTA_NET, Prose};
use crate::units::multiply;

/// Parameters of one gated delta net. Only the norm on a head's output is replicated.
///
/// The input projection makes queries, keys, values, an output gate as wide as the values, and two
/// numbers a value head: how strongly to write and how fast to forget.
pub(crate) fn parameters(m: &Module, out: &mut Vec<ParamTensor>) {
    let a = &m.args;
    let keys = multiply(a.linear_num_key_heads, a.linear_key_head_dim);
    let values = multiply(a.linear_num_value_heads, a.linear_value_head_dim);
    let heads = factor("n_lv", a.linear_num_value_heads);
    let joined = multiply(keys, 2).saturating_add(values);
    let projected = joined
        .saturating_add(values)
        .saturating_add(multiply(a.linear_num_value_heads, 2));
    let mut push = |name, shape: Shape, dimensions| {
        out.push(ParamTensor {
            component: Component::LinearAttention,
            name,
            shape: shape.over(tp(m)),
            holding: Holding::TpSharded,
            dimensions,
            source: Prose::new(GATED_DELTA_NET),
        });
    };
    let wide = factor("(2·n_lk·d_lk + 2·n_lv·d_lv + 2·n_lv)", projected);
    push(
        "self_attention.in_proj.weight",
        Shape::of(&[wide, hidden(m)]),
        2,
    );
    let channels = factor("(2·n_lk·d_lk + n_lv·d_lv)", joined);
    let kernel = factor("c", a.linear_conv_kernel_dim);
    push(
        "self_attention.conv1d.weight",
        Shape::of(&[channels, kernel]),
        3,
    );
    push("self_attention.dt_bias", Shape::of(&[heads]), 1);
    push("self_attention.A_log", Shape::of(&[heads]), 1);
    let width = factor("d_lv", a.linear_value_head_dim);
    push(
        "self_attention.out_proj.weight",
        Shape::of(&[heads, width, hidden(m)]),
        2,
    );
    let name = "self_attention.out_norm";
    out.push(norm(
        m,
        Component::LinearAttention,
        name,
        width,
        GATED_DELTA_NET,
    ));
}
