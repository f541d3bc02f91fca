//! The dense MLP, gated or not.

pub(crate) mod ops;

use super::tensor::{Component, Factor, Holding, ParamTensor, Shape, factor};
use super::{hidden, tp};
use crate::config::job::Module;
use crate::source::{MLP, Prose};

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
pub(crate) fn parameters(m: &Module, out: &mut Vec<ParamTensor>) {
    let fc1 = fc1_width(m, "f", "2·f", m.ffn_hidden_size);
    let f = factor("f", m.ffn_hidden_size);
    let mut push = |component, name, shape, holding, dimensions| {
        out.push(ParamTensor {
            component,
            name,
            shape,
            holding,
            dimensions,
            source: Prose::new(MLP),
        });
    };
    push(
        Component::DenseMlp,
        "mlp.linear_fc1.weight",
        Shape::of(&[fc1, hidden(m)]).over(tp(m)),
        Holding::TpSharded,
        2,
    );
    push(
        Component::DenseMlp,
        "mlp.linear_fc2.weight",
        Shape::of(&[hidden(m), f]).over(tp(m)),
        Holding::TpSharded,
        2,
    );
    if m.args.add_bias_linear {
        let (fc1, fc2) = (Shape::of(&[fc1]).over(tp(m)), Shape::of(&[hidden(m)]));
        push(
            Component::DenseMlpBias,
            "mlp.linear_fc1.bias",
            fc1,
            Holding::TpSharded,
            1,
        );
        push(
            Component::DenseMlpBias,
            "mlp.linear_fc2.bias",
            fc2,
            Holding::Replicated,
            1,
        );
    }
}
