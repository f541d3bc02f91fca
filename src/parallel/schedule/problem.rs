//! The rules of Megatron that a schedule breaks, with values near by that it accepts.

use super::ScheduleInput;

/// A rule of Megatron that a schedule breaks. Arguments have Megatron's names.
pub type ScheduleProblem = crate::parallel::problem::Problem<&'static str>;

const PP: &str = "pipeline_model_parallel_size";
const VPP: &str = "virtual_pipeline_model_parallel_size";
const GROUP: &str = "microbatch_group_size_per_vp_stage";
const OVERLAP: &str = "overlap_moe_expert_parallel_comm";
/// Not an argument: the batch and the data-parallel size together decide it.
const MICROBATCHES: &str = "num_microbatches";

impl ScheduleInput {
    /// Microbatches in a group.
    pub(super) fn group(&self) -> u32 {
        (self.microbatch_group_size_per_vp_stage).unwrap_or(self.pp).max(1)
    }

    /// Every rule of Megatron that this input breaks.
    #[must_use]
    pub fn problems(&self) -> Vec<ScheduleProblem> {
        let mut problems = Vec::new();
        let sizes = [
            (self.pp, PP),
            (self.num_microbatches, MICROBATCHES),
            (self.vpp.unwrap_or(1), VPP),
            (self.microbatch_group_size_per_vp_stage.unwrap_or(1), GROUP),
        ];
        for (size, field) in sizes {
            if size == 0 {
                problems.push(ScheduleProblem::error(&[field], format!("{field} must be at least 1")));
            }
        }
        if !problems.is_empty() {
            return problems;
        }
        let (pp, pp_rank) = (self.pp, self.pp_rank);
        if pp_rank >= pp {
            let message = format!("there is no pipeline rank {pp_rank} among {pp}");
            problems.push(ScheduleProblem::error(&[PP], message));
        }
        if pp > 1 && self.vpp.is_none() && self.overlap_moe_expert_parallel_comm {
            let message = format!("{OVERLAP} with {pp} pipeline ranks needs virtual stages");
            problems.push(ScheduleProblem::error(&[OVERLAP, VPP], message));
        }
        if pp > 1 && self.vpp.is_some() {
            problems.extend(self.group_problem());
        }
        problems
    }

    /// The rule that the groups of microbatches of an interleaved schedule break, if any. Where the last group is too
    /// small the fixes are the nearest numbers of microbatches, below and above, that fill their groups well enough.
    pub(crate) fn group_problem(&self) -> Option<ScheduleProblem> {
        const FIELDS: [&str; 4] = ["global_batch_size", GROUP, PP, "micro_batch_size"];
        let (group, pp, num_microbatches) = (self.group(), self.pp, self.num_microbatches);
        if num_microbatches < pp {
            let message = format!(
                "with virtual stages there must be at least as many microbatches as pipeline ranks, {pp}, and there are {num_microbatches} (in groups of {group})"
            );
            return Some(ScheduleProblem::error(&FIELDS, message));
        }
        if group < pp || group > num_microbatches {
            let message = format!(
                "{GROUP} {group} must be between the number of pipeline ranks, {pp}, and the number of microbatches, {num_microbatches}"
            );
            return Some(ScheduleProblem::error(&FIELDS, message));
        }
        let remainder = num_microbatches % group;
        let below = num_microbatches - remainder;
        let above = below.saturating_add(pp);
        (remainder > 0 && remainder < pp).then(|| {
            let message = format!(
                "{num_microbatches} microbatches in groups of {group} leave {remainder} for the last group, which must have none or at least {pp}, one for each pipeline rank; near: {below}, {above}"
            );
            ScheduleProblem::error(&FIELDS, message).fix_each(MICROBATCHES, &[below, above])
        })
    }
}
