//! Layers whose attention and MLP stand side by side: only those of `NeMo` 1's Falcon are known.

use super::rule::FixValue::{Default, Off};
use super::rule::{Excluded, beyond_attention_and_mlp, first_excluded, offloading_and_graphs, rules};
use crate::config::choices::{AdapterType, RecomputeModule};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;

rules! { |d, a|
    error "parallel_attention" by(knows_layers);
}

/// `FalconTransformerLayer` has softmax attention and a dense MLP, and drops the biases of their last linear layers.
fn knows_layers(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    if !a.parallel_attention {
        return None;
    }
    let excluded: [Excluded; 4] = [
        (d.mtp_num_layers > 0, F::mtp_num_layers, Default),
        (a.add_bias_linear, F::add_bias_linear, Off),
        (a.post_layernorm, F::post_layernorm, Off),
        (a.peft_type != AdapterType::None, F::peft_type, Default),
    ];
    let recomputes: Excluded = (d.recomputes(RecomputeModule::Layernorm), F::recompute_modules, Default);
    let excluded = beyond_attention_and_mlp(d)
        .into_iter()
        .chain(excluded)
        .chain(offloading_and_graphs(d))
        .chain([recomputes]);
    first_excluded(F::parallel_attention, excluded, |name| {
        format!(
            "parallel_attention is not known with {name}: Falcon's layers have softmax attention beside a dense MLP, without biases"
        )
    })
}
