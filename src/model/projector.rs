//! The layers between an encoder and the language model: one linear layer, or two with an activation
//! between them, perhaps after a norm, perhaps over merged patches.

pub(crate) mod ops;

use super::hidden;
use super::list::ParamList;
use super::tensor::{Component, Factor, factor};
use crate::config::choices::ProjectorNorm;
use crate::config::job::Module;
use crate::config::modality::Projector;
use crate::source::{PATCH_MERGER, PROJECTOR};

/// Parameters of the projector and of the deepstack projectors beside it.
///
/// The first layer is column-parallel, the second row-parallel with a replicated bias; an affine
/// projector has only the first (`MultimodalProjector`).
pub(crate) fn parameters(m: &Module, out: &mut ParamList<'_>) {
    let Some(projector) = m.io.projector else {
        return;
    };
    let merged = factor("p_in", projector.input);
    let entry = match m.args.projector_norm {
        ProjectorNorm::None => None,
        ProjectorNorm::Patch => Some(hidden(m)),
        ProjectorNorm::Merged => Some(merged),
    };
    out.at(Component::Projector, PROJECTOR);
    if let Some(width) = entry {
        out.norm("input_projections.0.norm", width);
    }
    layers(m, &projector, None, out);
    if m.args.deepstack_projectors > 0 {
        let copies = factor("n_deep", m.args.deepstack_projectors);
        let parts = factor("(weight + bias)", m.norm_parts());
        out.at(Component::Projector, PATCH_MERGER);
        // Their norm stands after the merge (`use_postshuffle_norm`).
        let name = "decoder.deepstack_merger_list.*.patch_norm";
        out.whole(name, &[copies, parts, merged], 1);
        layers(m, &projector, Some(copies), out);
    }
}

/// The linear layers of one projector, or of so many deepstack projectors.
fn layers(m: &Module, projector: &Projector, copies: Option<Factor>, out: &mut ParamList<'_>) {
    let (input, output) = (
        factor("p_in", projector.input),
        factor("p_out", projector.output),
    );
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
    let middle = projector
        .hidden
        .map_or(output, |hidden| factor("p_f", hidden));
    out.split(fc1, &[times, middle, input], 2);
    if m.args.projector_bias {
        out.split(fc1_bias, &[times, middle], 1);
    }
    if projector.hidden.is_none() {
        return;
    }
    out.split(fc2, &[times, output, middle], 2);
    if m.args.projector_bias {
        out.whole(fc2_bias, &[times, output], 1);
    }
}
