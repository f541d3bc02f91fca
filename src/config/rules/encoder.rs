//! Encoders: images that patches tile, projectors that tensor parallelism can split, and micro batches
//! that every module can divide.

use super::rule::FixValue::{Default, Number};
use super::rule::rules;
use crate::config::choices::{FrontEnd, ProjectorKind};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::nearby::{near_divisors, near_multiples, or_list};
use crate::config::problem::Problem;

rules! { |d, a|
    error "image_by_patch" by(|d| image_by_patch(d, F::img_h, d.args.img_h));
    error "image_by_patch" by(|d| image_by_patch(d, F::img_w, d.args.img_w));
    warning "tokens_of_image"
        let stated = d.context.own_seq_length?,
        if d.io.front_end == FrontEnd::Patches && a.img_h.is_some() && stated != d.io.tokens
        => [seq_length, img_h, patch_dim, class_token_len],
        format!("seq_length {stated} of {} is ignored: its images have {} tokens", d.context.name, d.io.tokens),
        [seq_length = Default];
    // Megatron's image and audio encoders hold embedding and final norm on every stage, or refuse stages.
    warning "encoder_stages" if d.pp > 1 && matches!(d.io.front_end, FrontEnd::Patches | FrontEnd::Audio)
        => [pipeline_model_parallel_size, front_end],
        format!("{} has PP {}, which none of Megatron's image and audio encoders supports", d.context.name, d.pp),
        [pipeline_model_parallel_size = Number(1)];
    // The language model reads the projector's output.
    error "projector_output"
        let given = a.projector_output_size?, let hidden = d.context.language.hidden_size?,
        if a.projector != ProjectorKind::None && !d.io.is_language() && given != hidden
        => [projector_output_size, hidden_size],
        format!(
            "projector_output_size {given} of {} must be the language model's hidden_size {hidden}",
            d.context.name
        ),
        [projector_output_size = Default];
    error "projector_by_tp" by(projector_by_tp);
    // Every module runs as many micro batches as the language model, so its ranks share the same samples
    // (`encoder_mbs` in `examples/mimo/training/data.py`).
    error "module_micro_batch"
        let samples = d.context.followed_samples()?, let given = d.context.own_micro_batch_size?,
        if given.saturating_mul(d.dp) != samples => [micro_batch_size, data_parallel_size],
        format!(
            "micro_batch_size {given} of {} times its DP {} must be the language model's {samples} samples: all modules run the same micro batches",
            d.context.name, d.dp
        ),
        [micro_batch_size = Default];
    warning "module_micro_batch" by(shared_micro_batch);
}

/// `CLIPViTModel` cuts an image into whole patches; a merger takes squares of them.
fn image_by_patch(d: &Draft<'_>, field: F, side: Option<u64>) -> Option<Problem> {
    let side = side?;
    let (patch, merge) = (d.args.patch_dim, d.args.spatial_merge_size);
    let step = patch.saturating_mul(merge);
    if d.io.front_end != FrontEnd::Patches || side.is_multiple_of(step) {
        return None;
    }
    let near = near_multiples(side, step);
    let merged = match merge {
        1 => String::new(),
        _ => format!(" · spatial_merge_size {merge}"),
    };
    let message = format!(
        "{} {side} must be a multiple of patch_dim {patch}{merged}; {} would work",
        field.field().name,
        or_list(&near)
    );
    let fields = [field, F::patch_dim, F::spatial_merge_size];
    Some(Problem::error(&fields, message).fix_each(field, &near))
}

/// A projector's first layer is column-parallel and its second row-parallel.
fn projector_by_tp(d: &Draft<'_>) -> Option<Problem> {
    let projector = d.io.projector?;
    let (field, width) = match projector.hidden {
        Some(hidden) => (F::projector_hidden_size, hidden),
        None => (F::projector_output_size, projector.output),
    };
    if width.is_multiple_of(d.tensor_parts()) {
        return None;
    }
    let near = near_divisors(width, d.tp, 3);
    let message = format!(
        "the projector's width {width} must be a multiple of tensor_model_parallel_size {}; TP {} would work",
        d.tp,
        or_list(&near)
    );
    let fields = [field, F::tensor_model_parallel_size];
    Some(Problem::error(&fields, message).fix_each(F::tensor_model_parallel_size, &near))
}

fn shared_micro_batch(d: &Draft<'_>) -> Option<Problem> {
    let samples = d.context.followed_samples()?;
    if d.context.own_micro_batch_size.is_some() || samples.is_multiple_of(d.dp) {
        return None;
    }
    let message = format!(
        "the {samples} samples of a micro batch of the language model do not divide over DP {} of {}: some of its ranks would have nothing to do",
        d.dp, d.context.name
    );
    let near = near_divisors(samples, d.dp, 3);
    let fields = [F::micro_batch_size, F::data_parallel_size];
    Some(Problem::warning(&fields, message).fix_each(F::data_parallel_size, &near))
}
