//! Changes with which a job fits its GPU, each with what it costs, and the largest sizes with which it fits.
//!
//! [`offers`] tries single changes kind by kind ([`ChangeKind`]), the cheapest of each kind first, and then pairs of
//! changes that are not enough alone; [`OfferSearch`] does the same step by step. [`limits`] are the largest and smallest
//! legal values of one setting with which the job fits. Every change is a job: [`validate`](crate::config::validate) alone decides whether Megatron
//! runs it, and [`estimate`](crate::memory::estimate) alone what it needs.

mod candidates;
mod cost;
mod error;
mod fewest;
mod job_costs;
mod layout;
mod limits;
mod measure;
mod offer;
mod offers;
mod other_gpus;
mod reserved_gains;
mod sweep;

pub use cost::{ChangeKind, Cost};
pub use error::FitError;
pub use fewest::{Fewest, MOST_GPUS, fewest_in_any_layout};
pub use job_costs::JobCosts;
pub use layout::LayoutSearch;
pub use limits::{
    Limit, Limits, fewest_gpus, largest_micro_batch, limits, longest_sequence, longest_sequence_is_of_samples,
};
pub use offer::{Change, Offer};
pub use offers::{OfferSearch, Offers, offers};
pub use other_gpus::{OnGpu, move_to, on_gpu};
pub use reserved_gains::{AllocatorSetting, ReservedGain, reserved_gains};
pub use sweep::{PLOTTED, Sweep, SweepPoint};
