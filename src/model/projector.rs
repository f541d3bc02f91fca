//! The layers between an encoder and the language model: one linear layer, or two with an activation
//! between them, perhaps after a norm, perhaps over merged patches.

pub(crate) mod ops;

use super::norm::norm;
use super::tensor::{Component, Factor, Holding, ParamTensor, Shape, factor};
use super::{hidden, tp};
use crate::config::choices::ProjectorNorm;
use crate::config::ends::Projector;
use crate::config::job::Module;
use crate::source::{PATCH_MERGER, PROJECTOR, Prose};

/// Parameters of the projector and of the deepstack projectors beside it.
///
/// The first layer is column-parallel, the second row-parallel with a replicated bias; an affine
/// projector has only the first (`MultimodalProjector`).
pub(crate) fn parameters(m: &Module, out: &mut Vec<ParamTensor>) {
    let Some(projector) = m.ends.projector else {
        return;
    };
    let merged = factor("p_in", projector.input);
    let entry = match m.args.projector_norm {
        ProjectorNorm::None => None,
        ProjectorNorm::Patch => Some(hidden(m)),
        ProjectorNorm::Merged => Some(merged),
    };
    if let Some(width) = entry {
        let name = "input_projections.0.norm";
        out.push(norm(m, Component::Projector, name, width, PROJECTOR));
    }
    layers(m, &projector, None, out);
    if m.args.deepstack_projectors > 0 {
        let copies = factor("n_deep", m.args.deepstack_projectors);
        // Their norm stands after the merge (`use_postshuffle_norm`).
        let mut tensor = norm(
            m,
            Component::Projector,
            "decoder.deepstack_merger_list.*.patch_norm",
            merged,
            PATCH_MERGER,
        );
        let parts = factor("(weight + bias)", m.norm_parts());
        tensor.shape = Shape::of(&[copies, parts, merged]);
        out.push(tensor);
        layers(m, &projector, Some(copies), out);
    }
}

/// The linear layers of one projector, or of so many deepstack projectors.
fn layers(m: &Module, projector: &Projector, copies: Option<Factor>, out: &mut Vec<ParamTensor>) {
    let (input, output) = (
        factor("p_in", projector.input),
        factor("p_out", projector.output),
    );
    let times = copies.unwrap_or(Factor::NONE);
    let source = if copies.is_some() {
        PATCH_MERGER
    } else {
        PROJECTOR
    };
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
    let mut push = |name, shape, holding, dimensions| {
        out.push(ParamTensor {
            component: Component::Projector,
            name,
            shape,
            holding,
            dimensions,
            source: Prose::new(source),
        });
    };
    let middle = projector
        .hidden
        .map_or(output, |hidden| factor("p_f", hidden));
    let split = Holding::TpSharded;
    push(
        fc1,
        Shape::of(&[times, middle, input]).over(tp(m)),
        split,
        2,
    );
    if m.args.projector_bias {
        push(fc1_bias, Shape::of(&[times, middle]).over(tp(m)), split, 1);
    }
    if projector.hidden.is_none() {
        return;
    }
    push(
        fc2,
        Shape::of(&[times, output, middle]).over(tp(m)),
        split,
        2,
    );
    if m.args.projector_bias {
        push(
            fc2_bias,
            Shape::of(&[times, output]),
            Holding::Replicated,
            1,
        );
    }
}
