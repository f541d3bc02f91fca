//! Which parallel layouts of a model fit on its GPUs: every combination of sizes, each asked like any other job.
//!
//! A [`Space`] is the product of lists of values, one list an [`Axis`]. Its combinations are numbered from 0 like the
//! digits of a number, so that a search can stop anywhere and go on, and several can share the work. [`search`] goes
//! through a range of them.
//!
//! [`check`](crate::config::check) alone decides what Megatron refuses, and [`estimate`](crate::memory::estimate) what a
//! combination needs; nothing here computes either. Combinations that share refused sizes are passed over together: a
//! rule over a few sizes is asked once those are chosen, and not for every combination of the others.

mod axis;
mod candidate;
mod space;
mod suggestion;
mod walk;

pub use axis::{Axis, Pick};
pub use candidate::Candidate;
pub use space::{Dimension, Options, Space, Split, Unsearchable};
pub use suggestion::{Suggestion, suggestion};
pub use walk::{Keep, Slice, search};
