//! The rules of Megatron that a schedule breaks, with values near by that it accepts.

use core::fmt;

use super::ScheduleInput;

/// A rule of Megatron that a schedule breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleProblem {
    /// A size that must be at least 1 is 0.
    Zero {
        /// Megatron's name of the size.
        field: &'static str,
    },
    /// A rank that does not exist.
    Rank {
        /// The rank asked for.
        pp_rank: u32,
        /// Pipeline ranks.
        pp: u32,
    },
    /// A group with fewer microbatches than ranks, or more than there are.
    Group {
        /// Microbatches in a group.
        group: u32,
        /// Pipeline ranks, the least that a group may have.
        pp: u32,
        /// Microbatches, the most that a group may have.
        num_microbatches: u32,
    },
    /// A last group with fewer microbatches than ranks.
    LastGroup {
        /// Microbatches in a group.
        group: u32,
        /// Pipeline ranks.
        pp: u32,
        /// Microbatches.
        num_microbatches: u32,
        /// Microbatches in the last group.
        remainder: u32,
        /// The nearest numbers of microbatches, below and above, that fill their groups well enough.
        near: [u32; 2],
    },
    /// EP overlap in a pipeline without virtual stages.
    OverlapNeedsVpp {
        /// Pipeline ranks.
        pp: u32,
    },
}

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
            (self.pp, "pipeline_model_parallel_size"),
            (self.num_microbatches, "num_microbatches"),
            (self.vpp.unwrap_or(1), "virtual_pipeline_model_parallel_size"),
            (
                self.microbatch_group_size_per_vp_stage.unwrap_or(1),
                "microbatch_group_size_per_vp_stage",
            ),
        ];
        for (size, field) in sizes {
            if size == 0 {
                problems.push(ScheduleProblem::Zero { field });
            }
        }
        if !problems.is_empty() {
            return problems;
        }
        let (pp, pp_rank) = (self.pp, self.pp_rank);
        if pp_rank >= pp {
            problems.push(ScheduleProblem::Rank { pp_rank, pp });
        }
        if pp > 1 && self.vpp.is_none() && self.overlap_moe_expert_parallel_comm {
            problems.push(ScheduleProblem::OverlapNeedsVpp { pp });
        }
        if pp > 1 && self.vpp.is_some() {
            problems.extend(self.group_problem());
        }
        problems
    }

    /// The rule that the groups of microbatches of an interleaved schedule break, if any.
    pub(crate) fn group_problem(&self) -> Option<ScheduleProblem> {
        let (group, pp, num_microbatches) = (self.group(), self.pp, self.num_microbatches);
        if group < pp || group > num_microbatches {
            return Some(ScheduleProblem::Group {
                group,
                pp,
                num_microbatches,
            });
        }
        let remainder = num_microbatches % group;
        (remainder > 0 && remainder < pp).then(|| ScheduleProblem::LastGroup {
            group,
            pp,
            num_microbatches,
            remainder,
            near: [
                num_microbatches - remainder,
                (num_microbatches - remainder).saturating_add(pp),
            ],
        })
    }
}

impl ScheduleProblem {
    /// The settings that the rule is about, under Megatron's names, the likeliest culprit first.
    #[must_use]
    pub fn fields(&self) -> Vec<&'static str> {
        const PP: &str = "pipeline_model_parallel_size";
        const GROUP: &str = "microbatch_group_size_per_vp_stage";
        match self {
            Self::Zero { field } => vec![*field],
            Self::Rank { .. } => vec![PP],
            Self::Group { .. } | Self::LastGroup { .. } => {
                vec!["global_batch_size", GROUP, PP, "micro_batch_size"]
            }
            Self::OverlapNeedsVpp { .. } => vec![
                "overlap_moe_expert_parallel_comm",
                "virtual_pipeline_model_parallel_size",
            ],
        }
    }
}

impl fmt::Display for ScheduleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero { field } => write!(f, "{field} must be at least 1"),
            Self::Rank { pp_rank, pp } => {
                write!(f, "there is no pipeline rank {pp_rank} among {pp}")
            }
            Self::Group {
                group,
                pp,
                num_microbatches,
            } if num_microbatches < pp => write!(
                f,
                "with virtual stages there must be at least as many microbatches as pipeline ranks, {pp}, and there are {num_microbatches} (in groups of {group})"
            ),
            Self::Group {
                group,
                pp,
                num_microbatches,
            } => write!(
                f,
                "microbatch_group_size_per_vp_stage {group} must be between the number of pipeline ranks, {pp}, and the number of microbatches, {num_microbatches}"
            ),
            Self::LastGroup {
                group,
                pp,
                num_microbatches,
                remainder,
                near: [below, above],
            } => write!(
                f,
                "{num_microbatches} microbatches in groups of {group} leave {remainder} for the last group, which must have none or at least {pp}, one for each pipeline rank; near: {below}, {above}"
            ),
            Self::OverlapNeedsVpp { pp } => write!(
                f,
                "overlap_moe_expert_parallel_comm with {pp} pipeline ranks needs virtual stages"
            ),
        }
    }
}
