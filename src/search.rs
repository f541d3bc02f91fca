//! Searches the parallel layouts of a model: which combinations of parallel sizes Megatron runs, and which fit the GPU.
//!
//! A [`Space`] is the product of the lists of values of its axes ([`Axis`]). Its combinations have indices from 0: the
//! positions in these lists are the digits of the index, the first axis the highest digit. So a search can stop at any
//! index and continue there, and several workers can share a space. [`search`] goes through a range of indices.
//!
//! Every combination is a job. [`check`](crate::config::check) alone decides whether Megatron refuses it, and
//! [`estimate`](crate::memory::estimate) alone what it needs. A rule that depends on few axes is checked as soon as
//! these have their values; where it refuses them, all combinations that share them are skipped together.

mod alternatives;
mod axis;
mod best;
mod bubble;
mod candidate;
mod comparison;
mod fields;
mod frontier;
mod options;
mod placement;
mod rank_layers;
mod reference;
mod room;
mod savings;
mod shares;
mod slice;
mod space;
mod step_cost;
mod suggestion;
mod table;
mod ties;
mod tradeoff;
mod traffic;
mod training;
mod unsearchable;
mod walk;

pub use alternatives::{MethodAlternative, Ranking, ranking};
pub use axis::{Axis, Pick};
pub use best::Best;
pub use bubble::{Bubbles, bubble_ppm};
pub use candidate::{Candidate, ROOM_FOR_SPEED, SHORT_SEQUENCE, replica, splits_short_sequences};
pub use comparison::{Criterion, Gain, percent, seconds};
pub use frontier::frontier;
pub use options::{Options, Order, Split};
pub use placement::{Crossing, Group, GroupKind, domain, group};
pub use room::Room;
pub use savings::{Saved, Saving, savings};
pub use shares::Shares;
pub use slice::{Keep, Slice};
pub use space::{Dimension, Space};
pub use step_cost::StepCost;
pub use suggestion::{Suggestion, suggestion};
pub use table::{Column, Direction, GroupStart, LayoutTable, OwnLayout, Sort, TiedRanks, crossing_groups};
pub use ties::{LayoutRank, TIE_PERCENT, ranks, ranks_among, ties};
pub use tradeoff::Tradeoff;
pub use traffic::{GroupTraffic, Traffic, traffic};
pub use training::Training;
pub use unsearchable::Unsearchable;
pub use walk::{Searcher, search};
