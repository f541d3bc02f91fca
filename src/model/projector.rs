//! The end of an encoder: its last norm, and the layers between it and the language model. These are one linear layer,
//! or two with an activation between them, perhaps after a norm, perhaps over merged patches.

use super::front_end::{item_first, of_items, patch_count};
use super::norm::{AFTER_LAYERS, PROJECTOR_NORM, residual_norm, saved};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, Gradient, TensorId};
use super::tensor::{Component, Factor, Shape, factor};
use super::weights::Weights;
use super::{hidden, tp};
use crate::config::choices::ProjectorNorm;
use crate::config::job::Module;
use crate::config::modality::{Projector, merged_tokens};
use crate::source::{CLIP_VIT, PATCH_MERGER, PROJECTOR};

/// From the output of the last layer to what the language model gets.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) {
    let m = sizes.m;
    tape.input = Some(input);
    tape.at(Family::Output, CLIP_VIT);
    let mut x = post_norm(sizes, tape, input);
    let one = Factor::NONE;
    let count = factor("patches", patch_count(m));
    if item_first(m) {
        let kept = tape.tensor(
            "tokens without class tokens",
            of_items(m, count, [hidden(m), one]),
            sizes.width(),
        );
        tape.op("contiguous", &[x], &[kept]);
        x = kept;
    }
    if m.args.frozen {
        // Nothing above has a gradient.
        tape.detach();
    }
    let Some(projector) = m.io.projector else {
        tape.output = Some(x);
        return;
    };
    tape.output = Some(project(sizes, tape, &projector, x));
}

