//! The end of an encoder: its last norm, and the layers between it and the language model. These are one linear layer,
//! or two with an activation between them, perhaps after a norm, perhaps over merged patches.

mod downsample;

use super::adapter::{self, AdapterInput};
use super::items::{item_first, merged_count, of_items, patch_count};
use super::linear::Linear;
use super::norm::{AFTER_LAYERS, PROJECTOR_NORM, residual_norm, saved};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, Gradient, TensorId, Work};
use super::tensor::{Component, Factor, Shape, factor};
use super::trained::{detached, trained};
use super::weights::Weights;
use super::{hidden, tp};
use crate::config::choices::{ProjectorKind, ProjectorNorm};
use crate::config::job::Module;
use crate::config::modality::{Projector, merged_tokens};
use crate::source::Source;

/// Names of weight and bias of the first linear layer and of the second.
type Names = [&'static str; 4];

/// A projector of two layers.
const TWO_LAYERS: Names = [
    "input_projections.0.encoder.linear_fc1.weight",
    "input_projections.0.encoder.linear_fc1.bias",
    "input_projections.0.encoder.linear_fc2.weight",
    "input_projections.0.encoder.linear_fc2.bias",
];

/// A projector of one layer.
const ONE_LAYER: Names = [
    "input_projections.0.encoder.weight",
    "input_projections.0.encoder.bias",
    "",
    "",
];

/// The projectors on the output of inner layers.
const DEEPSTACK: Names = [
    "decoder.deepstack_merger_list.*.linear_fc1.weight",
    "decoder.deepstack_merger_list.*.linear_fc1.bias",
    "decoder.deepstack_merger_list.*.linear_fc2.weight",
    "decoder.deepstack_merger_list.*.linear_fc2.bias",
];

/// From the output of the last layer to what the language model gets.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) {
    let m = sizes.m;
    tape.input = Some(input);
    tape.at(Family::Output, Source::ClipVit);
    let mut x = post_norm(sizes, tape, input);
    let one = Factor::NONE;
    let count = factor("patches", patch_count(m));
    if item_first(m) {
        let kept = tape.tensor(
            "tokens without class tokens",
            of_items(m, count, [hidden(m), one]),
            sizes.width(),
        );
        tape.op("contiguous", Work::MemoryBound, &[x], &[kept]);
        x = kept;
    }
    if detached(m) {
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
    let weight = Weights::of(m, Component::EncoderNorm, Source::ClipVit).norm("ln_post", hidden(m));
    residual_norm(sizes, tape, &(AFTER_LAYERS, weight), x)
}

/// The projector, and the deepstack projectors beside it.
pub(crate) fn project(sizes: &Sizes<'_>, tape: &mut AutogradTape, projector: &Projector, x: TensorId) -> TensorId {
    let m = sizes.m;
    let merged = factor("p_in", projector.input);
    let weights = Weights::of(m, Component::Projector, Source::Projector);
    let name = "input_projections.0.norm";
    match m.args.projector_norm {
        ProjectorNorm::None => {}
        ProjectorNorm::Patch => tape.declare([weights.norm(name, hidden(m))]),
        ProjectorNorm::Merged => tape.declare([weights.norm(name, merged)]),
        ProjectorNorm::MergedRms => tape.declare([weights.whole(name, &[merged], 1)]),
    }
    let samples_down = m.args.projector == ProjectorKind::DownsampleMlp;
    if !samples_down {
        declare_layers(m, tape, projector, None);
    }
    tape.at(Family::Output, Source::Projector);
    let first = tape.here();
    let output = if samples_down {
        downsample::build(sizes, tape, projector, x)
    } else {
        layers(sizes, tape, projector, (m.args.projector_norm, &TWO_LAYERS), x)
    };
    if detached(m) {
        tape.detach_inputs(first);
    }
    if m.args.deepstack_projectors > 0 {
        let copies = factor("n_deep", m.args.deepstack_projectors);
        let parts = factor("(weight + bias)", m.norm_parts());
        let weights = Weights::of(m, Component::Projector, Source::PatchMerger);
        // Their norm stands after the merge (`use_postshuffle_norm`).
        let name = "decoder.deepstack_merger_list.*.patch_norm";
        tape.declare([weights.whole(name, &[copies, parts, merged], 1)]);
        declare_layers(m, tape, projector, Some(copies));
    }
    tape.at(Family::Output, Source::PatchMerger);
    for _ in 0..m.args.deepstack_projectors {
        let deep = layers(sizes, tape, projector, (ProjectorNorm::Merged, &DEEPSTACK), x);
        tape.leaves(deep);
    }
    output
}

fn layers(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    projector: &Projector,
    (norm, names): (ProjectorNorm, &Names),
    input: TensorId,
) -> TensorId {
    let (m, width) = (sizes.m, sizes.width());
    let one = Factor::NONE;
    let count = factor("merged patches", merged_count(m));
    let of_merged = |wide: Factor| of_items(m, count, [wide, one]);
    let wide = factor("p_in", projector.input);
    let of_norm = if m.args.projector_merger { side_by_side(m) } else { wide };
    let mut x = input;
    let over_merged = matches!(norm, ProjectorNorm::Merged | ProjectorNorm::MergedRms);
    if m.args.spatial_merge_size > 1 && over_merged {
        let merged = tape.tensor("merged patches", of_merged(wide), width);
        tape.op("pixel_shuffle", Work::MemoryBound, &[x], &[merged]);
        x = merged;
    }
    if norm != ProjectorNorm::None {
        let normed = tape.tensor("output of the projector's norm", of_merged(of_norm), width);
        let (tokens, each) = if norm == ProjectorNorm::Patch {
            (factor("patches", patch_count(m)), hidden(m))
        } else {
            (count, wide)
        };
        let rows = |width: Factor| -> Shape { of_items(m, tokens, [width, one]) };
        let kept = saved(sizes, tape, PROJECTOR_NORM, x, &rows, each);
        kept.by(tape.op("norm", Work::MemoryBound, &[x], &[normed]));
        x = normed;
    }
    if m.args.projector_merger {
        x = merge(sizes, tape, &of_merged, x);
    }
    let out_width = factor("p_out", projector.output);
    let Some(hidden_size) = projector.hidden else {
        let output = tape.tensor("projected tokens", of_merged(out_width), width);
        tape.op("encoder", Work::UncountedFlops, &[x], &[output]);
        if trained(m, Component::Projector) {
            tape.saves(&[x]);
        }
        return output;
    };
    let middle = factor("p_f", hidden_size);
    let split = |shape: Shape| shape.over(tp(m));
    let weights = Weights::of(m, Component::Projector, Source::Projector);
    let inner = tape.tensor("output of linear_fc1", split(of_merged(middle)), width);
    let first = Linear {
        name: "linear_fc1",
        input: x,
        width: wide,
        output: inner,
        weight: weights.column_parallel(names[0], &[middle, wide], 2),
        bias: None,
    };
    with_adapter(sizes, tape, &first);
    let active = tape.tensor("output of the activation function", split(of_merged(middle)), width);
    tape.op("activation_func", Work::MemoryBound, &[inner], &[active])
        .saves(&[inner]);
    let output = tape.tensor("projected tokens", of_merged(out_width), width);
    let second = Linear {
        name: "linear_fc2",
        input: active,
        width: middle,
        output,
        weight: weights.row_parallel(names[2], &[out_width, middle], out_width),
        bias: None,
    };
    with_adapter(sizes, tape, &second);
    if norm == ProjectorNorm::Patch || !m.args.projector_bias || m.args.replicated {
        return output;
    }
    // `MultimodalProjector` adds the bias of its second layer itself; layers of Hugging Face do it at once.
    let biased = tape.tensor("projected tokens with bias", of_merged(out_width), width);
    tape.op("bias", Work::MemoryBound, &[output], &[biased])
        .gradients(&[Gradient::Shared]);
    biased
}

/// A linear layer of a projector of two, and its adapter if it has one. Its weight is declared elsewhere.
fn with_adapter(sizes: &Sizes<'_>, tape: &mut AutogradTape, linear: &Linear) {
    adapter::beside(sizes, tape, linear, |tape, linear| {
        tape.op(linear.name, Work::UncountedFlops, &[linear.input], &[linear.output]);
        if trained(sizes.m, Component::Projector) {
            tape.saves(&[linear.input]);
        }
        AdapterInput {
            tensor: linear.input,
            in_parts: false,
        }
    });
}

/// The columns of merged patches side by side.
fn side_by_side(m: &Module) -> Factor {
    let merged = merged_tokens(&m.args, m.io.front_end);
    factor("m²·h", m.args.hidden_size.saturating_mul(merged))
}

/// One vector of the hidden size out of the patches that are merged (`Mistral3PatchMerger`).
fn merge(sizes: &Sizes<'_>, tape: &mut AutogradTape, of_merged: &dyn Fn(Factor) -> Shape, x: TensorId) -> TensorId {
    let (m, width) = (sizes.m, sizes.width());
    let side_by_side = side_by_side(m);
    let weights = Weights::of(m, Component::Projector, Source::Mistral3Merger);
    tape.declare([weights.column_parallel(
        "multi_modal_projector.patch_merger.merging_layer.weight",
        &[hidden(m), side_by_side],
        2,
    )]);
    tape.at(Family::Output, Source::Mistral3Merger);
    let unfolded = tape.tensor("patches side by side", of_merged(side_by_side), width);
    tape.op("unfold", Work::MemoryBound, &[x], &[unfolded]);
    let merged = tape.tensor("merged patches", of_merged(hidden(m)), width);
    tape.op("merging_layer", Work::UncountedFlops, &[unfolded], &[merged]);
    if trained(m, Component::Projector) {
        tape.saves(&[unfolded]);
    }
    merged
}

/// The weights of one projector's linear layers, or of so many deepstack projectors'.
///
/// The first layer is column-parallel, the second row-parallel with a replicated bias; an affine projector has only the
/// first (`MultimodalProjector`).
fn declare_layers(m: &Module, tape: &mut AutogradTape, projector: &Projector, copies: Option<Factor>) {
    let source = if copies.is_some() {
        Source::PatchMerger
    } else {
        Source::Projector
    };
    let mut weights = Weights::of(m, Component::Projector, source);
    if m.args.projector_split {
        weights = weights.split_by_all_ranks();
    }
    let (input, output) = (factor("p_in", projector.input), factor("p_out", projector.output));
    let times = copies.unwrap_or(Factor::NONE);
    let names = match (copies, projector.hidden) {
        (Some(_), _) => DEEPSTACK,
        (None, Some(_)) => TWO_LAYERS,
        (None, None) => ONE_LAYER,
    };
    let [fc1, fc1_bias, fc2, fc2_bias] = names;
    let middle = projector.hidden.map_or(output, |hidden| factor("p_f", hidden));
    tape.declare([weights.column_parallel(fc1, &[times, middle, input], 2)]);
    if m.args.projector_bias {
        tape.declare([weights.column_parallel(fc1_bias, &[times, middle], 1)]);
    }
    if projector.hidden.is_none() {
        return;
    }
    tape.declare([weights.row_parallel(fc2, &[times, output, middle], output)]);
    if m.args.projector_bias {
        tape.declare([weights.whole(fc2_bias, &[times, output], 1)]);
    }
}
