//! Encoders: images that patches tile, projectors that tensor parallelism can split, and micro batches
//! that every module can divide.

use crate::config::check::Draft;
use crate::config::choices::{FrontEnd, ProjectorKind};
use crate::config::fields::FieldId as F;
use crate::config::problem::{Problem, near_divisors, near_matches, or_list};
use crate::value::Value;

/// `CLIPViTModel` cuts an image into whole patches; a merger takes squares of them.
pub(super) fn images(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    if d.ends.front_end != FrontEnd::Patches {
        return;
    }
    let (patch, merge) = (d.a.patch_dim, d.a.spatial_merge_size);
    let step = patch.saturating_mul(merge);
    for (field, side) in [(F::img_h, d.a.img_h), (F::img_w, d.a.img_w)] {
        let Some(side) = side.filter(|side| !side.is_multiple_of(step)) else {
            continue;
        };
        let near = near_matches(side, side.saturating_add(step), 2, &|n: u64| {
            n.is_multiple_of(step)
        });
        let merged = if merge > 1 {
            format!(" · spatial_merge_size {merge}")
        } else {
            String::new()
        };
        d.error(
            problems,
            "image_by_patch",
            &[field, F::patch_dim, F::spatial_merge_size],
            format!(
                "{} {side} must be a multiple of patch_dim {patch}{merged}; {} would work",
                field.field().name,
                or_list(&near)
            ),
        )
        .fix_each(field, &near);
    }
    let stated = d
        .place
        .own_seq_length
        .filter(|stated| *stated != d.ends.tokens);
    if let (Some(stated), Some(_)) = (stated, d.a.img_h) {
        d.warning(
            problems,
            "tokens_of_image",
            &[F::seq_length, F::img_h, F::patch_dim, F::class_token_len],
            format!(
                "seq_length {stated} of {} is ignored: its images have {} tokens",
                d.place.name, d.ends.tokens
            ),
        )
        .fix(F::seq_length, Value::Null);
    }
}

/// Megatron's image and audio encoders hold both their ends on every stage, or refuse stages.
pub(super) fn stages(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    if d.pp > 1 && matches!(d.ends.front_end, FrontEnd::Patches | FrontEnd::Audio) {
        d.warning(
            problems,
            "encoder_stages",
            &[F::pipeline_model_parallel_size, F::front_end],
            format!(
                "{} has PP {}, which none of Megatron's image and audio encoders supports",
                d.place.name, d.pp
            ),
        )
        .fix(F::pipeline_model_parallel_size, Value::Int(1));
    }
}

/// A projector's first layer is column-parallel and its second row-parallel, and what comes out is
/// what the language model reads.
pub(super) fn projector(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    if let (Some(given), Some(hidden)) = (d.a.projector_output_size, d.place.language.hidden_size)
        && given != hidden
        && d.a.projector != ProjectorKind::None
        && !d.ends.is_language()
    {
        d.error(problems,
                "projector_output",
                &[F::projector_output_size, F::hidden_size],
                format!("projector_output_size {given} of {} must be the language model's hidden_size {hidden}", d.place.name),
            )
            .fix(F::projector_output_size, Value::Null);
    }
    let Some(projector) = d.ends.projector else {
        return;
    };
    let (field, split) = match projector.hidden {
        Some(hidden) => (F::projector_hidden_size, hidden),
        None => (F::projector_output_size, projector.output),
    };
    if !split.is_multiple_of(d.tp) {
        let near = near_divisors(split, d.tp, 3);
        d.error(problems,
                "projector_by_tp",
                &[field, F::tensor_model_parallel_size],
                format!(
                    "the projector's width {split} must be a multiple of tensor_model_parallel_size {}; TP {} would work",
                    d.tp,
                    or_list(&near)
                ),
            )
            .fix_each(F::tensor_model_parallel_size, &near);
    }
}

/// Every module runs as many micro batches as the language model, so its ranks share the same samples
/// (`encoder_mbs` in `examples/mimo/training/data.py`).
pub(super) fn micro_batch(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let Some(samples) = d.place.followed_samples() else {
        return;
    };
    let fields = [F::micro_batch_size, F::data_parallel_size];
    match d.place.own_micro_batch_size {
        Some(given) if given.saturating_mul(d.dp) != samples => {
            d.error(problems,
                "module_micro_batch",
                &fields,
                format!(
                    "micro_batch_size {given} of {} times its DP {} must be the language model's {samples} samples: all modules run the same micro batches",
                    d.place.name, d.dp
                ),
            )
            .fix(F::micro_batch_size, Value::Null);
        }

        None if !samples.is_multiple_of(d.dp) => {
            d.warning(problems,
                "module_micro_batch",
                &fields,
                format!(
                    "the {samples} samples of a micro batch of the language model do not divide over DP {} of {}: some of its ranks would have nothing to do",
                    d.dp, d.place.name
                ),
            );
        }

        _ => {}
    }
}
