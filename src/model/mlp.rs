//! The dense MLP, gated or not.

pub(crate) mod ops;

use super::hidden;
use super::list::ParamList;
use super::tensor::{Component, Factor, factor};
use crate::config::job::Module;
use crate::source::MLP;

/// Columns of fc1: the inner width, twice where value and gate sit side by side.
pub(crate) fn fc1_width(
    m: &Module,
    symbol: &'static str,
    gated_symbol: &'static str,
    width: u64,
) -> Factor {
    if m.activation.gated() {
        factor(gated_symbol, 2 * width)
    } else {
        factor(symbol, width)
    }
}

/// Parameters of one dense MLP.
pub(crate) fn parameters(m: &Module, out: &mut ParamList<'_>) {
    let fc1 = fc1_width(m, "f", "2·f", m.ffn_hidden_size);
    let f = factor("f", m.ffn_hidden_size);
    out.at(Component::DenseMlp, MLP);
    out.split("mlp.linear_fc1.weight", &[fc1, hidden(m)], 2);
    out.split("mlp.linear_fc2.weight", &[hidden(m), f], 2);
    if m.args.add_bias_linear {
        out.at(Component::DenseMlpBias, MLP);
        out.split("mlp.linear_fc1.bias", &[fc1], 1);
        out.whole("mlp.linear_fc2.bias", &[hidden(m)], 1);
    }
}
