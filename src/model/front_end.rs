//! The front end of an encoder: patches of images or a sound's spectrum, class tokens, positions, and the norm before
//! its layers. All of it is replicated over tensor-parallel ranks but for RADIO's patch embedding.

mod audio;

use super::items::{item_first, of_items, patch_count};
use super::layer::in_stream_precision;
use super::norm::{BEFORE_LAYERS, residual_norm};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Component, Factor, ParamTensor, Row, Shape, factor};
use super::weights::Weights;
use super::{hidden, tp};
use crate::config::choices::FrontEnd;
use crate::source::Source;
use crate::units::multiply;

/// The front end, up to the residual stream of the first layer. It keeps its pixels or spectra for the
/// gradient of the first convolution; they have no gradient themselves.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape) {
    let m = sizes.m;
    let mut x = match m.io.front_end {
        FrontEnd::Patches => patches(sizes, tape),
        FrontEnd::Audio => audio::build(sizes, tape),
        FrontEnd::Tokens | FrontEnd::Features => {
            tape.at(Family::Output, Source::MimoModel);
            let features = tape.tensor("features", sizes.residual(), sizes.width());
            tape.op("features", Work::MemoryBound, &[], &[features]);
            features
        }
    };
    if m.io.position_rows > 0 {
        let placed = tape.tensor("tokens with positions", sizes.gathered(), sizes.width());
        let rows = factor("positions", m.io.position_rows);
        let table = Shape::of(&[rows, hidden(m)]);
        let trained = m.io.front_end == FrontEnd::Patches;
        let gradient = tape.tensor_if(trained, "gradient of the position table", table, sizes.width());
        let owner = match m.io.front_end {
            FrontEnd::Patches => Some((Component::PositionEmbedding, Source::ClipVit)),
            // A table of sines that is a parameter but never trained.
            FrontEnd::Audio => Some((Component::FixedPositions, Source::WhisperEncoder)),
            FrontEnd::Tokens | FrontEnd::Features => None,
        };
        tape.declare(owner.map(|(component, source)| {
            let weights = Weights::of(m, component, source);
            weights.whole("position_embeddings.weight", &[rows, hidden(m)], 2)
        }));
        tape.op("position_embeddings", Work::MemoryBound, &[x], &[placed])
            .backward(gradient.as_slice());
        x = placed;
    }
    if m.args.encoder_pre_norm {
        let weight = Weights::of(m, Component::EncoderNorm, Source::ClipVit).norm("ln_pre", hidden(m));
        x = residual_norm(sizes, tape, &(BEFORE_LAYERS, weight), x);
    }
    if item_first(m) {
        // Items come first in convolutions, tokens come first in layers.
        let turned = tape.tensor("tokens of all items", sizes.residual(), sizes.width());
        tape.op("contiguous", Work::MemoryBound, &[x], &[turned]);
        x = turned;
    }
    tape.output = Some(in_stream_precision(sizes, tape, x));
}

fn patches(sizes: &Sizes<'_>, tape: &mut AutogradTape) -> TensorId {
    let (m, a) = (sizes.m, &sizes.m.args);
    tape.at(Family::Output, Source::ClipVit);
    let count = factor("patches", patch_count(m));
    let area = factor("p²", multiply(a.patch_dim, a.patch_dim));
    let depth = factor("(c_in·p_t)", multiply(a.num_channels, a.temporal_patch_size));
    let pixels = tape.tensor("pixels", of_items(m, count, [area, depth]), sizes.width());
    let embedded = tape.tensor(
        "embedded patches",
        of_items(m, count, [hidden(m), Factor::NONE]),
        sizes.width(),
    );
    // One convolution that steps by its own size: each patch becomes one vector.
    let weights = Weights::of(m, Component::FrontEnd, Source::ClipVit);
    let split = a.patch_embedding_split;
    tape.declare([if split {
        ParamTensor {
            row: Row::Elements(multiply(area.value, depth.value)),
            ..weights.column_parallel("embedder.weight", &[hidden(m), area, depth], 2)
        }
    } else {
        weights
            .whole("conv1.weight", &[area, depth, hidden(m)], 4)
            .with_rows(hidden(m))
    }]);
    if a.patch_bias {
        tape.declare([weights.whole("conv1.bias", &[hidden(m)], 1)]);
    }
    let columns = of_items(m, count, [hidden(m), Factor::NONE]).over(tp(m));
    let columns = tape.tensor_if(split, "columns of embedded patches", columns, sizes.width());
    tape.op("conv1", Work::UncountedFlops, &[], &[embedded])
        .saves(&[pixels])
        .forward(&[pixels])
        .forward(columns.as_slice());
    if a.class_token_len == 0 {
        return embedded;
    }
    let joined = tape.tensor("patches with class tokens", sizes.gathered(), sizes.width());
    let weights = Weights::of(m, Component::ClassToken, Source::ClipVit);
    let tokens = factor("n_cls", a.class_token_len);
    tape.declare([weights
        .whole("class_token", &[tokens, hidden(m)], 3)
        .with_rows(Factor::NONE)]);
    tape.op("class_token", Work::MemoryBound, &[embedded], &[joined]);
    joined
}
