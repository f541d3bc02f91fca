//! Linear attention: the gated delta net of Qwen3-Next and Qwen3.5.

pub(crate) mod ops;

use super::hidden;
use super::list::ParamList;
use super::tensor::{Component, factor};
use crate::config::job::Module;
use crate::source::GATED_DELTA_NET;
use crate::units::multiply;

/// Parameters of one gated delta net. Only the norm on a head's output is replicated.
///
/// The input projection makes queries, keys, values, an output gate as wide as the values, and two
/// numbers a value head: how strongly to write and how fast to forget.
pub(crate) fn parameters(m: &Module, out: &mut ParamList<'_>) {
    let a = &m.args;
    let keys = multiply(a.linear_num_key_heads, a.linear_key_head_dim);
    let values = multiply(a.linear_num_value_heads, a.linear_value_head_dim);
    let heads = factor("n_lv", a.linear_num_value_heads);
    let joined = multiply(keys, 2).saturating_add(values);
    let projected = joined
        .saturating_add(values)
        .saturating_add(multiply(a.linear_num_value_heads, 2));
    let wide = factor("(2·n_lk·d_lk + 2·n_lv·d_lv + 2·n_lv)", projected);
    let channels = factor("(2·n_lk·d_lk + n_lv·d_lv)", joined);
    let kernel = factor("c", a.linear_conv_kernel_dim);
    let width = factor("d_lv", a.linear_value_head_dim);
    out.at(Component::LinearAttention, GATED_DELTA_NET);
    out.split("self_attention.in_proj.weight", &[wide, hidden(m)], 2);
    out.split("self_attention.conv1d.weight", &[channels, kernel], 3);
    out.split("self_attention.dt_bias", &[heads], 1);
    out.split("self_attention.A_log", &[heads], 1);
    let name = "self_attention.out_proj.weight";
    out.split(name, &[heads, width, hidden(m)], 2);
    out.norm("self_attention.out_norm", width);
}