/// The norm after the last layer, where the encoder has one.
pub(crate) fn post_norm(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> TensorId {
    let m = sizes.m;
    if !m.args.encoder_post_norm {
        return x;
    }
    let weight = Weights::of(m, Component::EncoderNorm, CLIP_VIT).norm("ln_post", hidden(m));
    residual_norm(sizes, tape, &(AFTER_LAYERS, weight), x)
}

/// The projector, and the deepstack projectors beside it.
pub(crate) fn project(sizes: &Sizes<'_>, tape: &mut AutogradTape, projector: &Projector, x: TensorId) -> TensorId {
    let m = sizes.m;
    let merged = factor("p_in", projector.input);
    let weights = Weights::of(m, Component::Projector, PROJECTOR);
    let name = "input_projections.0.norm";
    match m.args.projector_norm {
        ProjectorNorm::None => {}
        ProjectorNorm::Patch => tape.declare([weights.norm(name, hidden(m))]),
        ProjectorNorm::Merged => tape.declare([weights.norm(name, merged)]),
    }
    declare_layers(m, tape, projector, None);
    tape.at(Family::Output, PROJECTOR);
    let first = tape.here();
    let output = layers(sizes, tape, projector, m.args.projector_norm, x);
    if m.args.frozen {
        tape.detach_inputs(first);
    }
    if m.args.deepstack_projectors > 0 {
        let copies = factor("n_deep", m.args.deepstack_projectors);
        let parts = factor("(weight + bias)", m.norm_parts());
        let weights = Weights::of(m, Component::Projector, PATCH_MERGER);
        // Their norm stands after the merge (`use_postshuffle_norm`).
        let name = "decoder.deepstack_merger_list.*.patch_norm";
        tape.declare([weights.whole(name, &[copies, parts, merged], 1)]);
        declare_layers(m, tape, projector, Some(copies));
    }
    tape.at(Family::Output, PATCH_MERGER);
    for _ in 0..m.args.deepstack_projectors {
        let deep = layers(sizes, tape, projector, ProjectorNorm::Merged, x);
        tape.leaves(deep);
    }
    output
}

/// Tokens of one item that the language model gets.
pub(crate) fn merged_count(m: &Module) -> u64 {
    (patch_count(m) / merged_tokens(&m.args, m.io.front_end)).max(1)
}

fn layers(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    projector: &Projector,
    norm: ProjectorNorm,
    input: TensorId,
) -> TensorId {
    let (m, width) = (sizes.m, sizes.width());
    let one = Factor::NONE;
    let count = factor("merged patches", merged_count(m));
    let of_merged = |wide: Factor| of_items(m, count, [wide, one]);
    let wide = factor("p_in", projector.input);
    let trains = !m.args.projector_frozen;
    let mut x = input;
    if m.args.spatial_merge_size > 1 && norm == ProjectorNorm::Merged {
        let merged = tape.tensor("merged patches", of_merged(wide), width);
        tape.op("pixel_shuffle", &[x], &[merged]);
        x = merged;
    }
    if norm != ProjectorNorm::None {
        let normed = tape.tensor("output of the projector's norm", of_merged(wide), width);
        let (tokens, each) = if norm == ProjectorNorm::Patch {
            (factor("patches", patch_count(m)), hidden(m))
        } else {
            (count, wide)
        };
        let rows = |width: Factor| -> Shape { of_items(m, tokens, [width, one]) };
        let kept = saved(sizes, tape, PROJECTOR_NORM, x, &rows, each);
        kept.by(tape.op("norm", &[x], &[normed]));
        x = normed;
    }
    let out_width = factor("p_out", projector.output);
    let Some(hidden_size) = projector.hidden else {
        let output = tape.tensor("projected tokens", of_merged(out_width), width);
        tape.op("encoder", &[x], &[output]);
        if trains {
            tape.saves(&[x]);
        }
        return output;
    };
    let middle = factor("p_f", hidden_size);
    let split = |shape: Shape| shape.over(tp(m));
    let inner = tape.tensor("output of linear_fc1", split(of_merged(middle)), width);
    tape.op("linear_fc1", &[x], &[inner]);
    if trains {
        tape.saves(&[x]);
    }
    let active = tape.tensor("output of the activation function", split(of_merged(middle)), width);
    tape.op("activation_func", &[inner], &[active]).saves(&[inner]);
    let output = tape.tensor("projected tokens", of_merged(out_width), width);
    tape.op("linear_fc2", &[active], &[output]);
    if trains {
        tape.saves(&[active]);
    }
    if norm == ProjectorNorm::Patch || !m.args.projector_bias || m.args.replicated {
        return output;
    }
    // `MultimodalProjector` adds the bias of its second layer itself; layers of Hugging Face do it at once.
    let biased = tape.tensor("projected tokens with bias", of_merged(out_width), width);
    tape.op("bias", &[output], &[biased]).gradients(&[Gradient::Shared]);
    biased
}

/// The weights of one projector's linear layers, or of so many deepstack projectors'.
///
/// The first layer is column-parallel, the second row-parallel with a replicated bias; an affine projector has only the
/// first (`MultimodalProjector`).
fn declare_layers(m: &Module, tape: &mut AutogradTape, projector: &Projector, copies: Option<Factor>) {
    let source = if copies.is_some() { PATCH_MERGER } else { PROJECTOR };
    let weights = Weights::of(m, Component::Projector, source);
    let (input, output) = (factor("p_in", projector.input), factor("p_out", projector.output));
    let times = copies.unwrap_or(Factor::NONE);
    let names = match (copies, projector.hidden) {
        (Some(_), _) => [
            "decoder.deepstack_merger_list.*.linear_fc1.weight",
            "decoder.deepstack_merger_list.*.linear_fc1.bias",
            "decoder.deepstack_merger_list.*.linear_fc2.weight",
            "decoder.deepstack_merger_list.*.linear_fc2.bias",
        ],
        (None, Some(_)) => [
            "input_projections.0.encoder.linear_fc1.weight",
            "input_projections.0.encoder.linear_fc1.bias",
            "input_projections.0.encoder.linear_fc2.weight",
            "input_projections.0.encoder.linear_fc2.bias",
        ],
        (None, None) => [
            "input_projections.0.encoder.weight",
            "input_projections.0.encoder.bias",
            "",
            "",
        ],
    };
    let [fc1, fc1_bias, fc2, fc2_bias] = names;
    let middle = projector.hidden.map_or(output, |hidden| factor("p_f", hidden));
    tape.declare([weights.split(fc1, &[times, middle, input], 2)]);
    if m.args.projector_bias {
        tape.declare([weights.split(fc1_bias, &[times, middle], 1)]);
    }
    if projector.hidden.is_none() {
        return;
    }
    tape.declare([weights.split(fc2, &[times, output, middle], 2)]);
    if m.args.projector_bias {
        tape.declare([weights.whole(fc2_bias, &[times, output], 1)]);
    }
}
