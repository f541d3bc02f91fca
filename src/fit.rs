//! Changes with which a job fits its GPU, each with what it costs, and the largest sizes with which it fits.
//!
//! [`MoveSearch`] tries single changes kind by kind ([`MoveKind`]), the cheapest of each kind first, and then pairs of
//! changes that are not enough alone. [`longest_sequence`], [`largest_micro_batch`] and [`fewest_gpus`] try the legal
//! values of one setting. Every change is a job: [`validate`](crate::config::validate) alone decides whether Megatron
//! runs it, and [`estimate`](crate::memory::estimate) alone what it needs.

mod candidates;
mod fewest;
mod layout;
mod limits;
mod measure;
mod moves;
mod other_gpus;
mod price;
mod search;
mod sweep;

pub use fewest::{Fewest, MOST_GPUS, fewest_in_any_layout};
pub use layout::LayoutSearch;
pub use limits::{Limit, fewest_gpus, largest_micro_batch, longest_sequence};
pub use moves::{Change, Move};
pub use other_gpus::{move_to, on_gpu};
pub use price::{MoveKind, Price};
pub use search::MoveSearch;
pub use sweep::{PLOTTED, Sweep, SweepPoint};
