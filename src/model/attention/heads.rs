//! Heads of attention on one rank.

use crate::config::job::Module;
use crate::model::sizes::Sizes;
use crate::model::tensor::{Factor, Shape, factor};

/// Queries or keys of one rank, so many heads wide.
#[derive(Clone, Copy)]
pub(crate) struct Heads {
    count: Factor,
    split: bool,
}

impl Heads {
    /// Query heads.
    pub(crate) fn queries(m: &Module) -> Self {
        Self {
            count: factor("n_q", m.args.num_attention_heads),
            split: true,
        }
    }

    /// Key and value heads; each rank has at least one.
    pub(crate) fn groups(m: &Module) -> Self {
        if m.num_query_groups >= m.tensor_parts() {
            Self {
                count: factor("n_kv", m.num_query_groups),
                split: true,
            }
        } else {
            Self {
                count: factor("one head", 1),
                split: false,
            }
        }
    }

    /// Queries, keys and values side by side.
    pub(crate) fn all(m: &Module) -> Self {
        let heads = m.args.num_attention_heads;
        if m.args.attention_output_gate {
            return Self {
                count: factor("(2·n_q + 2·n_kv)", 2 * heads + 2 * m.num_query_groups),
                split: true,
            };
        }
        if m.num_query_groups >= m.tensor_parts() {
            Self {
                count: factor("(n_q + 2·n_kv)", heads + 2 * m.num_query_groups),
                split: true,
            }
        } else {
            Self {
                count: factor("(n_q/TP + 2)", heads / m.tensor_parts() + 2),
                split: false,
            }
        }
    }

    /// Queries and keys.
    pub(crate) fn queries_and_keys(m: &Module) -> Self {
        let heads = m.args.num_attention_heads;
        if m.num_query_groups >= m.tensor_parts() {
            Self {
                count: factor("(n_q + n_kv)", heads + m.num_query_groups),
                split: true,
            }
        } else {
            Self {
                count: factor("(n_q/TP + 1)", heads / m.tensor_parts() + 1),
                split: false,
            }
        }
    }

    /// A tensor of these heads for every token.
    pub(crate) fn tokens(self, sizes: &Sizes<'_>, width: Factor) -> Shape {
        if self.split {
            sizes.columns(&[self.count, width])
        } else {
            sizes.tokens(&[self.count, width])
        }
    }
}
