//! Batches and the schedule that runs them.

use super::rule::FixValue::{Default, Number};
use super::rule::rules;
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::nearby::or_list;
use crate::config::problem::Problem;
use crate::parallel::schedule::ScheduleInput;
use crate::value::Value;

rules! { |d, a|
    error "global_batch" by(global_batch);
    error "microbatch_group"
        let group = group(d)?,
        if group < d.pp => [microbatch_group_size_per_virtual_pipeline_stage, pipeline_model_parallel_size],
        format!("microbatch_group_size_per_virtual_pipeline_stage {group} must be at least PP {}", d.pp),
        [microbatch_group_size_per_virtual_pipeline_stage = Default];
    warning "microbatches_fill_group"
        let group = group(d)?,
        if group >= d.pp && group > d.num_microbatches
        => [global_batch_size, virtual_pipeline_model_parallel_size, pipeline_model_parallel_size],
        format!(
            "{} micro batches do not fill one group of {group}: Megatron's interleaved schedule refuses to run them",
            d.num_microbatches
        ),
        [global_batch_size = Number(group.saturating_mul(samples(d)))];
    warning "last_group" by(last_group);
}

/// Samples of a micro batch on all data-parallel ranks.
fn samples(d: &Draft<'_>) -> u64 {
    d.args.micro_batch_size.saturating_mul(d.dp)
}

fn global_batch(d: &Draft<'_>) -> Option<Problem> {
    let (batch, step) = (d.global_batch_size, samples(d));
    // The language model's own check reports it for the modules that follow it, and without a whole number of copies
    // DP is not known.
    let own = d.context.followed_samples().is_none() && d.has_whole_copies();
    if !own || batch.is_multiple_of(step) {
        return None;
    }
    let below = batch / step * step;
    let mut near = vec![below, below.saturating_add(step)];
    near.retain(|batch| *batch > 0);
    let message = format!(
        "global_batch_size {batch} must be a multiple of micro_batch_size {} · DP {} = {step}; {} would work",
        d.args.micro_batch_size,
        d.dp,
        or_list(&near)
    );
    let fields = [F::global_batch_size, F::micro_batch_size, F::world_size];
    Some(Problem::error(&fields, message).fix_each(F::global_batch_size, &near))
}

/// The micro batches of a group, where the interleaved schedule deals micro batches out in groups
/// (`forward_backward_pipelining_with_interleaving`).
fn group(d: &Draft<'_>) -> Option<u64> {
    let group = d.args.microbatch_group_size_per_virtual_pipeline_stage.unwrap_or(d.pp);
    (d.interleaved() && d.pp > 1).then_some(group)
}

/// The last group must be empty or have a micro batch for every pipeline rank.
fn last_group(d: &Draft<'_>) -> Option<Problem> {
    let group = group(d)?;
    if group < d.pp || group > d.num_microbatches {
        return None;
    }
    let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let input = ScheduleInput {
        pp: narrow(d.pp),
        vpp: Some(2),
        num_microbatches: narrow(d.num_microbatches),
        microbatch_group_size_per_vp_stage: Some(narrow(group)),
        ..ScheduleInput::default()
    };
    let problem = input.group_problem()?;
    // Its fixes are numbers of micro batches.
    let batches = problem.fixes.iter().filter_map(|fix| match fix.value {
        Value::Int(microbatches) => Some(u64::try_from(microbatches).ok()?.saturating_mul(samples(d))),
        _ => None,
    });
    let batches: Vec<u64> = batches.collect();
    let message = format!("{problem}: Megatron's interleaved schedule refuses to run them");
    let fields = [
        F::global_batch_size,
        F::microbatch_group_size_per_virtual_pipeline_stage,
        F::pipeline_model_parallel_size,
    ];
    Some(Problem::warning(&fields, message).fix_each(F::global_batch_size, &batches))
}
