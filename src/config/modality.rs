//! What a module reads and puts out: tokens, patches of images or a sound's spectrum at its start, and the projector
//! towards the language model at its end.

use super::choices::{FrontEnd, PositionEmbedding, ProjectorKind};
use super::fields::Args;

/// A module's input and output, where they differ from a language model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleIo {
    /// Its front end.
    pub front_end: FrontEnd,
    /// Rows of an encoder's position table; 0 without one.
    pub(crate) position_rows: u64,
    /// Tokens that one item, such as an image, has in the layers.
    pub(crate) tokens: u64,
    /// The layers between an encoder and the language model, where it has them.
    pub(crate) projector: Option<Projector>,
}

/// The layers between an encoder and the language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Projector {
    /// Width of its input.
    pub(crate) input: u64,
    /// Width between its two layers; `None` when it has one layer.
    pub(crate) hidden: Option<u64>,
    /// Width of its output.
    pub(crate) output: u64,
}

impl ModuleIo {
    /// Input and output of a module with these arguments. `front_end` is what it starts with where they do not say,
    /// and `language_hidden_size` the width that its projector leads to, where that is known.
    pub(super) fn new(a: &Args, front_end: FrontEnd, language_hidden_size: Option<u64>) -> Self {
        let front_end = a.front_end.unwrap_or(front_end);
        let tokens = item_tokens(a, front_end).unwrap_or(a.seq_length);
        let learned = a.position_embedding_type == PositionEmbedding::LearnedAbsolute;
        let position_rows = match (front_end, a.num_position_embeddings) {
            (FrontEnd::Tokens, _) => 0,
            (_, Some(rows)) => rows,
            (FrontEnd::Patches, None) if learned => image_patches(a).unwrap_or(tokens),
            (FrontEnd::Audio, None) if learned => tokens,
            _ => 0,
        };
        Self {
            front_end,
            position_rows,
            tokens,
            projector: projector(a, front_end, language_hidden_size),
        }
    }

    /// Multiplies an encoder's micro batch by the items of a sample, such as images, for the fullest micro batch.
    pub(super) fn count_items(&self, a: &mut Args) {
        if !self.is_language() {
            let stated = a.image_tokens_per_sample.or(a.audio_tokens_per_sample);
            let items = match stated {
                Some(_) => a.micro_batch_size,
                None => a.items_per_sample.scale_up(a.micro_batch_size),
            };
            a.micro_batch_size = a.token_imbalance.scale_up(items).max(1);
        }
    }

    /// Whether the module has a word embedding and an output layer.
    #[must_use]
    pub fn is_language(&self) -> bool {
        self.front_end == FrontEnd::Tokens
    }
}

/// Tokens of one item where the front end determines them. All images or sounds of a sample are one item where only
/// their tokens in the language model are known.
///
/// `WhisperEncoder` halves the frames of the spectrum and has a position for each.
fn item_tokens(a: &Args, front_end: FrontEnd) -> Option<u64> {
    match front_end {
        FrontEnd::Patches => {
            let merged = merged_tokens(a, front_end);
            let of_sample = |tokens: u64| tokens.saturating_mul(merged).max(1);
            let stated = a.image_tokens_per_sample.map(of_sample);
            stated.or_else(|| image_patches(a))
        }
        FrontEnd::Audio => {
            let merged = merged_tokens(a, front_end);
            let stated = a.audio_tokens_per_sample;
            let stated = stated.map(|tokens| tokens.saturating_mul(merged).max(1));
            stated.or_else(|| a.num_position_embeddings.filter(|rows| *rows > 0))
        }
        FrontEnd::Tokens | FrontEnd::Features => None,
    }
}

/// Tokens of an encoder that become one token of the language model: patches along both sides of an image, or tokens
/// along the time of a sound.
pub(crate) fn merged_tokens(a: &Args, front_end: FrontEnd) -> u64 {
    let side = a.spatial_merge_size.max(1);
    match front_end {
        FrontEnd::Audio => side,
        FrontEnd::Tokens | FrontEnd::Features | FrontEnd::Patches => side.saturating_mul(side),
    }
}

/// The patches of an image and the class tokens, as `CLIPViTModel` counts them.
fn image_patches(a: &Args) -> Option<u64> {
    let height = a.img_h?;
    let width = a.img_w.unwrap_or(height);
    let patches = (height / a.patch_dim).saturating_mul(width / a.patch_dim);
    Some(patches.saturating_add(a.class_token_len).max(1))
}

fn projector(a: &Args, front_end: FrontEnd, language_hidden_size: Option<u64>) -> Option<Projector> {
    let merged = merged_tokens(a, front_end);
    let output = a
        .projector_output_size
        .or(language_hidden_size)
        .unwrap_or(a.hidden_size);
    let hidden = match a.projector {
        ProjectorKind::None => return None,
        ProjectorKind::Affine => None,
        ProjectorKind::Mlp | ProjectorKind::DownsampleMlp => Some(a.projector_hidden_size.unwrap_or(output)),
    };
    Some(Projector {
        input: a.projector_input_size.unwrap_or_else(|| {
            a.hidden_size
                .saturating_mul(if a.projector_merger { 1 } else { merged })
        }),
        hidden,
        output,
    })
}
