//! What an encoder starts with: patches of images or a sound's spectrum, class tokens, positions, and
//! the norms around its layers. All of it is replicated over tensor-parallel ranks.

pub(crate) mod ops;

use super::hidden;
use super::norm::norm;
use super::tensor::{Component, Holding, ParamTensor, Shape, factor};
use crate::config::choices::FrontEnd;
use crate::config::job::Module;
use crate::source::{CLIP_VIT, Prose, Source, WHISPER_ENCODER};
use crate::units::multiply;

/// Parameters of the front end; none for modules that get vectors from elsewhere.
pub(crate) fn parameters(m: &Module, out: &mut Vec<ParamTensor>) {
    match m.ends.front_end {
        FrontEnd::Patches => patches(m, out),
        FrontEnd::Audio => audio(m, out),
        FrontEnd::Tokens | FrontEnd::Features => {}
    }
    if m.args.encoder_pre_norm {
        out.push(norm(
            m,
            Component::EncoderNorm,
            "ln_pre",
            hidden(m),
            CLIP_VIT,
        ));
    }
}

/// The norm after the last layer, where the encoder has one.
pub(crate) fn post_norm(m: &Module, out: &mut Vec<ParamTensor>) {
    if m.args.encoder_post_norm {
        out.push(norm(
            m,
            Component::EncoderNorm,
            "ln_post",
            hidden(m),
            CLIP_VIT,
        ));
    }
}

/// One convolution that steps by its own size: each patch becomes one vector.
fn patches(m: &Module, out: &mut Vec<ParamTensor>) {
    let a = &m.args;
    let patch = factor("p²", multiply(a.patch_dim, a.patch_dim));
    let depth = factor(
        "(c_in·p_t)",
        multiply(a.num_channels, a.temporal_patch_size),
    );
    let weight = Shape::of(&[patch, depth, hidden(m)]);
    out.push(replicated(
        Component::FrontEnd,
        "conv1.weight",
        weight,
        4,
        CLIP_VIT,
    ));
    if a.patch_bias {
        let bias = Shape::of(&[hidden(m)]);
        out.push(replicated(
            Component::FrontEnd,
            "conv1.bias",
            bias,
            1,
            CLIP_VIT,
        ));
    }
    if a.class_token_len > 0 {
        let shape = Shape::of(&[factor("n_cls", a.class_token_len), hidden(m)]);
        out.push(replicated(
            Component::ClassToken,
            "class_token",
            shape,
            3,
            CLIP_VIT,
        ));
    }
    positions(m, Component::PositionEmbedding, CLIP_VIT, out);
}

/// Two convolutions of width 3 along time, the second with step 2, and a table of sines that is a
/// parameter but never trained.
fn audio(m: &Module, out: &mut Vec<ParamTensor>) {
    let kernel = factor("3", 3);
    let mut conv = |weight, bias, from| {
        let shape = Shape::of(&[kernel, from, hidden(m)]);
        out.push(replicated(
            Component::FrontEnd,
            weight,
            shape,
            3,
            WHISPER_ENCODER,
        ));
        let shape = Shape::of(&[hidden(m)]);
        out.push(replicated(
            Component::FrontEnd,
            bias,
            shape,
            1,
            WHISPER_ENCODER,
        ));
    };
    conv(
        "conv1.weight",
        "conv1.bias",
        factor("n_mel", m.args.num_mel_bins),
    );
    conv("conv2.weight", "conv2.bias", hidden(m));
    positions(m, Component::FixedPositions, WHISPER_ENCODER, out);
}

fn positions(m: &Module, component: Component, source: Source, out: &mut Vec<ParamTensor>) {
    if m.ends.position_rows > 0 {
        let shape = Shape::of(&[factor("positions", m.ends.position_rows), hidden(m)]);
        out.push(replicated(
            component,
            "position_embeddings.weight",
            shape,
            2,
            source,
        ));
    }
}

fn replicated(
    component: Component,
    name: &'static str,
    shape: Shape,
    dimensions: u8,
    source: Source,
) -> ParamTensor {
    ParamTensor {
        component,
        name,
        shape,
        holding: Holding::Replicated,
        dimensions,
        source: Prose::new(source),
    }
}
