//! Why a job's layouts cannot be searched.

use crate::config::problem::Problem;

/// Why a job's layouts cannot be searched.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unsearchable {
    /// The job breaks these rules with every layout.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Problems(Vec<Problem>),
    /// The job has no language model.
    #[error("the job has no language model, whose layouts are searched")]
    NoLanguageModel,
    /// There are more combinations than 64 bits count.
    #[error("there are more than 2^64 layouts")]
    TooMany,
}
