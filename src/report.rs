//! An estimate in forms for people: amounts in a unit, a verdict, tables, charts and explanations.
//!
//! Nothing here knows the page. Marks of charts and rows of tables carry a [`target::Target`], the part of the
//! estimate that they show, and a semantic class, for which style sheets have colors.

pub mod amount;
pub mod caption;
pub mod card;
pub mod charts;
pub mod curves;
pub mod diagnosis;
pub mod explain;
pub mod fewest_gpus;
pub mod grouping;
pub mod headroom;
pub mod in_flight;
pub mod layouts;
pub mod markup;
pub mod modules;
pub mod moments;
pub mod offers;
pub mod packing;
pub mod parts;
pub mod rank_details;
pub mod rank_map;
pub mod ranks;
pub mod readout;
pub mod reserved;
pub mod savings;
pub mod scene;
pub mod stage_difference;
pub mod summary;
pub mod table;
pub mod target;
pub mod time;
pub mod verdict;
