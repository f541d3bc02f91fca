//! Batches and the schedule that runs them.

use super::rule::{ERROR, Found, Rule, To, WARNING};
use crate::config::check::Draft;
use crate::config::fields::FieldId as F;
use crate::parallel::schedule::{ScheduleInput, ScheduleProblem};
use crate::units::multiply;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "global_batch",
        fields: &[F::global_batch_size, F::micro_batch_size, F::world_size],
        broken: |d, f| {
            let (batch, step) = (d.global_batch_size, samples(d));
            // The language model's own check says it of the modules that follow it, and without a whole
            // number of copies there is no DP to speak of.
            d.place.followed_samples().is_none()
                && d.has_whole_copies()
                && !batch.is_multiple_of(step)
                && f.numbers(&[batch, d.a.micro_batch_size, d.dp, step])
                && f.near(near_batches(batch, step))
        },
        words: "global_batch_size {} must be a multiple of micro_batch_size {} · DP {} = {}; {} would work",
        fixes: &[(F::global_batch_size, To::Near)],
        ..ERROR
    },
    // The interleaved schedule deals micro batches out in groups
    // (`forward_backward_pipelining_with_interleaving`).
    Rule {
        name: "microbatch_group",
        fields: &[
            F::microbatch_group_size_per_virtual_pipeline_stage,
            F::pipeline_model_parallel_size,
        ],
        broken: |d, f| is_dealt_out(d) && group(d) < d.pp && f.numbers(&[group(d), d.pp]),
        words: "microbatch_group_size_per_virtual_pipeline_stage {} must be at least PP {}",
        fixes: &[(
            F::microbatch_group_size_per_virtual_pipeline_stage,
            To::Default,
        )],
        ..ERROR
    },
    Rule {
        name: "microbatches_fill_group",
        fields: &[
            F::global_batch_size,
            F::virtual_pipeline_model_parallel_size,
            F::pipeline_model_parallel_size,
        ],
        broken: |d, f| {
            let group = group(d);
            is_dealt_out(d)
                && group >= d.pp
                && group > d.num_microbatches
                && f.numbers(&[d.num_microbatches, group])
                && f.fix_each(
                    F::global_batch_size,
                    &[multiply(multiply(group, d.a.micro_batch_size), d.dp)],
                )
        },
        words: "{} micro batches do not fill one group of {}: Megatron's interleaved schedule refuses to run them",
        ..WARNING
    },
    // The last group must be empty or have a micro batch for every pipeline rank.
    Rule {
        name: "last_group",
        fields: &[
            F::global_batch_size,
            F::microbatch_group_size_per_virtual_pipeline_stage,
            F::pipeline_model_parallel_size,
        ],
        broken: |d, f| {
            let group = group(d);
            is_dealt_out(d)
                && group >= d.pp
                && group <= d.num_microbatches
                && last_group(d, f, group)
        },
        words: "{}: Megatron's interleaved schedule refuses to run them",
        ..WARNING
    },
];

/// Samples of a micro batch on all data-parallel ranks.
fn samples(d: &Draft<'_>) -> u64 {
    multiply(d.a.micro_batch_size, d.dp)
}

/// The batches of whole micro batches around this one.
fn near_batches(batch: u64, step: u64) -> Vec<u64> {
    let below = batch / step * step;
    let mut near = vec![below, below.saturating_add(step)];
    near.retain(|batch| *batch > 0);
    near
}

fn is_dealt_out(d: &Draft<'_>) -> bool {
    d.interleaved() && d.pp > 1
}

/// Micro batches of a group.
fn group(d: &Draft<'_>) -> u64 {
    d.a.microbatch_group_size_per_virtual_pipeline_stage
        .unwrap_or(d.pp)
}

fn last_group(d: &Draft<'_>, f: &mut Found, group: u64) -> bool {
    let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let input = ScheduleInput {
        pp: narrow(d.pp),
        vpp: Some(2),
        num_microbatches: narrow(d.num_microbatches),
        microbatch_group_size_per_vp_stage: Some(narrow(group)),
        ..ScheduleInput::default()
    };
    let Some(problem @ ScheduleProblem::LastGroup { near, .. }) = input.group_problem() else {
        return false;
    };
    let batches = near.map(|n| multiply(u64::from(n), samples(d)));
    f.text(&problem.to_string()) && f.fix_each(F::global_batch_size, &batches)
}
