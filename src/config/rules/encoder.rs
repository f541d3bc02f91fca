//! Encoders: images that patches tile, projectors that tensor parallelism can split, and micro batches
//! that every module can divide.

use super::rule::{ERROR, Found, Rule, To, WARNING};
use crate::config::check::Draft;
use crate::config::choices::{FrontEnd, ProjectorKind};
use crate::config::fields::FieldId as F;
use crate::config::problem::{near_divisors, near_multiples};
use crate::units::multiply;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "image_by_patch",
        fields: &[F::img_h, F::patch_dim, F::spatial_merge_size],
        broken: |d, f| not_tiled(d, f, d.a.img_h),
        words: "img_h {} must be a multiple of patch_dim {}{}; {} would work",
        fixes: &[(F::img_h, To::Near)],
        ..ERROR
    },
    Rule {
        name: "image_by_patch",
        fields: &[F::img_w, F::patch_dim, F::spatial_merge_size],
        broken: |d, f| not_tiled(d, f, d.a.img_w),
        words: "img_w {} must be a multiple of patch_dim {}{}; {} would work",
        fixes: &[(F::img_w, To::Near)],
        ..ERROR
    },
    Rule {
        name: "tokens_of_image",
        fields: &[F::seq_length, F::img_h, F::patch_dim, F::class_token_len],
        broken: |d, f| {
            d.ends.front_end == FrontEnd::Patches
                && d.a.img_h.is_some()
                && d.place.own_seq_length.is_some_and(|stated| {
                    stated != d.ends.tokens
                        && f.number(stated)
                        && f.text(d.place.name)
                        && f.number(d.ends.tokens)
                })
        },
        words: "seq_length {} of {} is ignored: its images have {} tokens",
        fixes: &[(F::seq_length, To::Default)],
        ..WARNING
    },
    // Megatron's image and audio encoders hold both their ends on every stage, or refuse stages.
    Rule {
        name: "encoder_stages",
        fields: &[F::pipeline_model_parallel_size, F::front_end],
        broken: |d, f| {
            d.pp > 1
                && matches!(d.ends.front_end, FrontEnd::Patches | FrontEnd::Audio)
                && f.text(d.place.name)
                && f.number(d.pp)
        },
        words: "{} has PP {}, which none of Megatron's image and audio encoders supports",
        fixes: &[(F::pipeline_model_parallel_size, To::Number(1))],
        ..WARNING
    },
    // What comes out of a projector is what the language model reads.
    Rule {
        name: "projector_output",
        fields: &[F::projector_output_size, F::hidden_size],
        broken: |d, f| match (d.a.projector_output_size, d.place.language.hidden_size) {
            (Some(given), Some(hidden)) => {
                given != hidden
                    && d.a.projector != ProjectorKind::None
                    && !d.ends.is_language()
                    && f.number(given)
                    && f.text(d.place.name)
                    && f.number(hidden)
            }
            _ => false,
        },
        words: "projector_output_size {} of {} must be the language model's hidden_size {}",
        fixes: &[(F::projector_output_size, To::Default)],
        ..ERROR
    },
    // A projector's first layer is column-parallel and its second row-parallel.
    Rule {
        name: "projector_by_tp",
        broken: |d, f| {
            d.ends.projector.is_some_and(|projector| {
                let (field, width) = match projector.hidden {
                    Some(hidden) => (F::projector_hidden_size, hidden),
                    None => (F::projector_output_size, projector.output),
                };
                f.rest(width, d.tp)
                    && f.near(near_divisors(width, d.tp, 3))
                    && f.about(&[field, F::tensor_model_parallel_size])
            })
        },
        words: "the projector's width {} must be a multiple of tensor_model_parallel_size {}; TP {} would work",
        fixes: &[(F::tensor_model_parallel_size, To::Near)],
        ..ERROR
    },
    // Every module runs as many micro batches as the language model, so its ranks share the same samples
    // (`encoder_mbs` in `examples/mimo/training/data.py`).
    Rule {
        name: "module_micro_batch",
        fields: &[F::micro_batch_size, F::data_parallel_size],
        broken: |d, f| match (d.place.followed_samples(), d.place.own_micro_batch_size) {
            (Some(samples), Some(given)) => {
                multiply(given, d.dp) != samples
                    && f.number(given)
                    && f.text(d.place.name)
                    && f.numbers(&[d.dp, samples])
            }
            _ => false,
        },
        words: "micro_batch_size {} of {} times its DP {} must be the language model's {} samples: all modules run the same micro batches",
        fixes: &[(F::micro_batch_size, To::Default)],
        ..ERROR
    },
    Rule {
        name: "module_micro_batch",
        fields: &[F::micro_batch_size, F::data_parallel_size],
        broken: |d, f| match (d.place.followed_samples(), d.place.own_micro_batch_size) {
            (Some(samples), None) => {
                f.rest(samples, d.dp)
                    && f.text(d.place.name)
                    && f.near(near_divisors(samples, d.dp, 3))
            }
            _ => false,
        },
        words: "the {} samples of a micro batch of the language model do not divide over DP {} of {}: some of its ranks would have nothing to do",
        fixes: &[(F::data_parallel_size, To::Near)],
        ..WARNING
    },
];

/// `CLIPViTModel` cuts an image into whole patches; a merger takes squares of them.
fn not_tiled(d: &Draft<'_>, f: &mut Found, side: Option<u64>) -> bool {
    let (patch, merge) = (d.a.patch_dim, d.a.spatial_merge_size);
    let step = multiply(patch, merge);
    let merged = || match merge {
        1 => String::new(),
        _ => format!(" · spatial_merge_size {merge}"),
    };
    d.ends.front_end == FrontEnd::Patches
        && side.is_some_and(|side| {
            !side.is_multiple_of(step)
                && f.numbers(&[side, patch])
                && f.text(&merged())
                && f.near(near_multiples(side, step))
        })
}
