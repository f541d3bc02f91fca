//! Batches and the schedule that runs them.

use crate::config::check::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::{Problem, or_list};
use crate::value::Value;

pub(super) fn global_batch(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    if d.place.followed_samples().is_some() {
        // The language model's own check says it.
        return;
    }
    let copy = d.tp.saturating_mul(d.pp).saturating_mul(d.cp);
    if !d.world_size.is_multiple_of(copy) {
        // Without a whole number of copies there is no DP to speak of.
        return;
    }
    let step = d.a.micro_batch_size.saturating_mul(d.dp);
    let batch = d.global_batch_size;
    if !batch.is_multiple_of(step) {
        let below = batch / step * step;
        let near: Vec<u64> = [below, below.saturating_add(step)]
            .into_iter()
            .filter(|n| *n > 0)
            .collect();
        d.error(problems,
                "global_batch",
                &[F::global_batch_size, F::micro_batch_size, F::world_size],
                format!(
                    "global_batch_size {batch} must be a multiple of micro_batch_size {} · DP {} = {step}; {} would work",
                    d.a.micro_batch_size,
                    d.dp,
                    or_list(&near)
                ),
            )
            .fix_each(F::global_batch_size, &near);
    }
}

/// The interleaved schedule deals micro batches out in groups
/// (`forward_backward_pipelining_with_interleaving`).
pub(super) fn interleaving(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let interleaved =
        d.a.virtual_pipeline_model_parallel_size
            .is_some_and(|vpp| vpp > 1)
            || d.a.num_layers_per_virtual_pipeline_stage.is_some()
            || d.a
                .num_virtual_stages_per_pipeline_rank
                .is_some_and(|n| n > 1);
    if !interleaved || d.pp == 1 {
        return;
    }
    let group =
        d.a.microbatch_group_size_per_virtual_pipeline_stage
            .unwrap_or(d.pp);
    let fields = [
        F::microbatch_group_size_per_virtual_pipeline_stage,
        F::pipeline_model_parallel_size,
    ];
    if group < d.pp {
        d.error(
            problems,
            "microbatch_group",
            &fields,
            format!(
                "microbatch_group_size_per_virtual_pipeline_stage {group} must be at least PP {}",
                d.pp
            ),
        )
        .fix(
            F::microbatch_group_size_per_virtual_pipeline_stage,
            Value::Null,
        );
    } else if group > d.num_microbatches {
        let batch = group
            .saturating_mul(d.a.micro_batch_size)
            .saturating_mul(d.dp);
        d.warning(problems,
                "microbatches_fill_group",
                &[F::global_batch_size, F::virtual_pipeline_model_parallel_size, F::pipeline_model_parallel_size],
                format!(
                    "{} micro batches do not fill one group of {group}: Megatron's interleaved schedule refuses to run them",
                    d.num_microbatches
                ),
            )
            .fix(F::global_batch_size, Value::Int(batch.into()));
    }
}
