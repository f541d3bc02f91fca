//! Pins jobs beside the one on the page, as many as a link can hold.

use thiserror::Error;

use super::encode_normal;
use crate::formats::state::{MAX_PINNED, Setup, ShareState};

/// Why a job cannot be pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PinError {
    /// There are [`MAX_PINNED`] already.
    #[error("{MAX_PINNED} jobs are pinned already, and a link holds no more. Unpin one first.")]
    TooMany,
    /// The link would have more characters than are read.
    #[error("The link would be too long with this job as well. Unpin one first.")]
    TooLong,
}

/// Pins a job as the first of the pinned ones. One that is pinned already becomes the first.
///
/// # Errors
/// [`PinError`] where a link cannot hold it; the state is then left as it was.
pub fn pin(state: &mut ShareState, job: Setup) -> Result<(), PinError> {
    let mut pinned = state.pinned.clone();
    pinned.retain(|other| *other != job);
    pinned.insert(0, job);
    if pinned.len() > MAX_PINNED {
        return Err(PinError::TooMany);
    }
    let with_job = ShareState {
        pinned,
        ..state.clone()
    };
    if !encode_normal(&with_job.normalize()).is_readable {
        return Err(PinError::TooLong);
    }
    *state = with_job;
    Ok(())
}
