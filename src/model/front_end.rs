//! What an encoder starts with: patches of images or a sound's spectrum, class tokens, positions, and
//! the norms around its layers. All of it is replicated over tensor-parallel ranks.

pub(crate) mod ops;

use super::hidden;
use super::list::ParamList;
use super::tensor::{Component, factor};
use crate::config::choices::FrontEnd;
use crate::config::job::Module;
use crate::source::{CLIP_VIT, WHISPER_ENCODER};
use crate::units::multiply;

/// Parameters of the front end; none for modules that get vectors from elsewhere.
pub(crate) fn parameters(m: &Module, out: &mut ParamList<'_>) {
    match m.io.front_end {
        FrontEnd::Patches => patches(m, out),
        FrontEnd::Audio => audio(m, out),
        FrontEnd::Tokens | FrontEnd::Features => {}
    }
    if m.args.encoder_pre_norm {
        out.at(Component::EncoderNorm, CLIP_VIT);
        out.norm("ln_pre", hidden(m));
    }
}

/// The norm after the last layer, where the encoder has one.
pub(crate) fn post_norm(m: &Module, out: &mut ParamList<'_>) {
    if m.args.encoder_post_norm {
        out.at(Component::EncoderNorm, CLIP_VIT);
        out.norm("ln_post", hidden(m));
    }
}

/// One convolution that steps by its own size: each patch becomes one vector.
fn patches(m: &Module, out: &mut ParamList<'_>) {
    let a = &m.args;
    let patch = factor("p²", multiply(a.patch_dim, a.patch_dim));
    let depth = factor(
        "(c_in·p_t)",
        multiply(a.num_channels, a.temporal_patch_size),
    );
    out.at(Component::FrontEnd, CLIP_VIT);
    out.whole("conv1.weight", &[patch, depth, hidden(m)], 4);
    if a.patch_bias {
        out.whole("conv1.bias", &[hidden(m)], 1);
    }
    if a.class_token_len > 0 {
        out.at(Component::ClassToken, CLIP_VIT);
        let tokens = factor("n_cls", a.class_token_len);
        out.whole("class_token", &[tokens, hidden(m)], 3);
    }
    out.at(Component::PositionEmbedding, CLIP_VIT);
    positions(m, out);
}

/// Two convolutions of width 3 along time, the second with step 2, and a table of sines that is a
/// parameter but never trained.
fn audio(m: &Module, out: &mut ParamList<'_>) {
    let kernel = factor("3", 3);
    let bands = factor("n_mel", m.args.num_mel_bins);
    out.at(Component::FrontEnd, WHISPER_ENCODER);
    for (weight, bias, from) in [
        ("conv1.weight", "conv1.bias", bands),
        ("conv2.weight", "conv2.bias", hidden(m)),
    ] {
        out.whole(weight, &[kernel, from, hidden(m)], 3);
        out.whole(bias, &[hidden(m)], 1);
    }
    out.at(Component::FixedPositions, WHISPER_ENCODER);
    positions(m, out);
}

fn positions(m: &Module, out: &mut ParamList<'_>) {
    if m.io.position_rows > 0 {
        let rows = factor("positions", m.io.position_rows);
        out.whole("position_embeddings.weight", &[rows, hidden(m)], 2);
    }
}
