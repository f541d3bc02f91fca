//! The tokens of one item, such as an image or a sound, in an encoder and in its projector.

use super::tensor::{Factor, Shape, factor};
use crate::config::choices::{FrontEnd, PositionEmbedding};
use crate::config::job::Module;
use crate::config::modality::merged_tokens;

/// Whether items are a dimension of their own, as in encoders with learned positions; encoders with rotary
/// positions have the tokens of all items in one row.
pub(crate) fn item_first(m: &Module) -> bool {
    m.args.position_embedding_type == PositionEmbedding::LearnedAbsolute && m.io.front_end != FrontEnd::Features
}

/// Tokens of one item without class tokens.
pub(crate) fn patch_count(m: &Module) -> u64 {
    let class = if m.io.front_end == FrontEnd::Patches {
        m.args.class_token_len
    } else {
        0
    };
    m.io.tokens.saturating_sub(class).max(1)
}

/// Tokens of one item that the language model gets.
pub(crate) fn merged_count(m: &Module) -> u64 {
    (patch_count(m) / merged_tokens(&m.args, m.io.front_end)).max(1)
}

/// Something for so many tokens of every item.
pub(crate) fn of_items(m: &Module, tokens: Factor, widths: [Factor; 2]) -> Shape {
    let items = factor("b", m.args.micro_batch_size);
    Shape::of(&[tokens, items, widths[0], widths[1]]).over(factor("CP", m.sequence_parts()))
}
