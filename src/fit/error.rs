//! Why a job has neither offers nor limits.

use crate::config::Checked;
use crate::config::job::Config;
use crate::config::problem::Problem;

/// Why it cannot be asked what would make a job fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Megatron refuses the job, with these problems.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused(Vec<Problem>),
    /// No GPU is chosen that the job may fit.
    #[error("no GPU is chosen: set `gpu`, such as h100-80gb, or `gpu_memory_mib`")]
    NoGpu,
}

/// The configuration of a job that has a GPU.
pub(super) fn with_gpu(checked: Checked) -> Result<Config, FitError> {
    let Some(config) = checked.config else {
        let problems = checked.problems.into_iter();
        return Err(FitError::Refused(
            problems.filter(Problem::keeps_from_training).collect(),
        ));
    };
    config.gpu_memory().map_or(Err(FitError::NoGpu), |_| Ok(config))
}
