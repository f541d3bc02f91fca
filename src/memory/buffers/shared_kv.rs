//! Keys and values that later layers share: the layer that makes them holds on to them until it makes those of the next
//! micro batch (`Gemma4DenseSelfAttention._stored_kv`).

use super::List;
use crate::config::job::Module;
use crate::model::attention::heads::Heads;
use crate::model::sizes::Sizes;
use crate::model::tensor::factor;
use crate::source::Source;

/// Adds the keys and values of the last layer with a window, and of the last one without, that has its own.
pub(super) fn add(m: &Module, out: &mut List) {
    let layers = m.layers().decoder();
    for window in [true, false] {
        let mut of_kind = layers.iter().filter(|layer| layer.sizes.window == window);
        let Some(first_shared) = of_kind.clone().position(|layer| layer.sizes.shared_kv) else {
            continue;
        };
        let Some(source) = first_shared.checked_sub(1).and_then(|last| of_kind.nth(last)) else {
            continue;
        };
        let of_layer = m.of_layer(source.sizes);
        let sizes = Sizes::new(&of_layer);
        let heads = Heads::groups(&of_layer);
        let shape = heads.tokens(&sizes, factor("d", of_layer.kv_channels));
        let both = shape.times(factor("(keys and values)", 2));
        let what = if window {
            "keys and values that layers with a window share"
        } else {
            "keys and values that layers with full attention share"
        };
        out.tensor(what, both, sizes.width(), Source::Gemma4DenseAttention);
    }
}
