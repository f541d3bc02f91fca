//! What the end of an encoder keeps: its last norm, the merge of patches, and the projector.

use crate::config::choices::ProjectorNorm;
use crate::config::job::Module;
use crate::config::modality::Projector;
use crate::model::front_end::ops::{item_first, of_items, patch_count};
use crate::model::norm::ops::{AFTER_LAYERS, PROJECTOR_NORM, residual_norm, saved};
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, Gradient, TensorId};
use crate::model::tensor::{Factor, Shape, factor};
use crate::model::{hidden, tp};
use crate::source::{CLIP_VIT, PATCH_MERGER, PROJECTOR};
use crate::units::multiply;

/// From the output of the last layer to what the language model gets.
pub(crate) fn ops(sizes: &Sizes<'_>, tape: &mut AutogradTape, input: TensorId) {
    let m = sizes.m;
    tape.input = Some(input);
    tape.at(Family::Output, CLIP_VIT);
    let mut x = input;
    if m.args.encoder_post_norm {
        x = residual_norm(sizes, tape, AFTER_LAYERS, x);
    }
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
    tape.at(Family::Output, PROJECTOR);
    let first = tape.here();
    let output = layers(sizes, tape, &projector, m.args.projector_norm, x);
    if m.args.frozen {
        tape.detach_inputs(first);
    }
    tape.at(Family::Output, PATCH_MERGER);
    for _ in 0..m.args.deepstack_projectors {
        let deep = layers(sizes, tape, &projector, ProjectorNorm::Merged, x);
        tape.leaves(deep);
    }
    tape.output = Some(output);
}

/// Tokens of one item that the language model gets.
pub(crate) fn merged_count(m: &Module) -> u64 {
    let side = m.args.spatial_merge_size.max(1);
    (patch_count(m) / multiply(side, side)).max(1)
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
        let rows = |widths: &[Factor]| -> Shape {
            of_items(m, tokens, [widths.first().copied().unwrap_or(one), one])
        };
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
    let active = tape.tensor(
        "output of the activation function",
        split(of_merged(middle)),
        width,
    );
    tape.op("activation_func", &[inner], &[active])
        .saves(&[inner]);
    let output = tape.tensor("projected tokens", of_merged(out_width), width);
    tape.op("linear_fc2", &[active], &[output]);
    if trains {
        tape.saves(&[active]);
    }
    if norm == ProjectorNorm::Patch || !m.args.projector_bias {
        return output;
    }
    // `MultimodalProjector` adds the bias of its second layer itself.
    let biased = tape.tensor("projected tokens with bias", of_merged(out_width), width);
    tape.op("bias", &[output], &[biased])
        .gradients(&[Gradient::Shared]);
    biased
}
