//! Batches and the schedule that runs them.

use crate::config::check::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::{Problem, or_list};
use crate::parallel::schedule::{ScheduleInput, ScheduleProblem};
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
    if !d.interleaved() || d.pp == 1 {
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
    } else {
        last_group(d, problems, group);
    }
}

/// The last group must be empty or have a micro batch for every pipeline rank.
fn last_group(d: &Draft<'_>, problems: &mut Vec<Problem>, group: u64) {
    let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let input = ScheduleInput {
        pp: narrow(d.pp),
        vpp: Some(2),
        num_microbatches: narrow(d.num_microbatches),
        microbatch_group_size_per_vp_stage: Some(narrow(group)),
        ..ScheduleInput::default()
    };
    for problem in input.problems() {
        let ScheduleProblem::LastGroup { near, .. } = problem else {
            continue;
        };
        let batches = near.map(|n| {
            let step = d.a.micro_batch_size.saturating_mul(d.dp);
            u64::from(n).saturating_mul(step)
        });
        let fields = [
            F::global_batch_size,
            F::microbatch_group_size_per_virtual_pipeline_stage,
            F::pipeline_model_parallel_size,
        ];
        let message = format!("{problem}: Megatron's interleaved schedule refuses to run them");
        d.warning(problems, "last_group", &fields, message)
            .fix_each(F::global_batch_size, &batches);
    }
}
