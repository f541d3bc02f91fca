//! The rules of Megatron that more than one way of splitting layers asks, with values near by that it accepts.

use super::divisors::{list, near_divisors};
use super::{MAX_CHUNKS, StageInput, StageProblem};
use crate::value::Value;

pub(super) const PP: &str = "pipeline_model_parallel_size";
pub(super) const VPP: &str = "virtual_pipeline_model_parallel_size";
pub(super) const LAYERS: &str = "num_layers";
pub(super) const LAYERS_PER_CHUNK: &str = "num_layers_per_virtual_pipeline_stage";
pub(super) const CHUNKS_PER_RANK: &str = "num_virtual_stages_per_pipeline_rank";
pub(super) const FIRST: &str = "decoder_first_pipeline_num_layers";
pub(super) const LAST: &str = "decoder_last_pipeline_num_layers";
pub(super) const EMBEDDING: &str = "account_for_embedding_in_pipeline_split";
pub(super) const LOSS: &str = "account_for_loss_in_pipeline_split";
pub(super) const LAYOUT: &str = "pipeline_model_parallel_layout";
pub(super) const PATTERN: &str = "hybrid_layer_pattern";

/// Sizes that no split can start from.
pub(super) fn sizes(input: &StageInput<'_>) -> Vec<StageProblem> {
    let mut problems = Vec::new();
    let sizes = [
        (input.num_layers, LAYERS),
        (input.pp, PP),
        (input.vpp.unwrap_or(1), VPP),
    ];
    for (size, field) in sizes {
        if size == 0 {
            problems.push(zero(field));
        }
    }
    let (pp, vpp) = (input.pp, input.vpp.unwrap_or(1));
    if u64::from(pp) * u64::from(vpp) > u64::from(MAX_CHUNKS) {
        problems.push(too_many_chunks(pp, vpp));
    }
    if input.vpp.is_some() && pp == 1 {
        problems.push(interleaved_needs_pipeline(pp, vpp, 2));
    }
    problems
}

/// The size of that name is 0.
pub(super) fn zero(field: &'static str) -> StageProblem {
    StageProblem::error(&[field], format!("{field} must be at least 1"))
}

/// More chunks than any real job has: a limit of this calculator.
pub(super) fn too_many_chunks(pp: u32, vpp: u32) -> StageProblem {
    let message = format!(
        "{pp} pipeline ranks of {vpp} virtual stages are more than the {MAX_CHUNKS} that this calculator takes"
    );
    StageProblem::error(&[PP, VPP], message)
}

/// Interleaving without enough ranks to interleave over: 2, or 3 when p2p communication does not overlap.
pub(super) fn interleaved_needs_pipeline(pp: u32, vpp: u32, least_pp: u32) -> StageProblem {
    let overlap = if least_pp > 2 {
        " (2 are enough when p2p communication overlaps)"
    } else {
        ""
    };
    let message = format!("{vpp} virtual stages need at least {least_pp} pipeline ranks, and there are {pp}{overlap}");
    StageProblem::error(&[PP, VPP], message).fix(VPP, Value::Null)
}

/// The layers cannot be shared evenly by the ranks; expects `input.pp` to be at least 1.
pub(super) fn layers_per_rank(input: &StageInput<'_>) -> StageProblem {
    let (num_layers, slots, pp) = (input.num_layers, input.slots(), input.pp);
    let near_pp = near_divisors(slots, pp);
    let counted = if slots == num_layers {
        String::new()
    } else {
        format!(", with the embedding or loss counted {slots},")
    };
    // Counting the embedding, the loss or both as a layer may make it even.
    let more_slots = (1..=num_layers.saturating_add(2).saturating_sub(slots))
        .find(|more| slots.saturating_add(*more).is_multiple_of(pp));
    let count = match more_slots {
        Some(1) => "; or count the embedding or the loss as a layer",
        Some(_) => "; or count both embedding and loss as layers",
        None => "",
    };
    // With one layer more on each rank than an even split allows, the last rank gets what is left.
    let last = num_layers.checked_sub((pp - 1).saturating_mul(num_layers.div_ceil(pp)));
    let last = last.filter(|layers| *layers > 0 && slots == num_layers);
    let or_last = last.map_or_else(String::new, |layers| format!("; or set {LAST} {layers}"));
    let message = format!(
        "{LAYERS} {num_layers}{counted} must be divisible by {PP} {pp}; near: {}{count}{or_last}",
        list(&near_pp)
    );
    StageProblem::error(&[PP, LAYERS], message)
        .fix_each(PP, &near_pp)
        .fix_each(LAST, last.as_slice())
}

/// The layers of a rank cannot be shared evenly by its chunks. `ranks` says in words which ranks have so many layers,
/// and `fields` which arguments set the number.
pub(super) fn chunks_of_rank(
    ranks: &str,
    fields: &[&'static str],
    layers: u32,
    vpp: u32,
    near_vpp: &[u32],
) -> StageProblem {
    let message = format!(
        "{ranks} has {layers} layers, which must be divisible by its {vpp} virtual stages; near: {}",
        list(near_vpp)
    );
    StageProblem::error(fields, message).fix_each(VPP, near_vpp)
}

/// The stages of a layout do not fill whole ranks.
pub(super) fn layout_stages(stages: u32, pp: u32) -> StageProblem {
    let near_pp = near_divisors(stages, pp);
    let message = format!(
        "the layout's {stages} stages must be divisible by {PP} {pp}; near: {}",
        list(&near_pp)
    );
    StageProblem::error(&[LAYOUT, PP], message).fix_each(PP, &near_pp)
}

/// The segments of a hybrid pattern do not fill whole ranks.
pub(super) fn pattern_segments(segments: u32, pp: u32) -> StageProblem {
    let near_pp = near_divisors(segments, pp);
    let message = format!(
        "the pattern's {segments} segments (parts between |) must be divisible by {PP} {pp}; near: {}",
        list(&near_pp)
    );
    StageProblem::error(&[PATTERN, PP], message).fix_each(PP, &near_pp)
}

/// A hybrid pattern together with another way to split, which only `|` in the pattern can replace.
pub(super) fn pattern_with_other_split(field: &'static str) -> StageProblem {
    let message = format!("{field} does not go with {PATTERN}: write | in the pattern where a stage ends");
    StageProblem::error(&[field, PATTERN], message).fix(field, Value::Null)
}
