//! How ranks tile the job.

use crate::config::check::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::{Problem, near_matches, or_list};
use crate::value::Value;

pub(super) fn world(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let copy = d.tp.saturating_mul(d.pp).saturating_mul(d.cp);
    let fields = [
        F::world_size,
        F::tensor_model_parallel_size,
        F::pipeline_model_parallel_size,
        F::context_parallel_size,
    ];
    if d.world_size < copy {
        d.error(problems,
                "world_holds_one_copy",
                &fields,
                format!(
                    "world_size {} is less than one copy of the model, which takes TP {} · PP {} · CP {} = {copy} GPUs",
                    d.world_size, d.tp, d.pp, d.cp
                ),
            )
            .fix(F::world_size, Value::Int(copy.into()));
    } else if !d.world_size.is_multiple_of(copy) {
        let below = d.world_size / copy * copy;
        let near = [below, below.saturating_add(copy)];
        d.error(problems,
                "world_by_copy",
                &fields,
                format!(
                    "world_size {} must be a multiple of TP {} · PP {} · CP {} = {copy}; {} GPUs would work",
                    d.world_size,
                    d.tp,
                    d.pp,
                    d.cp,
                    or_list(&near)
                ),
            )
            .fix_each(F::world_size, &near);
    } else if let Some(dp) = d.a.data_parallel_size.filter(|dp| *dp != d.dp) {
        d.error(problems,
                "data_parallel_size",
                &[F::data_parallel_size, F::world_size],
                format!(
                    "data_parallel_size {dp} does not fit {} GPUs with TP {} · PP {} · CP {}: that gives {}",
                    d.world_size, d.tp, d.pp, d.cp, d.dp
                ),
            )
            .fix(F::data_parallel_size, Value::Null)
            .fix(F::world_size, Value::Int((u128::from(copy) * u128::from(dp)).try_into().unwrap_or(i128::MAX)));
    }
}

/// The expert grid must cover the same ranks as the dense one (`initialize_model_parallel`).
pub(super) fn experts(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let copy = d.tp.saturating_mul(d.pp).saturating_mul(d.cp);
    if d.world_size < copy || !d.world_size.is_multiple_of(copy) {
        return;
    }
    let stage = d.world_size / d.pp;
    let span = d.etp.saturating_mul(d.ep);
    if !stage.is_multiple_of(span) {
        let fits = |n: u64| d.a.num_experts.is_none_or(|e| e.is_multiple_of(n));
        let expert_near = near_matches(d.ep, 4096, 3, &|ep| {
            fits(ep) && stage.is_multiple_of(d.etp.saturating_mul(ep))
        });
        let tensor_near = near_matches(d.etp, 64, 2, &|etp| {
            stage.is_multiple_of(etp.saturating_mul(d.ep))
        });
        let hint = match (expert_near.as_slice(), tensor_near.as_slice()) {
            ([], []) => format!(
                "world_size must be a multiple of ETP · EP · PP = {}",
                span.saturating_mul(d.pp)
            ),
            ([], etp) => format!("ETP {} would work", or_list(etp)),
            (ep, _) => format!("EP {} would work", or_list(ep)),
        };
        d.error(problems,
                "expert_grid",
                &[
                    F::expert_model_parallel_size,
                    F::expert_tensor_parallel_size,
                    F::tensor_model_parallel_size,
                    F::context_parallel_size,
                    F::world_size,
                ],
                format!(
                    "ETP {} · EP {} = {span} must divide the {stage} ranks of a pipeline stage (TP · CP · DP = {} · {} · {}); {hint}",
                    d.etp, d.ep, d.tp, d.cp, d.dp
                ),
            )
            .fix_each(F::expert_model_parallel_size, &expert_near)
            .fix_each(F::expert_tensor_parallel_size, &tensor_near);
    }
}

pub(super) fn sequence(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let s = d.a.seq_length;
    // An encoder on the language model's own ranks has whole sequences on each of them.
    let whole = d.place.colocated && !d.ends.is_language();
    if d.cp > 1 && !whole && !s.is_multiple_of(2 * d.cp) {
        let near = near_matches(s, s.saturating_add(2 * d.cp), 2, &|n| {
            n.is_multiple_of(2 * d.cp)
        });
        d.error(
            problems,
            "sequence_by_cp",
            &[F::seq_length, F::context_parallel_size],
            format!(
                "seq_length {s} must be a multiple of 2 · CP = {}; {} would work",
                2 * d.cp,
                or_list(&near)
            ),
        )
        .fix_each(F::seq_length, &near);
    }
    if !d.a.sequence_parallel {
        return;
    }
    if d.tp == 1 {
        d.warning(
            problems,
            "sequence_parallel_needs_tp",
            &[F::sequence_parallel, F::tensor_model_parallel_size],
            String::from("Megatron-LM turns sequence_parallel off with TP 1"),
        )
        .fix(F::sequence_parallel, Value::Bool(false));
    } else if !(s / d.cp).is_multiple_of(d.tp) {
        let step = d.tp.saturating_mul(d.cp);
        let near = near_matches(s, s.saturating_add(step), 2, &|n| n.is_multiple_of(step));
        d.error(problems,
                "sequence_by_tp",
                &[F::seq_length, F::tensor_model_parallel_size, F::sequence_parallel],
                format!(
                    "with sequence_parallel, seq_length {s} over CP {} must be a multiple of TP {}; {} would work",
                    d.cp,
                    d.tp,
                    or_list(&near)
                ),
            )
            .fix_each(F::seq_length, &near);
    }
}
